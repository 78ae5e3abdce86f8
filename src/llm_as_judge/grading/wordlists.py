"""Words that the rules know, from words.yaml: numerals, months, verb forms, names of units."""

from __future__ import annotations

import re
import unicodedata
from importlib import resources
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict


def _split(value: Any) -> Any:
    return tuple(value.split()) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_split)]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    numerals: Words
    tens: Words
    ordinals: Words
    roman: dict[str, int]
    months: Words
    light: Words
    limiting: Words
    naming: Words
    saying: Words
    not_units: Words
    measures: Words
    prefixed: Words
    money: dict[str, Words]
    cents: Words
    other_names: dict[str, str]
    ambiguous: dict[str, Words]


_TEXT = (resources.files("llm_as_judge.grading") / "words.yaml").read_text(encoding="utf-8")
_FILE = _File.model_validate(yaml.safe_load(_TEXT))

NUMERALS = {word: number for number, word in enumerate(_FILE.numerals)}
TENS = {word: 10 * number for number, word in enumerate(_FILE.tens, start=2)}
ORDINALS = {word: number for number, word in enumerate(_FILE.ordinals, start=1)}
ROMAN = _FILE.roman
MONTHS = frozenset(_FILE.months)
LIGHT = frozenset(_FILE.light)
LIMITING = frozenset(_FILE.limiting)
NAMING = frozenset(_FILE.naming)
SAYING = frozenset(_FILE.saying)
NOT_A_UNIT = frozenset(_FILE.not_units)
MEASURES = frozenset(_FILE.measures)
PREFIXED = frozenset(_FILE.prefixed)
CURRENCIES = {name: code for code, names in _FILE.money.items() for name in names}
HUNDREDTHS = frozenset(_FILE.cents)
OTHER_UNIT_NAMES = _FILE.other_names
AMBIGUOUS_UNITS = _FILE.ambiguous


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
