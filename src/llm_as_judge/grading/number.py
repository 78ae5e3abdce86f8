"""Numbers as values: one normal form with unit, per cent and digits.

``"$1,234.50"``, ``"1234.5 dollars"``, ``"1 234.50 USD"`` and ``"1'234.50 dollars"`` are one number. A comma
or a space before three digits separates thousands, a point is always a decimal point; a comma before
other than three digits is a decimal comma, which only :func:`parse_number` with ``decimal_comma`` reads,
since it also separates lists. Units and per cent signs are kept and compared, never stripped first.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from llm_as_judge.grading.number_words import SCALES, cardinal, fraction, is_number_word
from llm_as_judge.grading.units import Unit, read_unit, same_dimensions
from llm_as_judge.grading.wordlists import NOT_A_UNIT, NUMERALS

FACTORS = {
    **SCALES,
    **{f"{name}s": value for name, value in SCALES.items()},
    "dozen": 12,
    "dozens": 12,
    "k": 1000,
    "mn": 10**6,
    "mio": 10**6,
    "bn": 10**9,
    "tn": 10**12,
}
_OF_MONEY = {**FACTORS, "m": 10**6, "b": 10**9}
"""Letters that scale a sum of money: "$3m" is no length."""

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_PLAIN = re.compile(
    rf"(?P<sign>[-+])?\s*(?:10\s*\^\s*\{{?(?P<ten>[-+]?\d{{1,4}})\}}?|(?P<whole>\d+)\s+(?P<n>\d+)\s*/\s*(?P<d>\d+)"
    rf"|(?P<num>{_DIGITS})\s*/\s*(?P<den>{_DIGITS})"
    rf"|(?P<int>{_DIGITS})?(?P<frac>\.\d+)|(?P<int2>{_DIGITS})\.?(?![\d,]))"
    r"(?:\s*(?:x|\*|×|e)\s*10\s*\^\s*\{?(?P<pow>[-+]?\d{1,4})\}?|[eE](?P<exp>[-+]?\d{1,4}))?"
)
_CURRENCIES = r"US\$|C\$|A\$|R\$|[$€£¥₹₩₽]|Rs\.?(?=\s*\d)|(?:USD|EUR|GBP|CHF|JPY|INR|CNY|CAD|AUD|SEK|NOK|DKK|PLN)(?=[\s\d-])"
_PREFIX = re.compile(rf"^(?P<sign>[-+])?\s*(?P<cur>{_CURRENCIES})\s*")
_UNIT_TAIL = re.compile(
    r"^[\s-]*(?:(?:/\s*)?[^\W\d_][\w²³^.'%/·⋅$-]*(?:[ /'-]+[^\W\d_][\w²³^.'%/·⋅-]*){0,6}|[°¢$€£¥₹₩′″℃℉][\w/²³ ]*)?$"
)
_GROUPS = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:(?P<by>[ '’_]|\\,|,\\!|\{,\})\d{3})(?:(?P=by)\d{3})*"
    r"|\d{1,3}(?:\.\d{3}){2,})(?![\d/,]|\.\d{3}|\s*/)"
)
"""Thousands with separators that no list has: neither "1,234" nor, which may be a decimal, "1.234"."""
_RUPEES = re.compile(r"(?:₹|Rs\.?|INR)\Z")
_LAKHS = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?![\d,])")
_ANY_NUMBER = re.compile(
    rf"(?<![\w.])(?:(?<!/)(?:{_DIGITS} (?=\d+/))?{_DIGITS}/[1-9]\d*(?![\d/]|\.\d)|{_DIGITS}(?:\.\d+)?|\.\d+)"
)
_TELLING_DIGITS = 3
"""A decimal with fewer digits says too little to be told from other values by them."""
_LONGEST = 200
_MOST_DIGITS = 300
"""Of a number that is computed with; a longer one is only told from others."""
_SILENT = frozenset(["of", "the", "total", "and", "altogether", "exactly"])
"""Words behind a number that leave it as it is."""

RATE = frozenset(["a", "an", "per", "each", "every"])
"""Words before what a rate is of: "5 a day"."""

Form = Literal["integer", "decimal", "fraction", "words"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number with what was said beside it.

    ``form``: how it was written (an integer written ``36/2`` is not worked out). ``percent``: "%" or
    "percent".
    """

    value: Fraction
    form: Form
    unit: str = ""
    """As it is written, without what follows it: a unit that :mod:`units` knows, or one word: the thing counted."""
    percent: bool = False
    reduced: bool = True
    """False for a fraction that can be reduced."""
    step: Fraction | None = None
    """What one unit of the last digit is worth, for a decimal of at least three digits behind the
    leading zeros: it may be a rounded value. None: the value is meant exactly."""
    places: int = 0
    """Digits behind the decimal point."""
    digits: int = 0
    """Digits from the first that is not zero; 0 = not written in digits."""
    remark: str = ""
    """Words behind the unit: "left", "per box"."""
    scaled: bool = False
    """Was it written with a word such as "thousand", which ``value`` has been multiplied by?"""

    @property
    def units(self) -> tuple[Unit, ...]:
        """Readings of the unit; none where there is none or it is not known."""
        return read_unit(self.unit) if self.unit else ()

    @property
    def thing(self) -> str:
        """The unit in the singular: to compare unknown ones."""
        return singular(self.unit.casefold())


