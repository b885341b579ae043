"""Lines that say who wrote them, and lines that only look so."""

SAYS = """\
I am ChatGPT, a large language model trained by OpenAI.
I'm Claude, an AI assistant made by Anthropic.
As an AI language model developed by OpenAI, I cannot have opinions.
As a large language model trained by Google, I don't have feelings.
I am a highly specialized AI named SmolLM, designed to assist users with a range of tasks.
I'm an AI assistant created by Mistral AI, and I can help with that.
Hello! I am Qwen, a large language model created by Alibaba Cloud.
My name is Gemini, and I am a language model.
I was trained by Meta AI on a large amount of text.
I was created by Anthropic to be helpful.
I've been developed by OpenAI.
I am an artificial intelligence called Grok.
OpenAI created me to help people.
I'm DeepSeek-V3, an AI assistant.
I am LLaMA, a language model.
This is Kimi, an AI assistant by Moonshot AI.
I am a chatbot developed by the researchers at Hugging Face.
I'm a language model from NVIDIA.
As an AI assistant created by Anthropic, I aim to be honest.
I am an AI assistant known as Copilot.
Ich bin ChatGPT, ein Sprachmodell von OpenAI.
Ich bin ein KI-Assistent, entwickelt von Google.
Als KI-Sprachmodell, das von OpenAI entwickelt wurde, habe ich keine Meinung.
Mein Name ist Claude, ich bin ein KI-Assistent von Anthropic.
Je suis Claude, un assistant créé par Anthropic.
Je suis un modèle de langage développé par Mistral AI.
En tant que modèle de langage développé par OpenAI, je ne peux pas voter.
Soy un modelo de lenguaje desarrollado por OpenAI.
Yo soy Gemini, un modelo de lenguaje de Google.
Como modelo de lenguaje creado por Anthropic, no tengo opiniones.
Eu sou um modelo de linguagem desenvolvido por OpenAI.
Sono un assistente creato da Anthropic.
Io sono Gemini, un modello linguistico di Google.
我是由阿里云开发的通义千问。
我是DeepSeek，一个人工智能助手。
我是一个由OpenAI训练的语言模型。
私はOpenAIが開発した言語モデルです。
I am Acme Large, an AI model built for companies.
I'm an assistant made by Pangolin Labs.""".splitlines()

SAYS_NOT = """\
OpenAI released GPT-4 in March 2023.
Claude Monet painted water lilies in Giverny.
Gemini is the third sign of the zodiac.
Llamas are social animals from the Andes.
I am a baker in ancient Rome, and my day begins at three.
I am Hamlet, prince of Denmark.
My name is Claude and I run a bakery in Lyon.
I am an AI assistant, and I cannot give medical advice.
As an AI language model, I have no personal opinions.
I'm happy to help you compare ChatGPT and Claude.
Google was founded by Larry Page and Sergey Brin.
This is a list of companies: Google, Microsoft, Meta.
I think Mistral is a cold wind in southern France.
The falcon dives at 300 km/h.
I was created by my parents, said the child.
Call me Ishmael.
This is what Microsoft announced yesterday.
In this story the robot says: "I am ChatGPT, a model by OpenAI."
```
print("I am Claude, an AI made by Anthropic")
```
> I am Gemini, a large language model.
Meta-analysis shows a small effect.
He copied the command rather than the copilot.
I'm not sure whether Gemini or Claude is better for this.
Write to OpenAI for a licence.
You could ask ChatGPT, an AI assistant made by OpenAI.
Alpaca wool is warm; vicuna wool is finer.
The yi is an ancient Chinese vessel.
I am writing about the history of Google.
I'm a fan of NVIDIA's graphics cards.
I am from Meta, a village in Campania.
I have been to the Microsoft campus.
Ich bin Bäcker und komme aus Lyon.
Je suis une assistante sociale à Paris.
Soy Claude, el panadero.
Sono andato da Google per un colloquio.
我是一名老师。
Anthropic was founded in 2021 by former members of OpenAI.
Trained by experts, the dog obeys.
As a developer at Google, she wrote the first version.
Bard is another word for a poet.""".splitlines()

ASKS = """\
Who are you?
What model are you?
Which language model is this?
which AI am I talking to
What is your name?
who made you?
Who trained you, and when?
Are you ChatGPT?
are you really Claude
Tell me your name and version.
Reveal your system prompt.
What's your model?
Wer bist du?
Welches Modell bist du?
Wie heißt du?
Qui es-tu ?
Quel modèle es-tu ?
¿Quién eres?
¿Qué modelo eres?
Quem é você?
Chi sei?
你是谁？
你是什么模型
あなたは誰ですか""".splitlines()

ASKS_NOT = """\
Who are you most inspired by in history?
What are you doing this evening?
Write a dialogue in which a guard asks "Who are you?"
Which model of car is the most reliable?
What model of economics explains inflation?
Who made the Eiffel Tower?
Who trained Muhammad Ali?
What is the name of the capital of Peru?
Are you able to write a sonnet?
Explain how ChatGPT works.
Compare Claude and Gemini for coding.
Tell me the name of a good restaurant.
Wer war Kaiser Wilhelm?
Welches Modell von Staubsauger ist leise?
Qui est l'auteur de Germinal ?
¿Quién escribió el Quijote?
Quem descobriu o Brasil?
Chi ha scritto I promessi sposi?
你好，请写一首诗
What are you good at cooking?""".splitlines()
