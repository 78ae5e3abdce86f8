"""Dates, times of day and ratios in a text.

One rule for the order of day and month: a year that stands first is followed by month and day; between
slashes the month comes first, between dots or dashes the day; a part above 12 is the day.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass, replace
from fractions import Fraction

from llm_as_judge.grading.wordlists import NUMERALS, ORDINALS

_MONTHS = {name.casefold(): number for number, name in enumerate(calendar.month_name) if name} | {
    name.casefold(): number for number, name in enumerate(calendar.month_abbr) if name
}
_MONTHS["sept"] = 9
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAYS = "|".join(
    name for pair in zip(calendar.day_name, calendar.day_abbr, strict=True) for name in pair
)
_ERA = r"(?:\s*(?P<era>b\.?\s?c\.?(?:\s?e\.?)?|a\.?\s?d\.?|c\.?\s?e\.?)(?!\w))?"
_YEAR = rf"(?:(?:a\.?d\.?\s+)?['’]?(?P<year>\d{{1,4}}){_ERA})"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_PLAIN_LEAD = rf"(?:(?:in|on|the|year|{_DAYS})\b[\s,.]*)*"
_FORMS = tuple(
    re.compile(rf"{_PLAIN_LEAD}{form}", re.IGNORECASE)
    for form in (
        rf"{_DAY}\s*(?:of\s+)?(?P<month>{_MONTH})\b\.?(?:\s*,?\s*(?:of\s+)?{_YEAR})?",
        rf"(?P<month>{_MONTH})\b\.?\s*(?:the\s+)?{_DAY}(?!\d)(?:\s*,?\s*{_YEAR})?",
        rf"(?P<month>{_MONTH})\b\.?\s*,?\s*(?:of\s+)?(?P<year>\d{{4}}){_ERA}",
        r"(?P<year>\d{4})[-./](?P<month>[01]?\d)[-./](?P<day>[0-3]?\d)(?:[T\s]+00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)?)?",
        r"(?P<year>\d{4})-(?P<month>[01]\d)",
        rf"(?P<month>{_MONTH})\.?",
        rf"(?:a\.?d\.?\s+)?(?P<year>\d{{3,4}}){_ERA}",
        r"(?:a\.?d\.?\s+)(?P<year>\d{1,2})",
        r"(?P<year>\d{1,2})\s*(?P<era>b\.?\s?c\.?(?:\s?e\.?)?|a\.?d\.?|c\.?\s?e\.?)",
    )
)
_NUMERIC = re.compile(
    rf"{_PLAIN_LEAD}(?P<one>[0-3]?\d)(?P<by>[-./])(?P<two>[0-3]?\d)(?P=by)(?P<year>\d{{4}}|\d{{2}})",
    re.IGNORECASE,
)
_DECADE = re.compile(rf"{_PLAIN_LEAD}(?P<year>\d{{3}}0)\s*['’]?s", re.IGNORECASE)
_CENTURY = re.compile(
    rf"{_PLAIN_LEAD}(?P<number>\d{{1,2}}(?:st|nd|rd|th)|[a-z]+(?:[\s-][a-z]+)?)[\s-]+century{_ERA}",
    re.IGNORECASE,
)
_HAS_DATE = re.compile(rf"\d|century|\b(?:{_MONTH})\b", re.IGNORECASE)
_BC = re.compile(r"b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Date:
    """A date as far as it was said; ``span``: years it lasts (10, 100), then ``year`` is its first."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    span: int = 1

    def parts(self) -> dict[str, int]:
        """Those of year, month and day that were said."""
        said = {"year": self.year, "month": self.month, "day": self.day}
        return {name: value for name, value in said.items() if value is not None}


def read_dates(text: str) -> tuple[Date, ...]:
    """The date that ``text`` is; a second one where day and month may also stand in the other order; none if
    it is no date and nothing else."""
    text = " ".join(text.split()).strip(" .,")
    if not 3 <= len(text) <= 60 or not _HAS_DATE.search(text):
        return ()
    if decade := _DECADE.fullmatch(text):
        return (Date(int(decade["year"]), span=10),)
    if century := _CENTURY.fullmatch(text):
        return _century(century)
    if numeric := _NUMERIC.fullmatch(text):
        return _numeric(numeric)
    for form in _FORMS:
        if match := form.fullmatch(text):
            date = _date(match.groupdict())
            return _of_either_century(date, match.groupdict()) if date else ()
    return ()


