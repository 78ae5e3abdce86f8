"""Words that the rules know, from words.yaml: numerals, months, verb forms, names of units."""

from __future__ import annotations

import re
import unicodedata
from importlib import resources
from typing import Any

import yaml

_TEXT = (resources.files("llm_as_judge.grading") / "words.yaml").read_text(encoding="utf-8")
_FILE: dict[str, Any] = yaml.safe_load(_TEXT)


def _words(name: str) -> list[str]:
    return str(_FILE[name]).split()


NUMERALS = {word: number for number, word in enumerate(_words("numerals"))}
TENS = {word: 10 * number for number, word in enumerate(_words("tens"), start=2)}
ORDINALS = {word: number for number, word in enumerate(_words("ordinals"), start=1)}
ROMAN: dict[str, int] = _FILE["roman"]
MONTHS = frozenset(_words("months"))
LIGHT = frozenset(_words("light"))
LIMITING = frozenset(_words("limiting"))
NAMING = frozenset(_words("naming"))
SAYING = frozenset(_words("saying"))
NOT_A_UNIT = frozenset(_words("not_units"))
MEASURES = frozenset(_words("measures"))
PREFIXED = frozenset(_words("prefixed"))
CURRENCIES = {name: code for code, names in _FILE["money"].items() for name in names.split()}
HUNDREDTHS = frozenset(_words("cents"))
OTHER_UNIT_NAMES: dict[str, str] = _FILE["other_names"]
AMBIGUOUS_UNITS = {name: units.split() for name, units in _FILE["ambiguous"].items()}


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
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > 3 else word


def informative(text: str) -> list[str]:
    return [word for word in tokens(text) if word not in LIGHT]


def numbers(words: list[str]) -> list[str]:
    """Those of ``words``, as :func:`tokens` gives them, that are numbers."""
    return [word for word in words if word[0].isdigit()]


def new_words(text: str, known: str) -> set[str]:
    """Words of ``text`` that say something and are none of ``known``, by their stems; numbers say it themselves."""
    told = set(map(stem, [*tokens(known), *NAMING, *SAYING]))
    return {word for word in informative(text) if stem(word) not in told and word.isalpha()}
