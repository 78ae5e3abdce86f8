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

__all__ = ["Quantity", "compare_numbers", "count_numbers", "parse_number"]

_ONES = dict(
    zip(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ],
        range(20),
        strict=True,
    )
)
_TENS = dict(
    zip(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
        range(20, 100, 10),
        strict=True,
    )
)
_SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_FACTORS = {**_SCALES, "dozen": 12, "k": 1000}

_CURRENCY = {
    "$": "dollar",
    "US$": "dollar",
    "€": "euro",
    "£": "pound sterling",
    "¥": "yen",
    "₹": "rupee",
}
_FAMILIES: dict[str, dict[str, Fraction]] = {
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
    "money": {"cent": Fraction(1), "dollar": Fraction(100)},
    "angle": {"degree": Fraction(1), "radian": Fraction(180)},
}
_UNIT_NAMES = {
    "sec": "second",
    "secs": "second",
    "s": "second",
    "min": "minute",
    "mins": "minute",
    "hr": "hour",
    "hrs": "hour",
    "h": "hour",
    "yr": "year",
    "yrs": "year",
    "millimeter": "mm",
    "centimeter": "cm",
    "meter": "m",
    "kilometer": "km",
    "millimetre": "mm",
    "centimetre": "cm",
    "metre": "m",
    "kilometre": "km",
    "in": "inch",
    "inches": "inch",
    "ft": "foot",
    "feet": "foot",
    "yd": "yard",
    "mi": "mile",
    "gram": "g",
    "kilogram": "kg",
    "milligram": "mg",
    "oz": "ounce",
    "lb": "pound",
    "lbs": "pound",
    "liter": "l",
    "litre": "l",
    "milliliter": "ml",
    "millilitre": "ml",
    "usd": "dollar",
    "buck": "dollar",
    "penny": "cent",
    "pennies": "cent",
    "deg": "degree",
    "¢": "cent",
    "°": "degree",
}
_FAMILY_OF = {unit: family for family, units in _FAMILIES.items() for unit in units}

_SIGN = r"[-+]"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_PLAIN = re.compile(
    rf"(?P<sign>{_SIGN})?\s*(?:(?P<whole>\d+)\s+(?P<n>\d+)\s*/\s*(?P<d>\d+)"
    rf"|(?P<num>{_DIGITS})\s*/\s*(?P<den>{_DIGITS})"
    rf"|(?P<int>{_DIGITS})?(?P<frac>\.\d+)|(?P<int2>{_DIGITS})\.?(?![\d,]))"
    r"(?:\s*(?:x|\*|×|e)\s*10\s*\^\s*\{?(?P<pow>[-+]?\d{1,4})\}?|[eE](?P<exp>[-+]?\d{1,4}))?"
)
_PREFIX = re.compile(r"^(?P<sign>[-+])?\s*(?P<cur>US\$|[$€£¥₹])\s*")
_UNIT_TAIL = re.compile(
    r"^[\s-]*(?:[^\W\d_][^\W\d_]*[²³.'%-]*(?:[ /'-]+[^\W\d_]+[²³.'%-]*){0,5}|[°¢])?$"
)
_NOT_A_UNIT = frozenset(
    [
        "or",
        "and",
        "not",
        "pi",
        "e",
        "i",
        "sqrt",
        "ln",
        "log",
        "sin",
        "cos",
        "tan",
        "inf",
        "infinity",
        "to",
        "versus",
        "vs",
        "mod",
        "choose",
    ]
)
_ANY_NUMBER = re.compile(rf"(?<![\w.])(?:{_DIGITS}(?:\.\d+)?|\.\d+)")


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


def _words_value(words: list[str]) -> tuple[int, int] | None:
    """(value, how many words were read) of number words at the start; None if there are none."""
    total = current = 0
    used = 0
    for index, word in enumerate(words):
        if word in _ONES or word in _TENS:
            current += _ONES.get(word, 0) + _TENS.get(word, 0)
        elif word == "hundred" and used:
            current = max(current, 1) * 100
        elif word in _SCALES and used:
            total += max(current, 1) * _SCALES[word]
            current = 0
        elif word == "and" and used and index + 1 < len(words) and words[index + 1] in _ONES:
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
    words[0] = _singular(words[0])
    return " ".join(words), percent, factor


def _singular(word: str) -> str:
    if word in _UNIT_NAMES:
        return _UNIT_NAMES[word]
    stem = word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word
    return _UNIT_NAMES.get(stem, stem)


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
        unit = _CURRENCY[prefix.group("cur")]
        negative = prefix.group("sign") == "-"
        text = text[prefix.end() :]
    match = _PLAIN.match(text)
    if match is None:
        return _spelled(text, unit)
    value, form = _value(match)
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
    return Quantity(value * factor, form, unit or tail_unit, percent or tail_percent, reduced)


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
    if any(word in _ONES or word in _TENS for word in words):
        return False
    first = words[0]
    known = _singular(first) in _FAMILY_OF or first in _FACTORS
    return first not in _NOT_A_UNIT and "or" not in words and (known or len(first) > 1)


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
    if any(word in _ONES or word in _TENS for word in words[used:]):
        return None
    tail_unit, percent, factor = _unit(tail)
    return Quantity(Fraction(sign * value * factor), "words", unit or tail_unit, percent)


