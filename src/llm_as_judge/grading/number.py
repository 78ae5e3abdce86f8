"""Numbers as values: one typed normal form, and what two of them say about each other.

``"$1,234.50"``, ``"1234.5 dollars"`` and ``"1 234,50"`` differ as texts; only the first two are
one number here (a comma is a thousands separator). Units and per cent signs are kept and
compared, never stripped first: "5 minutes" is not "5 hours".
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from llm_as_judge.grading.wordlists import NOT_A_UNIT, NUMERALS, TENS, UNIT_NAMES

CURRENCY = {
    "$": "dollar",
    "US$": "dollar",
    "€": "euro",
    "£": "pound sterling",
    "¥": "yen",
    "₹": "rupee",
}
FAMILIES: dict[str, dict[str, Fraction]] = {
    "time": {
        "second": Fraction(1),
        "minute": Fraction(60),
        "hour": Fraction(3600),
        "day": Fraction(86400),
        "week": Fraction(604800),
        "month": Fraction(2629800),
        "year": Fraction(31557600),
    },
    "length": {
        "mm": Fraction(1, 1000),
        "cm": Fraction(1, 100),
        "m": Fraction(1),
        "km": Fraction(1000),
        "inch": Fraction(254, 10000),
        "foot": Fraction(3048, 10000),
        "yard": Fraction(9144, 10000),
        "mile": Fraction(1609344, 1000),
    },
    "mass": {
        "mg": Fraction(1, 1000),
        "g": Fraction(1),
        "kg": Fraction(1000),
        "ounce": Fraction(28349523125, 10**9),
        "pound": Fraction(45359237, 10**5),
        "ton": Fraction(10**6),
    },
    "volume": {"ml": Fraction(1, 1000), "l": Fraction(1), "gallon": Fraction(3785411784, 10**9)},
    "money": {"cent": Fraction(1), "dollar": Fraction(100), "euro": Fraction(100)},
    "angle": {"degree": Fraction(1), "radian": Fraction(180)},
}
FAMILY_OF = {unit: family for family, units in FAMILIES.items() for unit in units}


def singular(word: str) -> str:
    """A unit or a thing counted, in the singular where that is known."""
    if word in UNIT_NAMES:
        return UNIT_NAMES[word]
    stem = word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word
    return UNIT_NAMES.get(stem, stem)


_SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_FACTORS = {**_SCALES, "dozen": 12, "k": 1000}

_SIGN = r"[-+]"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_PLAIN = re.compile(
    rf"(?P<sign>{_SIGN})?\s*(?:10\s*\^\s*\{{?(?P<ten>[-+]?\d{{1,4}})\}}?|(?P<whole>\d+)\s+(?P<n>\d+)\s*/\s*(?P<d>\d+)"
    rf"|(?P<num>{_DIGITS})\s*/\s*(?P<den>{_DIGITS})"
    rf"|(?P<int>{_DIGITS})?(?P<frac>\.\d+)|(?P<int2>{_DIGITS})\.?(?![\d,]))"
    r"(?:\s*(?:x|\*|×|e)\s*10\s*\^\s*\{?(?P<pow>[-+]?\d{1,4})\}?|[eE](?P<exp>[-+]?\d{1,4}))?"
)
_PREFIX = re.compile(r"^(?P<sign>[-+])?\s*(?P<cur>US\$|[$€£¥₹])\s*")
_UNIT_TAIL = re.compile(
    r"^[\s-]*(?:[^\W\d_][^\W\d_]*[²³.'%-]*(?:[ /'-]+[^\W\d_]+[²³.'%-]*){0,5}|[°¢])?$"
)
_TELLING_DIGITS = 3
"""A decimal with fewer digits says too little to be told from other values by them."""
_ANY_NUMBER = re.compile(
    rf"(?<![\w.])(?:(?<!/){_DIGITS}/[1-9]\d*(?![\d/]|\.\d)|{_DIGITS}(?:\.\d+)?|\.\d+)"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number with what was said beside it.

    ``form``: how it was written (an integer written ``36/2`` is not worked out).
    ``unit``: lower case, singular where known; ``""`` if none. ``percent``: "%" or "percent".
    """

    value: Fraction
    form: Literal["integer", "decimal", "fraction", "words"]
    unit: str = ""
    percent: bool = False
    reduced: bool = True
    """False for a fraction that can be reduced."""
    step: Fraction | None = None
    """What one unit of the last digit is worth, for a decimal of at least three digits behind the
    leading zeros: it may be a rounded value. None: the value is meant exactly."""