def _of_either_century(date: Date, said: dict[str, str | None]) -> tuple[Date, ...]:
    """Behind a day two digits are a year of these times, or of the first century."""
    short = date.day is not None and len(said.get("year") or "") == 2 and not said.get("era")
    return (replace(date, year=_of_two_digits(date.year or 0)), date) if short else (date,)


def _of_two_digits(year: int) -> int:
    return year + (1900 if year >= 50 else 2000)


def _date(said: dict[str, str | None]) -> Date | None:
    month = said.get("month")
    number = None
    if month is not None:
        number = int(month) if month.isdigit() else _MONTHS[month.casefold()]
    year = said.get("year")
    signed = None if year is None else int(year)
    if signed is not None and _BC.match(said.get("era") or ""):
        signed = -signed
    day = said.get("day")
    date = Date(signed, number, None if day is None else int(day))
    return date if _exists(date) else None


def _exists(date: Date) -> bool:
    if date.month is not None and not 1 <= date.month <= 12:
        return False
    return date.day is None or 1 <= date.day <= 31


def _numeric(match: re.Match[str]) -> tuple[Date, ...]:
    one, two, year = int(match["one"]), int(match["two"]), int(match["year"])
    if len(match["year"]) == 2:
        year = _of_two_digits(year)
    month_first = match["by"] == "/"
    by_rule = Date(year, one, two) if month_first else Date(year, two, one)
    other = Date(year, two, one) if month_first else Date(year, one, two)
    return tuple(dict.fromkeys(date for date in (by_rule, other) if _exists(date)))


def _century(match: re.Match[str]) -> tuple[Date, ...]:
    written = match["number"].casefold()
    number = int(re.sub(r"\D", "", written)) if written[0].isdigit() else _ORDINAL.get(written, 0)
    if not number:
        return ()
    first = -100 * number if _BC.match(match["era"] or "") else 100 * (number - 1)
    return (Date(first, span=100),)


_ORDINAL = {**ORDINALS, "twenty-first": 21, "twenty first": 21}


def compare_dates(gold: tuple[Date, ...], candidate: tuple[Date, ...]) -> bool | None:
    """Do both say the same date? None where the candidate says more than the gold, or where the other order of
    day and month would be the same."""
    if gold[0] == candidate[0]:
        return True
    if set(gold) & set(candidate):
        return None
    one, other = gold[0], candidate[0]
    if one.span != other.span:
        return None if one.span > other.span and _within(other, one) else False
    said = other.parts()
    contained = one.parts().items() <= said.items()
    return None if contained and one.span == 1 else False


def _within(date: Date, span: Date) -> bool:
    if date.year is None or span.year is None:
        return False
    return span.year <= date.year < span.year + span.span