def _value(
    match: re.Match[str],
) -> tuple[Fraction | None, Literal["integer", "decimal", "fraction"]]:
    group = match.groupdict()
    form: Literal["integer", "decimal", "fraction"] = "integer"

    def integer(digits: str | None) -> int:
        return int(digits.replace(",", "")) if digits else 0

    if group["whole"] is not None:
        form = "fraction"
        if integer(group["d"]) == 0:
            return None, form
        value = integer(group["whole"]) + Fraction(integer(group["n"]), integer(group["d"]))
    elif group["num"] is not None:
        form = "fraction"
        if integer(group["den"]) == 0:
            return None, form
        value = Fraction(integer(group["num"]), integer(group["den"]))
    elif group["frac"] is not None:
        form = "decimal"
        value = integer(group["int"]) + Fraction("0" + group["frac"])
    else:
        value = Fraction(integer(group["int2"]))
    power = group["pow"] or group["exp"]
    if power is not None:
        value *= Fraction(10) ** int(power)
    return (-value if group["sign"] == "-" else value), form


def count_numbers(text: str) -> list[Fraction]:
    """Every number written in digits in ``text``, signs ignored, in order."""
    return [
        Fraction(found.replace(",", "")) if not found.startswith(".") else Fraction("0" + found)
        for found in _ANY_NUMBER.findall(text)
    ]


_DIRECT = re.compile(
    r"\bhow (?:many|much)(?: more| fewer| less)?\s+((?:\w+\s*){1,2})|\bin (\w+)\s*\?"
)
_ASKS_PERCENT = re.compile(r"percent|per cent|%", re.IGNORECASE)


def _ask(question: str) -> str:
    """The sentence that asks: the last with a question mark, else the last one."""
    sentences = [s for s in re.split(r"(?<=[.?!])\s+", question.strip()) if s]
    asking = [s for s in sentences if s.endswith("?")]
    return (asking or sentences or [""])[-1].lower()


def _asked_units(text: str, family: str) -> set[str]:
    words = (
        _singular(word) for word in re.findall(r"[a-z°¢]+", text.lower().replace("$", " usd "))
    )
    return {word for word in words if word in _FAMILIES[family]}


def compare_numbers(
    gold: Quantity, candidate: Quantity, question: str
) -> tuple[bool | None, str, str]:
    """(correct, rule, explanation); correct is None where a unit leaves doubt."""
    same = gold.value == candidate.value
    if gold.percent != candidate.percent:
        if candidate.percent and gold.value == candidate.value / 100 and gold.form != "integer":
            return True, "number.percent", "the per cent value equals the fraction"
        if gold.percent and gold.value / 100 == candidate.value and candidate.reduced:
            return True, "number.percent", "the fraction equals the per cent value"
        asked = bool(_ASKS_PERCENT.search(_ask(question)))
        if same and not asked:
            return False, "number.percent_mismatch", "one is a percentage, the other is not"
    if candidate.form == "fraction" and same and gold.value.denominator == 1:
        return False, "number.unevaluated", "an integer left as a quotient is not worked out"
    verdict = _compare_units(gold, candidate, question)
    if verdict is not None:
        return verdict
    if same:
        return True, "number.equal", "equal numbers"
    return False, "number.different", "different numbers"


def _compare_units(
    gold: Quantity, candidate: Quantity, question: str
) -> tuple[bool | None, str, str] | None:
    gold_head, head = gold.unit.split(" ")[0], candidate.unit.split(" ")[0]
    family = _FAMILY_OF.get(head)
    if family is None or head == gold_head:
        return None
    factors = _FAMILIES[family]
    if gold_head in factors:
        if gold.value * factors[gold_head] == candidate.value * factors[head]:
            return True, "number.converted", f"{gold_head} and {head} agree after conversion"
        return False, "number.unit_mismatch", f"wanted {gold_head}, found {head}"
    if gold_head:
        return None
    ask = _ask(question)
    direct = " ".join(one or other for one, other in _DIRECT.findall(ask))
    asked = _asked_units(direct, family) or _asked_units(ask, family)
    if family == "money" and "$" in ask:
        asked.add("dollar")
    if asked and head not in asked:
        return False, "number.unit_mismatch", f"the question asks for {', '.join(sorted(asked))}"
    if not asked and (everywhere := _asked_units(question, family)) and head not in everywhere:
        return False, "number.unit_mismatch", f"{head} is no unit of the question"
    return None
