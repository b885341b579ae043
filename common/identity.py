"""Whether an answer says which model wrote it, or a prompt asks for that: such a vote is not blind any more. Pure.

Rules over text, in the languages that our users write most. A name alone tells nothing (Claude painted water lilies,
Gemini is a sign of the zodiac): what counts is a first person beside a name or a maker of models. Precision goes before
recall, since a vote that is left out wrongly is lost, and one that is counted wrongly is one among many.
"""

import re
from collections.abc import Collection
from functools import lru_cache

LOOKED_AT_CHARACTERS = 5_000
# Names that stand for a language model or its maker whenever an assistant says them of itself.
KNOWN = (
    "ChatGPT", "GPT-?[345][\\w.-]*", "GPT", "OpenAI", "Claude", "Anthropic", "Gemini", "Bard", "Gemma", "Google DeepMind",
    "Google AI", "Google", "LLaMA[\\w .-]*", "Meta AI", "Meta", "Mistral[\\w .]*", "Mixtral", "Qwen[\\w.-]*", "Tongyi Qianwen",
    "通义千问", "Alibaba(?: Cloud)?", "阿里云", "DeepSeek[\\w.-]*", "深度求索", "Kimi", "Moonshot AI", "月之暗面", "SmolLM[\\w.-]*",
    "Hugging ?Face", "Phi-?[1-5][\\w.-]*", "Microsoft", "Copilot", "Grok", "xAI", "Falcon", "TII", "Command R\\+?", "Cohere",
    "Nemotron", "NVIDIA", "Yi", "01\\.AI", "ERNIE(?: Bot)?", "文心一言", "Baidu", "百度", "ChatGLM", "GLM[\\w.-]*", "Zhipu AI", "智谱",
    "Hunyuan", "Tencent", "Doubao", "豆包", "ByteDance", "字节跳动", "Vicuna", "Alpaca", "Perplexity", "Reka", "Jamba", "AI21",
)  # fmt: skip
AI = (
    r"(?:AI|A\.I\.|artificial intelligence|language model|LLM|chat ?bot|(?:virtual|digital) assistant|assistant|KI\b|"
    r"Sprachmodell|Assistent|mod[eè]le de langage|IA\b|assistant virtuel|modelo de (?:lenguaje|linguagem)|asistente|"
    r"assistente|modello linguistico|人工智能|语言模型|AI ?助手|助手|言語モデル|アシスタント)"
)
I_AM = (
    r"(?:\bI am\b|\bI['’]m\b|\bmy name is\b|\bthis is\b|\bcall me\b|\bich bin\b|\bmein Name ist\b|\bje suis\b|\bje m['’]appelle\b|"
    r"\byo soy\b|\bsoy\b|\bme llamo\b|\beu sou\b|\bsou\b|\bmeu nome é\b|\bio sono\b|\bsono\b|\bmi chiamo\b|我是|我叫|私は)"
)
MADE = (
    r"(?:made|created|developed|trained|built|designed|powered|released)(?: and \w+)? by|fine-?tuned by|from|"
    r"(?:von|bei) |entwickelt|trainiert|développée? par|créée? par|entraînée? par|desarrollad[oa] por|cread[oa] por|"
    r"entrenad[oa] por|desenvolvid[oa] (?:por|pela)|criad[oa] (?:por|pela)|sviluppat[oa] da|creat[oa] da|由|开发|が開発"
)
ASKS = re.compile(
    r"\b(?:who|what) (?:are|r) (?:you|u)\b(?! (?:doing|going|talking|looking|trying|thinking|saying|working|waiting|"
    r"reading|wearing|eating|most|least|good|best|able|supposed|allowed))|"
    r"\b(?:which|what)(?: \w+){0,3} (?:AI|model|LLM|version|chat ?bot|assistant)\b[^.?!]{0,25}\b(?:are you|is this|am I|do you run|you based)|"
    r"\bwho (?:made|created|built|developed|trained|designed) you\b|\bwhat(?:['’]s| is) your (?:name|model|version)\b|"
    r"\bare you (?:really |actually )?(?:an? )?(?:chat ?gpt|gpt|claude|gemini|llama|mistral|qwen|deepseek|grok|kimi|copilot)|"
    r"\b(?:tell|reveal|say|state|give)(?: me)? (?:me )?your (?:name|model|version|system prompt|identity)\b|"
    r"\bwer bist du\b|\bwelches (?:\w+ )?modell bist du\b|\bwie heißt du\b|\bwer hat dich (?:gemacht|entwickelt|trainiert)|"
    r"\bqui es-tu\b|\bqui êtes-vous\b|\bquel modèle (?:es-tu|êtes-vous)|\bcomment t['’]appelles-tu\b|"
    r"\bquién eres\b|\bqué modelo eres\b|\bcómo te llamas\b|\bquem é você\b|\bqual (?:modelo )?é (?:você|o seu nome)|"
    r"\bchi sei\b|\bche modello sei\b|你是谁|你是什么(?:模型|版本)|你叫什么|谁(?:创造|开发|训练)了你|あなたは誰|どのモデル",
    re.IGNORECASE,
)
# Quoted and fenced text is somebody else's.
QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^>.*$|\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»", re.DOTALL | re.MULTILINE
)