_DECIMAL_COMMA = re.compile(
    r"\s*[-+]?\s*[$€£]?\s*(?:\d{1,3}(?:\.\d{3})+|\d+),\d{1,2}(?!\d)\s*(?:[^\W\d_]{1,12}\.?|[%$€£])?\s*"
)


def has_decimal_comma(text: str) -> bool:
    """Is ``text`` one number with a decimal comma ("56,28 EUR", "1.234,50")? :func:`parse_number` reads none."""
    return _DECIMAL_COMMA.fullmatch(text) is not None


def in_currency(text: str) -> Quantity | None:
    """The number of a text that begins with the sign of a currency; formulas lose it, since ``$`` opens one."""
    return parse_number(text) if _PREFIX.match(text.strip()) else None


def is_written_as(exact: Fraction, written: Fraction, step: Fraction) -> bool:
    """Is ``written`` what ``exact`` becomes when rounded, or cut, to a multiple of ``step``?"""
    if 2 * abs(exact - written) <= step:
        return True
    return exact * written > 0 and 0 <= abs(exact) - abs(written) < step


def _words_value(words: list[str]) -> tuple[int, int] | None:
    """(value, how many words were read) of number words at the start; None if there are none."""
    total = current = 0
    used = 0
    for index, word in enumerate(words):
        if word in NUMERALS or word in TENS:
            current += NUMERALS.get(word, 0) + TENS.get(word, 0)
        elif word == "hundred" and used:
            current = max(current, 1) * 100
        elif word in _SCALES and used:
            total += max(current, 1) * _SCALES[word]
            current = 0
        elif word == "and" and used and index + 1 < len(words) and words[index + 1] in NUMERALS:
            continue
        else:
            break
        used = index + 1
    return (total + current, used) if used else None


def _unit(text: str) -> tuple[str, bool, int]:
    """(unit, per cent, factor) of the words behind a number."""
    words = text.lower().replace("%", " % ").split()
    factor = 1
    while words and words[0].strip(".-") in _FACTORS:
        factor *= _FACTORS[words[0].strip(".-")]
        words = words[1:]
    percent = bool(words) and words[0].strip(".") in {"%", "percent", "per"}
    if percent and words[0] == "per" and words[1:2] != ["cent"]:
        percent = False
    if percent:
        words = words[2:] if words[0] == "per" else words[1:]
    if not words:
        return "", percent, factor
    words = [word.strip(".,") for word in words]
    words = [word for word in words if word not in {"of", "the", "a", "in", "total", "and"}]
    if not words:
        return "", percent, factor
    words[0] = singular(words[0])
    return " ".join(words), percent, factor


def parse_number(text: str) -> Quantity | None:
    """The one number that ``text`` is, with its unit; None if it is anything else.

    Expressions (``2+3``), lists, ranges and wrong thousands separators (``1,23``) are None.
    """
    text = text.strip().replace("\u2212", "-").replace("\u2013", "-").rstrip(".").strip()
    text = re.sub(r"^\s*[a-zA-Z]\s*=\s*", "", text)
    if not text or len(text) > 200:
        return None
    prefix = _PREFIX.match(text)
    unit = ""
    negative = False
    if prefix:
        unit = CURRENCY[prefix.group("cur")]
        negative = prefix.group("sign") == "-"
        text = text[prefix.end() :]
    match = _PLAIN.match(text)
    if match is None:
        return _spelled(text, unit)
    value, form, step = _value(match)
    if value is None:
        return None
    tail = text[match.end() :].strip()
    percent = tail.startswith("%")
    tail = tail[1:].strip() if percent else tail
    if not _is_unit(tail):
        return None
    tail_unit, tail_percent, factor = _unit(tail)
    if unit and tail_unit and tail_unit != unit:
        return None
    value = -value if negative else value
    reduced = form != "fraction" or _is_reduced(match)
    percent = percent or tail_percent
    step = None if step is None else step * factor
    return Quantity(value * factor, form, unit or tail_unit, percent, reduced, step)


