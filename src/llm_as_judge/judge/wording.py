"""Words of short answers: numerals, verb forms and accents made one, so that rules can compare."""

from __future__ import annotations

import re
import unicodedata

from llm_as_judge.judge.number import NUMERALS

__all__ = ["MONTHS", "informative", "stem", "tokens"]

_LIGHT = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "by",
        "for",
        "from",
        "to",
        "with",
        "as",
        "is",
        "was",
        "are",
        "were",
        "be",
        "been",
        "being",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "he",
        "she",
        "they",
        "his",
        "her",
        "their",
        "there",
        "who",
        "which",
        "what",
        "when",
        "where",
        "did",
        "does",
        "do",
        "has",
        "had",
        "have",
        "will",
        "would",
        "s",
        "mr",
        "mrs",
        "ms",
        "dr",
        "sir",
    ]
)
_NUMERALS = {word: str(number) for word, number in {**NUMERALS, "twenty": 20}.items()}
_ORDINALS = dict(
    zip(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
        ],
        (str(number) for number in range(1, 11)),
        strict=True,
    )
)
_ROMAN = dict(
    zip(
        ["II", "III", "IV", "VI", "VII", "VIII", "IX", "XI", "XII"],
        ["2", "3", "4", "6", "7", "8", "9", "11", "12"],
        strict=True,
    )
)
_TENS = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_VERB_FORMS = """
write wrote written / fall fell fallen / build built / win won / sing sang sung / make made
begin began begun / become became / give gave given / take took taken / find found / lead led
speak spoke spoken / come came / go went gone / die died / lose lost / fight fought / play played
hold held / see saw seen / send sent / sell sold / buy bought / teach taught / know knew known
grow grew grown / draw drew drawn / break broke broken / run ran / meet met / leave left
stand stood / get got gotten / say said / tell told / pay paid / keep kept / bring brought
"""
_VERBS = {
    form: forms.split()[0] for forms in re.split(r"[/\n]", _VERB_FORMS) for form in forms.split()
}
MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)


def tokens(text: str) -> list[str]:
    """Words in lower case without accents; numerals and ordinals as digits."""
    text = re.sub(r"\b[IVX]{2,4}\b", lambda m: _ROMAN.get(m.group(), m.group()), text)
    text = unicodedata.normalize("NFKD", text)
    text = "".join(char for char in text if not unicodedata.combining(char)).casefold()
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text).replace("'s", "").replace("’s", "")
    found = re.findall(r"\d+(?:\.\d+)?(?=(?:st|nd|rd|th)\b)|\d+(?:\.\d+)?|[^\W\d_]+|[$€£%]", text)
    kept = _compound([_NUMERALS.get(word, _ORDINALS.get(word, word)) for word in found])
    return [word for word in kept if word not in {"a", "an", "the", "st", "nd", "rd", "th"}]


def _compound(words: list[str]) -> list[str]:
    """``thirty one`` -> ``31``."""
    joined: list[str] = []
    for word in words:
        tens = _TENS.get(joined[-1]) if joined else None
        if tens and len(word) == 1 and word.isdigit() and word != "0":
            joined[-1] = str(tens + int(word))
        else:
            joined.append(word)
    return [str(_TENS.get(word, word)) for word in joined]


def stem(word: str) -> str:
    word = _VERBS.get(word, word)
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > 3 else word


def informative(text: str) -> list[str]:
    return [word for word in tokens(text) if word not in _LIGHT]
