"""Which language a prompt is in. py3langid knows by bytes; its model takes a second to load, so only workers ask."""

import re
from functools import cache
from typing import Any

LOOKED_AT_CHARACTERS = 2_000
# Below this it is a guess, and an empty field is better: "hi", an equation.
CONFIDENCE = 0.35
# Code and addresses are in no language.
WORDLESS = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
# Of the 141 that the model knows, those that people write prompts in most: fewer rare ones to be taken for a common
# one that looks alike (Galician for Spanish, Occitan for French).
LANGUAGES = (
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "eo", "es", "et", "eu",
    "fa", "fi", "fr", "ga", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "km", "kn", "ko",
    "lo", "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my", "ne", "nl", "no", "pa", "pl", "pt", "ro", "ru", "si", "sk",
    "sl", "sq", "sr", "sv", "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "uz", "vi", "zh",
)  # fmt: skip


def language_of(text: str) -> str:
    """Its ISO 639-1 code, for example en; empty where that would be a guess."""
    words = WORDLESS.sub(" ", text[:LOOKED_AT_CHARACTERS]).strip()
    if not any(character.isalpha() for character in words):
        return ""
    language, confidence = _model().classify(words)
    return str(language) if confidence >= CONFIDENCE else ""


@cache
def _model() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # loads NumPy, and is for workers only

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = set(model.nb_classes)
    model.set_languages([language for language in LANGUAGES if language in known])
    return model
