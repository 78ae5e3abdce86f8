"""Words of short answers: numerals, verb forms and accents made one, so that rules can compare."""

from __future__ import annotations

import re
import unicodedata

from llm_as_judge.grading.wordlists import LIGHT, NUMERALS, ORDINALS, ROMAN, TENS, VERBS

_DIGITS = {
    word: str(number) for word, number in {**ORDINALS, **NUMERALS, "twenty": TENS["twenty"]}.items()
}


def tokens(text: str) -> list[str]:
    """Words in lower case without accents; numerals and ordinals as digits."""
    text = re.sub(r"\b[IVX]{2,4}\b", lambda m: str(ROMAN.get(m.group(), m.group())), text)
    text = unicodedata.normalize("NFKD", text)
    text = "".join(char for char in text if not unicodedata.combining(char)).casefold()
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text).replace("'s", "").replace("’s", "")
    found = re.findall(r"\d+(?:\.\d+)?(?=(?:st|nd|rd|th)\b)|\d+(?:\.\d+)?|[^\W\d_]+|[$€£%]", text)
    kept = _compound([_DIGITS.get(word, word) for word in found])
    return [word for word in kept if word not in {"a", "an", "the", "st", "nd", "rd", "th"}]


def _compound(words: list[str]) -> list[str]:
    """``thirty one`` -> ``31``."""
    joined: list[str] = []
    for word in words:
        tens = TENS.get(joined[-1]) if joined else None
        if tens and len(word) == 1 and word.isdigit() and word != "0":
            joined[-1] = str(tens + int(word))
        else:
            joined.append(word)
    return [str(TENS.get(word, word)) for word in joined]


def stem(word: str) -> str:
    word = VERBS.get(word, word)
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > 3 else word


def informative(text: str) -> list[str]:
    return [word for word in tokens(text) if word not in LIGHT]
