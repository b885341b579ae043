"""The prompts that come with Tourney: short, and within the reach of a small model."""

from battles.models import Category

STARTERS: tuple[tuple[Category, str, str], ...] = (
    (Category.WRITING, "A letter to the sea", "Write a short letter from a lighthouse keeper to the sea."),
    (Category.WRITING, "Rewrite it politely", 'Rewrite this politely: "Your report is late again and it is a mess."'),
    (Category.WRITING, "A haiku about rain", "Write three haiku about rain in a big city."),
    (Category.WRITING, "Name a café", "Suggest five names for a café in an old railway station, each with one reason."),
    (
        Category.ROLEPLAY,
        "Ask a Roman baker",
        "You are a baker in ancient Rome. Describe your morning to a curious child.",
    ),
    (
        Category.ROLEPLAY,
        "A job interview",
        "You interview me for a job as a zoo keeper. Ask your first three questions.",
    ),
    (
        Category.REASONING,
        "Two doors",
        "A room has two doors. One is painted on. How could you find out which, without touching?",
    ),
    (Category.REASONING, "Plan a day", "I have four hours in Lisbon, and it rains. Plan my afternoon and say why."),
    (Category.MATH, "Percent of percent", "What is 15% of 80% of 250? Show each step."),
    (
        Category.MATH,
        "Splitting a bill",
        "Three friends share a bill of 87 euros. One pays twice as much as each of the others. Who pays what?",
    ),
    (
        Category.CODING,
        "Reverse words",
        "Write a Python function that reverses the words of a sentence, with two examples.",
    ),
    (Category.CODING, "Explain a regex", r"Explain this regular expression in plain words: ^\d{4}-\d{2}-\d{2}$"),
    (
        Category.CODING,
        "SQL by month",
        "Write an SQL query that counts orders by month from a table orders(id, created_at).",
    ),
    (
        Category.EXTRACTION,
        "A table from text",
        "Make a table of name, age and city: Ana, 31, lives in Porto; Ben (27) moved to Ghent.",
    ),
    (
        Category.EXTRACTION,
        "Find the dates",
        'List all dates in: "We met on 3 May, wrote on the 7th and signed in June 2024."',
    ),
    (
        Category.STEM,
        "Why is the sky blue?",
        "Why is the sky blue, and why is it red in the evening? Explain it to a ten-year-old.",
    ),
    (Category.STEM, "How do vaccines work?", "How does a vaccine teach the body? Answer in five sentences."),
    (
        Category.HUMANITIES,
        "The printing press",
        "What changed in Europe through the printing press? Name three things.",
    ),
    (
        Category.HUMANITIES,
        "What is fairness?",
        "Give two different views of what a fair share is, with an example for each.",
    ),
    (Category.GENERAL, "Learn to juggle", "How can I learn to juggle three balls in a week? Give me a plan."),
    (Category.GENERAL, "A simple soup", "I have potatoes, leeks and milk. Tell me how to make a soup."),
    (Category.GENERAL, "Sleep better", "Give me five tips to sleep better, the most useful first."),
)