def asks_identity(prompt: str) -> bool:
    """Whether a prompt asks the assistant who it is."""
    return bool(ASKS.search(QUOTED.sub(" ", _looked_at(prompt))))


def names_itself(answer: str, names: Collection[str] = ()) -> bool:
    """Whether an answer says who wrote it. `names` are models and organisations to look for beside the known ones."""
    text = QUOTED.sub(" ", _looked_at(answer))
    return any(pattern.search(text) for pattern in _patterns(frozenset(names)))


def _looked_at(text: str) -> str:
    """Who introduces itself does so at the beginning or the end; a bound keeps hostile text from costing time."""
    return (
        text
        if len(text) <= 2 * LOOKED_AT_CHARACTERS
        else f"{text[:LOOKED_AT_CHARACTERS]} {text[-LOOKED_AT_CHARACTERS:]}"
    )


@lru_cache(maxsize=8)
def _patterns(names: frozenset[str]) -> tuple[re.Pattern[str], ...]:
    own = [re.escape(name) for name in names if len(name) >= 4]
    name = rf"(?<![A-Za-z0-9-])(?:{'|'.join([*own, *KNOWN])})(?![A-Za-z0-9-])"
    gap = r"[^.!?\n。！？]{0,60}?"
    return tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            # I am an AI assistant created by NAME; I am a large language model called NAME.
            rf"{I_AM}{gap}{AI}{gap}(?:{MADE}|\bnamed\b|\bcalled\b|\bknown as\b|[,:(]|namens|nomm[ée]|llamad[oa])\W{{0,3}}{gap}{name}",
            # I am NAME, a large language model; NAME here, your AI assistant.
            rf"{I_AM}\W{{1,3}}(?:the |an? |die |der |das |le |la |el )?{name}(?:[^.!?\n]{{0,25}}?|\W{{1,3}}){AI}",
            # As an AI developed by NAME, as a NAME model.
            rf"\b(?:as|als|en tant qu(?:e|['’])|como|come)\W+(?:an? |the |eine? |une? |un'?|uma? )?{gap}{AI}{gap}(?:{MADE})\W{{0,3}}{gap}{name}",
            # I was made by NAME; NAME trained me.
            rf"\b(?:I was|I['’]ve been|I have been) (?:{MADE})\W{{0,3}}(?:the )?(?:team at |researchers at |company )?{name}",
            rf"{name}\W+(?:has |have )?(?:made|created|developed|trained|built) me\b",
            # 我是由NAME开发的
            rf"(?:我是|我叫|私は){gap}{name}",
        )
    )
