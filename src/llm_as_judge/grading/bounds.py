"""Bounds and ranges: "at least 5", "about 30", "from 9:00 to 17:00", compared with what the question asks for."""

import re

from llm_as_judge.grading.comparison import Asked
from llm_as_judge.grading.dates import (
    read_clock,
    read_dates,
)
from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.single_values import (
    ASKS_RATIO,
    Comparison,
    compare_single,
    reads_value,
)
from llm_as_judge.grading.text import split_items

_BOUNDS = {
    "above": r">(?!=)|over|above|more than|greater than|larger than|exceeding|upwards of|beyond|longer than|after|since",
    "least": r">=|≥|\\ge|\\geq|=>|at least|no (?:less|fewer) than|not (?:less|fewer) than|a minimum of|minimum|min\.?|from",
    "below": r"<(?!=)|under|below|less than|fewer than|smaller than|within|before|shorter than",
    "most": r"<=|≤|\\le|\\leq|=<|at most|up to|no more than|not more than|no later than|a maximum of|maximum|max\.?|until|till|by",
    "about": r"~|≈|\\approx|\\sim|about|around|approximately|approx\.?|roughly|circa|ca\.|c\.|nearly|almost|some|an estimated|estimated",
}
_BOUND = re.compile(
    r"(?:(?:it|that|this|they)\s+(?:is|are|was|were)\s+)?(?:"
    + "|".join(rf"(?P<{name}>{pattern})(?![a-zA-Z])" for name, pattern in _BOUNDS.items())
    + r")\s*(?P<rest>.*\d.*|.*[a-z]{2}.*)",
    re.IGNORECASE | re.DOTALL,
)
_BOUND_BEHIND = re.compile(
    r"(?P<rest>.+?)\s+(?:(?P<least>(?:or|and) (?:more|longer|later|above|over|older|up|upwards?|higher|greater|larger)"
    r"|at (?:the )?least|minimum)|(?P<most>(?:or|and) (?:less|fewer|earlier|below|under|younger|lower|shorter|smaller)"
    r"|at (?:the )?most|maximum))",
    re.IGNORECASE,
)
_PLUS = re.compile(r"(?P<rest>\d[\d,. ]*)\+")
_ASKS_BOUND = {
    "above": re.compile(
        r"\b(?:above|over|more than|exceed\w*|beyond|from|after|longer than)\b", re.I
    ),
    "least": re.compile(r"\b(?:at least|minimum|least|fewest|lowest|smallest|from)\b", re.I),
    "below": re.compile(r"\b(?:below|under|less than|fewer than|within|before|until)\b", re.I),
    "most": re.compile(
        r"\b(?:at most|maximum|up to|most|highest|largest|greatest|longest|latest|until|by when|limit|within)\b",
        re.I,
    ),
    "about": re.compile(r"\b(?:about|around|approximately|roughly|estimat\w+|nearly)\b", re.I),
}
_SAME_SIDE = ({"above", "least"}, {"below", "most"})


def _read_bound(text: str) -> tuple[str, str]:
    """(name of the bound, text behind it); no name where there is none."""
    for pattern in (_BOUND, _BOUND_BEHIND, _PLUS):
        match = pattern.fullmatch(text)
        if match is None:
            continue
        said = match.groupdict()
        rest = said.pop("rest").strip()
        if not reads_value(rest):
            continue
        return next((name for name, found in said.items() if found), "least"), rest
    return "", text


def compare_bounds(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """A bound or an approximation on either side: "more than 5" is not 5, but where the question asks for it."""
    wanted, gold_value = _read_bound(gold)
    found, value = _read_bound(candidate)
    if not (wanted or found):
        return None
    compared = compare_single(gold_value, value, asked)
    if compared is None or compared.correct is False:
        return compared and Comparison(False, "bound", "bound.value", compared.why)
    if wanted == found or compared.correct is None:
        return Comparison(compared.correct, "bound", "bound.equal", compared.why)
    said = wanted or found
    if not (wanted and found):
        if _ASKS_BOUND[said].search(asked.question):
            return Comparison(True, "bound", "bound.asked", f"the question says {said!r}, too")
        if wanted or asked.domain == "qa":
            return Comparison(None, "bound", "bound.left_out", f"one is {said!r}, the other is not")
        return Comparison(False, "bound", "bound.added", f"{said!r} a value is not the value")
    if any({wanted, found} == side for side in _SAME_SIDE) or "about" in {wanted, found}:
        return Comparison(None, "bound", "bound.other", f"wanted {wanted!r}, found {found!r}")
    return Comparison(False, "bound", "bound.other", f"wanted {wanted!r}, found {found!r}")


_LONGEST_RANGE = 60
_BETWEEN = re.compile(r"\S\s+(?:between|from)\s.*\s(?:and|to)\s", re.IGNORECASE)
_RANGE = re.compile(
    r"(?:from\s+)?(?P<low>.+?)\s*(?:\bto\b|\buntil\b|\btill\b|\bthrough\b|-|\u2013|\u2014)\s*(?P<high>.+)"
    r"|between\s+(?P<over>.+?)\s+and\s+(?P<under>.+)",
    re.IGNORECASE,
)


def _range_ends(text: str) -> tuple[str, str] | None:
    """Both ends of "20-25 people", "from 9:00 to 17:00", "between 3 and 5 days"; the first takes the second's unit."""
    said = _RANGE.fullmatch(text)
    if said is None or len(text) > _LONGEST_RANGE or read_dates(text):
        return None
    low, high = (said["low"] or said["over"]).strip(), (said["high"] or said["under"]).strip()
    first, last = parse_number(low), parse_number(high)
    if first and last:
        unit = "%" if last.percent else last.unit
        low = f"{low} {unit}" if unit and not (first.unit or first.percent) else low
        return (low, high) if first.value < last.value or first.unit != last.unit else None
    clocks = read_clock(low) or (first and read_clock(f"{low}:00")), read_clock(high)
    if all(clocks) or (read_dates(low) and read_dates(high)):
        return low, high
    return None


def compare_ranges(gold: str, candidate: str, asked: Asked) -> Comparison | None:
    """A range of texts: both ends, in order. Formulas have intervals, and "5-3" is a difference there."""
    if asked.domain == "math" or ASKS_RATIO.search(asked.question):
        return None
    wanted, said = _range_ends(gold), _range_ends(candidate)
    if wanted is None:
        return None
    if said is None:
        values = (candidate, _read_bound(candidate)[1], *split_items(candidate))
        if not any(map(reads_value, values)):
            return None
        among = _BETWEEN.search(candidate) is not None  # a sentence that has a range
        return Comparison(None if among else False, "bound", "bound.no_range", "a range was wanted")
    ends = [compare_single(*pair, asked) for pair in zip(wanted, said, strict=True)]
    verdicts = {end.correct for end in ends if end is not None}
    if None in ends or None in verdicts:
        return Comparison(None, "bound", "bound.range", "an end of the range is in doubt")
    same = verdicts == {True}
    return Comparison(same, "bound", "bound.range", "both ends are compared")