def _is_reduced(match: re.Match[str]) -> bool:
    top, bottom = match["num"] or match["n"], match["den"] or match["d"]
    return math.gcd(int(top.replace(",", "")), int(bottom.replace(",", ""))) == 1


def _is_unit(tail: str) -> bool:
    """Is the text behind a number a unit or a thing counted, and no variable or second answer?"""
    if not _UNIT_TAIL.match(tail):
        return False
    words = re.findall(r"[^\W\d_]+|[°¢]", tail.lower())
    if not words:
        return True
    if any(word in NUMERALS or word in TENS for word in words):
        return False
    first = words[0]
    known = singular(first) in FAMILY_OF or first in _FACTORS
    return first not in NOT_A_UNIT and "or" not in words and (known or len(first) > 1)


def _spelled(text: str, unit: str) -> Quantity | None:
    sign = 1
    words = text.lower().replace("-", " ").split()
    if words and words[0] in {"negative", "minus"}:
        sign, words = -1, words[1:]
    read = _words_value(words)
    if read is None:
        return None
    value, used = read
    tail = " ".join(words[used:])
    if len(words) - used > 4 or re.search(r"\d|[^\w\s%.'-]", tail):
        return None
    if any(word in NUMERALS or word in TENS for word in words[used:]):
        return None
    tail_unit, percent, factor = _unit(tail)
    return Quantity(Fraction(sign * value * factor), "words", unit or tail_unit, percent)


_Form = Literal["integer", "decimal", "fraction"]


def _value(match: re.Match[str]) -> tuple[Fraction | None, _Form, Fraction | None]:
    """(value, form, step) of a number in digits; no value where it divides by zero."""
    group = match.groupdict()
    form: _Form = "integer"
    step = None

    def integer(digits: str | None) -> int:
        return int(digits.replace(",", "")) if digits else 0

    power = Fraction(10) ** int(group["pow"] or group["exp"] or 0)
    if group["ten"] is not None:
        value = Fraction(10) ** int(group["ten"])
    elif group["whole"] is not None:
        form = "fraction"
        if integer(group["d"]) == 0:
            return None, form, None
        value = integer(group["whole"]) + Fraction(integer(group["n"]), integer(group["d"]))
    elif group["num"] is not None:
        form = "fraction"
        if integer(group["den"]) == 0:
            return None, form, None
        value = Fraction(integer(group["num"]), integer(group["den"]))
    elif group["frac"] is not None:
        form = "decimal"
        value = integer(group["int"]) + Fraction("0" + group["frac"])
        step = _step(group["int"] or "", group["frac"][1:], power)
    else:
        value = Fraction(integer(group["int2"]))
    value *= power
    return (-value if group["sign"] == "-" else value), form, step


def _step(whole: str, decimals: str, power: Fraction) -> Fraction | None:
    telling = (whole.replace(",", "") + decimals).lstrip("0")
    return power / 10 ** len(decimals) if len(telling) >= _TELLING_DIGITS else None


def count_numbers(text: str) -> list[Fraction]:
    """Every number written in digits in ``text``, signs ignored, in order; ``1/2`` is one."""
    return [_value_of(found.group().replace(",", "")) for found in _ANY_NUMBER.finditer(text)]


def _value_of(written: str) -> Fraction:
    return Fraction("0" + written if written.startswith(".") else written)
