"""Golds said otherwise, so that they are surely right: dates, money, numbers, durations, formulas."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from fractions import Fraction

from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.wordlists import NUMERALS, TENS

_IN_WORDS = {value: word for word, value in (*NUMERALS.items(), *TENS.items())}
_MONTHS = tuple(calendar.month_name)[1:]
_DAY_OF_MONTH = re.compile(rf"(\d{{1,2}}) ({'|'.join(_MONTHS)}) (\d{{4}})")
_MONTH_DAY = re.compile(rf"({'|'.join(_MONTHS)}) (\d{{1,2}}), (\d{{4}})")
_MONEY = re.compile(r"\$(\d[\d,]*(?:\.\d+)?)( million| billion)?")
_LONGER = {
    "minutes": (60, "hours"),
    "seconds": (60, "minutes"),
    "months": (12, "years"),
    "days": (7, "weeks"),
}
_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))? ?([ap])\.?m\.?", re.IGNORECASE)


def restated(gold: str) -> list[str]:
    """A gold of a question in other notations; empty where it has one alone."""
    found = [*_date(gold), *_number(gold), *_duration(gold), *_clock(gold)]
    if money := _MONEY.fullmatch(gold):
        found += [f"{money[1]}{money[2] or ''} dollars", f"US${money[1]}{money[2] or ''}"]
    if share := re.fullmatch(r"(\d+(?:\.\d+)?) ?%", gold):
        found.append(f"{share[1]} percent")
    if share := re.fullmatch(r"(\d+(?:\.\d+)?) percent", gold):
        found.append(f"{share[1]}%")
    return [text for text in dict.fromkeys(found) if text != gold]


def _date(gold: str) -> list[str]:
    day_first, month_first = _DAY_OF_MONTH.fullmatch(gold), _MONTH_DAY.fullmatch(gold)
    if day_first is not None:
        day, month, year = day_first.groups()
    elif month_first is not None:
        month, day, year = month_first.groups()
    else:
        return []
    if not 1 <= int(day) <= 31:
        return []
    written = f"{int(year):04}-{_MONTHS.index(month) + 1:02}-{int(day):02}"
    short = f"{month:.3} {int(day)}, {year}"
    return [f"{int(day)} {month} {year}", f"{month} {int(day)}, {year}", written, short]


def _number(gold: str) -> list[str]:
    word = gold.casefold()
    if word in NUMERALS or word in TENS:
        return [str(NUMERALS.get(word, TENS.get(word)))]
    if not re.fullmatch(r"\d{1,12}|\d{1,3}(?:,\d{3})+", gold):
        return []
    value = int(gold.replace(",", ""))
    found = [_IN_WORDS[value]] if value in _IN_WORDS else []
    return [*found, f"{value:,}", f"{value:,}".replace(",", " ")] if value >= 10_000 else found


def _duration(gold: str) -> list[str]:
    found = re.fullmatch(rf"(\d+) ({'|'.join(_LONGER)})", gold)
    if found is None:
        return []
    size, more = _LONGER[found[2]]
    whole, left = divmod(int(found[1]), size)
    if whole < 2 or left == 1:
        return []
    return [f"{whole} {more} {left} {found[2]}" if left else f"{whole} {more}"]


def _clock(gold: str) -> list[str]:
    found = _CLOCK.fullmatch(gold)
    if found is None or not 1 <= int(found[1]) <= 12:
        return []
    hour = int(found[1]) % 12 + 12 * (found[3].casefold() == "p")
    return [f"{hour:02}:{found[2] or '00'}"]


def restated_math(gold: str) -> Sequence[str]:
    """The gold in other notations: not simplified, as a decimal, as a calculation's end, in a box."""
    found = [f"So the value is ${gold}$.", f"\\boxed{{{gold}}}", f"x = {gold}"]
    if "\\frac" in gold:
        found.append(gold.replace("\\frac", "\\dfrac"))
    number = parse_number(gold)
    if number is not None and not number.unit:
        value = Fraction(number.value)
        if value.denominator == 1:
            found.append(f"{value.numerator}.00")
            if abs(value) >= 10_000:
                found.append(f"{value.numerator:,}")
        else:
            found.append(f"\\frac{{{2 * value.numerator}}}{{{2 * value.denominator}}}")
        if value.denominator in (2, 4, 5, 8, 10, 20, 25):
            found.append(str(float(value)))
    return found