def singular(word: str) -> str:
    """A thing counted without its plural ending."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word


def in_currency(text: str) -> Quantity | None:
    """The number of a text that begins with the sign of a currency; formulas lose it, since ``$`` opens one."""
    return parse_number(text) if _PREFIX.match(text.strip()) else None


def is_written_as(exact: Fraction, written: Fraction, step: Fraction) -> bool:
    """Is ``written`` what ``exact`` becomes when rounded, or cut, to a multiple of ``step``?"""
    if 2 * abs(exact - written) <= step:
        return True
    return exact * written > 0 and 0 <= abs(exact) - abs(written) < step


_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+|\d+),(\d{1,2}|\d{4,})(?![\d.,])")


def has_decimal_comma(text: str) -> bool:
    """Is ``text`` one number with a decimal comma ("56,28 EUR", "1.234,50")?"""
    return (
        _DECIMAL_COMMA.search(text) is not None
        and parse_number(text) is None
        and parse_number(text, decimal_comma=True) is not None
    )


def fold_number_signs(text: str) -> str:
    """``text`` with one spelling of minus, full-width signs, vulgar fractions and separated thousands."""
    folded: list[str] = []
    for char in text.replace("\u2212", "-").replace("\u2013", "-"):
        if "\uff01" <= char <= "\uff5e":
            char = chr(ord(char) - 0xFEE0)
        elif char in "\u00a0\u2007\u2009\u202f":
            char = " "
        elif unicodedata.decomposition(char).startswith("<fraction>"):
            part = Fraction(unicodedata.numeric(char)).limit_denominator(1000)
            between = " " if folded and folded[-1].isdigit() else ""
            char = f"{between}{part.numerator}/{part.denominator}"
        folded.append(char)
    return _GROUPS.sub(lambda m: re.sub(r"\D", "", m.group()), "".join(folded))


def parse_number(text: str, *, decimal_comma: bool = False) -> Quantity | None:
    """The one number that ``text`` is, with its unit; None if it is anything else.

    Expressions (``2+3``), lists, ranges and wrong thousands separators are None. Several numbers with
    falling units of one dimension are one: "1 hour 30 minutes".

    Args:
        decimal_comma: read "56,28" as 56.28.
    """
    text = text.strip()
    return _parsed(text, decimal_comma) if 0 < len(text) <= _LONGEST else None


@lru_cache(maxsize=4096)  # an answer is read by several rules, a gold for every answer
def _parsed(text: str, decimal_comma: bool) -> Quantity | None:
    text = fold_number_signs(text).rstrip(".").strip()
    if decimal_comma:
        text = _DECIMAL_COMMA.sub(lambda m: f"{m[1].replace('.', '')}.{m[2]}", text)
    text = re.sub(r"^\s*[a-zA-Z]\s*=\s*", "", text)
    text = re.sub(r"^(?:minus|negative)\s+(?=[\d$€£])", "-", text, flags=re.IGNORECASE)
    return _single(text) or _mixed(text)


def _single(text: str) -> Quantity | None:
    prefix = _PREFIX.match(text)
    currency = ""
    negative = False
    if prefix:
        currency = prefix.group("cur")
        negative = prefix.group("sign") == "-"
        text = text[prefix.end() :]
        if _RUPEES.match(currency):  # without them "5,00,000" is a list
            text = _LAKHS.sub(lambda m: m.group().replace(",", ""), text)
    match = _PLAIN.match(text)
    if match is None:
        return _spelled(text, currency)
    number = _value(match)
    if number is None:
        return None
    tail = text[match.end() :].rstrip()
    if half := re.match(r"\s*and\s+(?:a|one)\s+half\b", tail, re.IGNORECASE):
        number = replace(number, value=number.value + Fraction(1, 2), form="words", step=None)
        tail = tail[half.end() :].strip()
    if negative:
        number = replace(number, value=-number.value)
    return _with_tail(number, tail, currency)


def _with_tail(number: Quantity, tail: str, currency: str) -> Quantity | None:
    """With the scale, per cent sign and unit that ``tail`` gives; None if it is neither."""
    scales = _OF_MONEY if currency else FACTORS
    factor = 1
    while scale := re.match(r"[\s-]*([^\W\d_]+)\b\.?", tail):
        word = scale[1].casefold()
        if word not in scales or (scale[1] == "K" and scale.start(1) and not currency):
            break  # "300 K" are kelvins
        factor *= scales[word]
        tail = tail[scale.end() :]
    percent = re.match(r"\s*(?:%|per\s?cent\b|pct\b)", tail, re.IGNORECASE)
    if percent:
        tail = tail[percent.end() :]
    tail = tail.strip()
    if not _is_unit(tail):
        return None
    if currency and not re.match(r"(?:/|per\b|an?\b|each\b|every\b)", tail, re.IGNORECASE):
        named, remark = _split_unit(tail)
        if read_unit(named) and not _agrees(named, currency):
            return None  # "$5 euros"
        tail = " ".join(part for part in ("" if read_unit(named) else named, remark) if part)
        unit, remark = currency, tail
    elif currency:
        unit, remark = _split_unit(f"{currency} {tail}")
    else:
        unit, remark = _split_unit(tail)
    step = None if number.step is None else number.step * factor
    half = re.match(r"(?:and )?an? half\b\s*", remark, re.IGNORECASE)  # "an hour and a half"
    if half:
        remark = remark[half.end() :]
    return replace(
        number,
        value=number.value * factor + (Fraction(1, 2) if half else 0),
        unit=unit,
        percent=percent is not None,
        step=step,
        remark=remark,
        scaled=number.scaled or factor > 1,
        places=number.places if factor == 1 else 0,
    )


def _agrees(named: str, currency: str) -> bool:
    return any(
        same_dimensions(one, other) for one in read_unit(named) for other in read_unit(currency)
    )


def _split_unit(tail: str) -> tuple[str, str]:
    """The unit at the start of ``tail``, as long as one is known, else its first word; and the rest."""
    words = tail.strip().split()
    if words and words[0].casefold() == "in" and len(words) > 1:
        words = words[1:]  # "4 in total"; "4 in" alone may be inches
    words = [word for word in words if word.casefold().strip(".,") not in _SILENT]
    if words and words[0].casefold() in RATE and not read_unit(" ".join(words)):
        return "", " ".join(["per", *words[1:]])  # "5 a day"
    for end in range(min(len(words), 5), 0, -1):
        if read_unit(" ".join(words[:end])):
            return " ".join(words[:end]).strip("., "), " ".join(words[end:])
    head = [word.strip(".,") for word in words]
    return (head[0], " ".join(words[1:])) if head else ("", "")


def _is_unit(tail: str) -> bool:
    """Is the text behind a number a unit or a thing counted, and no variable or second answer?"""
    if not _UNIT_TAIL.match(tail):
        return False
    words = re.findall(r"[^\W\d_]+|[°¢]", tail.lower())
    if not words:
        return True
    if any(map(is_number_word, words)):
        return False
    first = words[0]
    if len(first) == 1 and first not in "°¢$€£" and tail[:1] != "/":
        return bool(read_unit(tail)) or bool(read_unit(tail.split()[0])) or first == "a"
    return first not in NOT_A_UNIT and "or" not in words


# ------------------------------------------------------------------------------------ mixed units
_PART = re.compile(
    rf"\s*(?:,|and\b|&)?\s*(?P<number>-?{_DIGITS}(?:\.\d+)?(?:\s+\d+/\d+|/\d+)?|[a-z]+(?:[ -][a-z]+)?)\s*"
    r"(?P<unit>'|\"|′|″|[^\W\d_.,&]+)\.?(?=[\s,&\d]|$)",
    re.IGNORECASE,
)
_MARKS = {"'": "ft", "′": "ft", '"': "inch", "″": "inch"}
_HOURS = re.compile(r"(\d{1,3})\s*(?:h|:)\s*([0-5]\d)\s*(?:h|hours?|hrs?|m|min)?\.?", re.IGNORECASE)


def _mixed(text: str) -> Quantity | None:
    """ "1 hour 30 minutes", "5 feet 10 inches", "4 dollars and 50 cents" in the first of their units."""
    if hours := _HOURS.fullmatch(text):
        if ":" in text and not re.search(r"[a-z]", text, re.IGNORECASE):
            return None  # a time of day, or a ratio
        minutes = 60 * int(hours[1]) + int(hours[2])
        return Quantity(Fraction(minutes), "integer", "minutes")
    parts: list[tuple[Fraction, tuple[Unit, ...], str]] = []
    at = 0
    while at < len(text.rstrip()):
        match = _PART.match(text, at)
        if match is None:
            return None
        number = _single(match["number"])
        name = _MARKS.get(match["unit"], match["unit"])
        units = read_unit(name)
        if number is None or not units or number.unit or (number.value < 0 and parts):
            return None
        parts.append((number.value, units, name))
        at = match.end()
    return _sum(parts) if len(parts) > 1 else None


def _sum(parts: list[tuple[Fraction, tuple[Unit, ...], str]]) -> Quantity | None:
    for first in parts[0][1]:
        total = Fraction(0)
        least = None
        for value, units, _ in parts:
            unit = next((one for one in units if same_dimensions(one, first)), None)
            if unit is None or (least is not None and unit.factor >= least):
                break
            least = unit.factor
            total += value * unit.factor * (-1 if value and parts[0][0] < 0 and total else 1)
        else:
            return Quantity(total / first.factor, "words", parts[0][2])
    return None


# ----------------------------------------------------------------------------------- number words
def _spelled(text: str, currency: str) -> Quantity | None:
    text = re.sub(r"\b(thousand|million|billion),\s", r"\1 ", text, flags=re.IGNORECASE)
    if re.search(r"[,;&+=]", text):
        return None
    words = re.findall(r"[^\W_]+|[%°¢.]\S*", text.lower().replace("-", " "))
    sign = 1
    if words and words[0] in {"negative", "minus"}:
        sign, words = -1, words[1:]
    value = Fraction(0)
    used = 0
    if part := fraction(words):
        value, used = part
        if words[used : used + 1] in (["of"], ["a"], ["an"]):
            used += 1
            used += words[used : used + 1] in (["a"], ["an"])
    elif read := cardinal(words):
        value, used = Fraction(read[0]), read[1]
        if words[used : used + 1] == ["point"]:
            digits = [NUMERALS.get(word, 10) for word in words[used + 1 :]]
            count = next((at for at, digit in enumerate(digits) if digit > 9), len(digits))
            value += sum(Fraction(digit, 10 ** (at + 1)) for at, digit in enumerate(digits[:count]))
            used += 1 + count if count else 0
        if words[used : used + 1] == ["and"] and (more := fraction(words[used + 1 :])):
            value, used = value + more[0], used + 1 + more[1]
    elif words[:1] in (["a"], ["an"]) and len(words) > 1:
        if words[1] not in FACTORS and not read_unit(_split_unit(" ".join(words[1:]))[0]):
            return None
        value, used = Fraction(1), 1
    else:
        return None
    tail = "".join(f" {word}" for word in words[used:])
    if len(words) - used > 7 or re.search(r"\d", tail):
        return None
    if any(map(is_number_word, words[used:])):
        return None
    scaled = any(word in FACTORS for word in words[:used])
    return _with_tail(Quantity(sign * value, "words", scaled=scaled), tail, currency)


# --------------------------------------------------------------------------------- digits to value
def _value(match: re.Match[str]) -> Quantity | None:
    """The bare number of digits; None where it divides by zero."""
    group = match.groupdict()
    if any(len(digits) > _MOST_DIGITS for digits in group.values() if digits):
        return None
    power = Fraction(10) ** int(group["pow"] or group["exp"] or 0)
    form: Form = "integer"
    step = None
    places = digits = 0
    reduced = True

    def integer(name: str) -> int:
        return int(group[name].replace(",", "")) if group[name] else 0

    if group["ten"] is not None:
        value = Fraction(10) ** int(group["ten"])
    elif group["whole"] is not None or group["num"] is not None:
        form = "fraction"
        top, bottom = ("n", "d") if group["whole"] is not None else ("num", "den")
        if integer(bottom) == 0:
            return None
        value = integer("whole") + Fraction(integer(top), integer(bottom))
        reduced = math.gcd(integer(top), integer(bottom)) == 1
    elif group["frac"] is not None:
        form = "decimal"
        value = integer("int") + Fraction("0" + group["frac"])
        written = ((group["int"] or "").replace(",", "") + group["frac"][1:]).lstrip("0")
        places, digits = len(group["frac"]) - 1, len(written)
        step = power / 10**places if digits >= _TELLING_DIGITS else None
    else:
        value = Fraction(integer("int2"))
        digits = len(str(abs(value.numerator)))
    value *= power
    return Quantity(
        -value if group["sign"] == "-" else value,
        form,
        reduced=reduced,
        step=step,
        places=places,
        digits=digits,
    )


def count_numbers(text: str) -> list[Fraction]:
    """Every number written in digits in ``text``, signs ignored, in order; ``1/2`` is one, and ``2 1/2``."""
    found = _ANY_NUMBER.finditer(fold_number_signs(text))
    return [_value_of(number.group().replace(",", "")) for number in found]


def _value_of(written: str) -> Fraction:
    if len(written) > _MOST_DIGITS:
        return Fraction(int(hashlib.sha256(written.encode()).hexdigest(), 16) + 10**90)
    whole, _, part = written.rpartition(" ")
    return Fraction("0" + part if part.startswith(".") else part) + Fraction(whole or 0)