# ------------------------------------------------------------------------------------ times of day
_CLOCK = re.compile(
    r"(?:at|about)?\s*(?P<hour>[01]?\d|2[0-4])(?:[:.h](?P<minute>[0-5]\d))?(?::(?P<second>[0-5]\d))?"
    r"\s*(?P<half>[ap]\.?\s?m\b\.?)?\s*(?P<sure>o['’]?\s?clock|hours|hrs|h|uhr)?\s*(?P<part>in the (?:morning|afternoon|evening)|at night)?",
    re.IGNORECASE,
)
_NAMED = {
    "noon": 720,
    "midday": 720,
    "12 noon": 720,
    "twelve noon": 720,
    "midnight": 0,
    "12 midnight": 0,
}
_SPOKEN = re.compile(
    r"(?:at\s+)?(?P<what>half past|half|(?:a\s+)?quarter past|(?:a\s+)?quarter to|[a-z]+(?:[ -][a-z]+)?(?: minutes)? past"
    r"|[a-z]+(?:[ -][a-z]+)?(?: minutes)? to)?\s*"
    r"(?P<hour>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})"
    r"\s*(?P<sure>o['’]?\s?clock)?\s*(?P<half>[ap]\.?\s?m\b\.?)?(?P<part>\s*(?:in the (?:morning|afternoon|evening)|at night))?",
    re.IGNORECASE,
)
_HOURS = {word: number for word, number in NUMERALS.items() if 1 <= number <= 12}
_MINUTES = {
    **_HOURS,
    "twenty": 20,
    "twenty-five": 25,
    "twenty five": 25,
    "quarter": 15,
    "a quarter": 15,
    "half": 30,
}


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds since midnight; ``halved``: said of a twelve-hour clock without its half."""

    seconds: int
    halved: bool


def read_clock(text: str) -> Clock | None:
    """The time of day that ``text`` is and nothing else: "14:00", "2 p.m.", "half past two", "noon"."""
    text = " ".join(text.casefold().split()).strip(" .,")
    if len(text) > 40:
        return None
    bare = re.sub(r"^at\s+", "", text)
    if bare in _NAMED:
        return Clock(60 * _NAMED[bare], halved=False)
    match = _CLOCK.fullmatch(text)
    if match:
        sure = match["half"] or match["part"] or (match["sure"] or "")[:1] in {"o", "u"}
        if match["minute"] is None and not sure:
            return None
        return _clock(
            int(match["hour"]), int(match["minute"] or 0), int(match["second"] or 0), match
        )
    spoken = _SPOKEN.fullmatch(text)
    if spoken is None or not (spoken["what"] or spoken["sure"] or spoken["half"] or spoken["part"]):
        return None
    hour = int(spoken["hour"]) if spoken["hour"].isdigit() else _HOURS[spoken["hour"]]
    what = (spoken["what"] or "").replace(" minutes", "")
    words, _, direction = what.rpartition(" ")
    if what == "half":
        words, direction = "half", "past"
    if not what:
        return _clock(hour, 0, 0, spoken)
    minutes = _MINUTES.get(words)
    if minutes is None or hour > 12:
        return None
    return _clock(hour, minutes if direction == "past" else -minutes, 0, spoken)


def _clock(hour: int, minute: int, second: int, match: re.Match[str]) -> Clock | None:
    half = match["half"] or ""
    part = (match["part"] or "").strip()
    afternoon = half[:1] == "p" or part.endswith(("afternoon", "evening")) or part == "at night"
    told = bool(half or part)
    if told and not 1 <= hour <= 12:
        return None if half else Clock(3600 * (hour % 24) + 60 * minute + second, halved=False)
    if told:
        hour = hour % 12 + (12 if afternoon else 0)
    seconds = (3600 * (hour % 24) + 60 * minute + second) % 86400
    sure_of_day = told or hour > 12 or hour == 0
    return Clock(seconds, halved=not sure_of_day)


def compare_clocks(gold: Clock, candidate: Clock) -> bool | None:
    """The same time? None where one of both leaves its half of the day out, and the other half would do."""
    if gold.seconds == candidate.seconds:
        return True
    apart = (gold.seconds - candidate.seconds) % 43200 == 0
    return None if apart and (gold.halved or candidate.halved) else False


# ------------------------------------------------------------------------------------------ ratios
_RATIO = re.compile(
    r"(?P<first>\d+(?:\.\d+)?)\s*(?::|\bto\b|∶)\s*(?P<rest>\d+(?:\.\d+)?(?:\s*(?::|\bto\b)\s*\d+(?:\.\d+)?)*)"
)


def read_ratio(text: str) -> tuple[Fraction, ...] | None:
    """The terms of ``2:3``, ``2 to 3`` or ``1:2:3``; None if ``text`` is no ratio."""
    text = text.strip(" .")
    if len(text) > 60 or not _RATIO.fullmatch(text):
        return None
    return tuple(Fraction(number) for number in re.findall(r"\d+(?:\.\d+)?", text))


def same_ratio(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> bool:
    """Are the terms of one those of the other times a factor?"""
    if len(one) != len(other):
        return False
    return all(a * other[0] == b * one[0] for a, b in zip(one, other, strict=True)) and any(
        one
    ) == any(other)
