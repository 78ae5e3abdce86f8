"""Decision of two numbers with units, given the question that asks and what the owner of the row says."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from llm_as_judge.grading.number import (
    FACTORS,
    RATE,
    Quantity,
    count_numbers,
    is_written_as,
    parse_number,
    singular,
)
from llm_as_judge.grading.units import ANY_UNIT, Unit, read_unit, same_dimensions
from llm_as_judge.grading.wordlists import HUNDREDTHS
from llm_as_judge.types import UNSPECIFIED, AnswerKind, AnswerSpec, Domain

Decision = tuple[bool | None, str, str]
"""(correct, rule, explanation)"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a comparison knows beside the two texts."""

    question: str
    domain: Domain
    spec: AnswerSpec = UNSPECIFIED


_ASKED_UNIT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\bhow (?:many|much)(?: more| fewer| less)?\s+((?:[\w/]+\s*){1,4})",
        r"\bin ([\w/°$€£]+(?: per \w+| an? \w+)?)\s*(?:\?|,|\.|$)",
        r"\b(?:number|amount) of (\w+)",
    )
)
_SCALE = "(dozen|hundred|thousand|million|billion|trillion)"
_ASKED_SCALE = re.compile(
    rf"\bhow (?:many|much) {_SCALE}s?\b(?: of\b)?"
    rf"|\bin {_SCALE}s(?=(?: of \w+)?\s*(?:[?,.]|$))(?: of\b)?",
    re.IGNORECASE,
)
_ASKS_COUNT = re.compile(r"\bhow many\b", re.IGNORECASE)
_ORDINAL = frozenset(["st", "nd", "rd", "th"])
_ASKS_AGE = re.compile(r"\b(?:how old|what age)\b", re.IGNORECASE)
_ASKS_PERCENT = re.compile(r"(?<!\d)(?<!\d[ \\-])(?:percent|per cent|%)", re.IGNORECASE)
"""Asked for, not given: "what is 20% as a fraction" wants no per cent."""
_QUALIFYING = frozenset(
    ["before", "excluding", "excl", "without", "net", "gross", "plus", "minus", "less", "short"]
)
_PER = re.compile(r"\s*/\s*|\sper\s", re.IGNORECASE)
_PER_WHAT = re.compile(r"\s*/\s*|\s(?:per|an?|each|every)\s", re.IGNORECASE)
_NOISE_DIGITS = 14
"""Digits of a decimal that a computer printed: of a float, and its last ones may be noise."""
_FLOAT_DIGITS = 18
"""More than a float has."""
_NOISE = Fraction(1, 10**12)
_CALENDAR_SLACK = Fraction(3, 100)
"""By how much a month or a year differs from the mean one."""

_ROUNDED = re.compile(
    r"\bround(?:ed|ing)?\b|\bnearest\b|\bdecimals?\b|\bdecimal places?\b|\bplaces\b", re.IGNORECASE
)
_PLACES = re.compile(
    r"\b(?P<count>\d|one|two|three|four|five|six)\s+(?:decimal|digits? after|places?)",
    re.IGNORECASE,
)
_NEAREST = re.compile(
    r"\b(?:nearest|rounded(?:\s+\w+)?\s+to(?:\s+(?:the|an?|full|whole|nearest))*)\s+(?P<what>[\w-]+)",
    re.IGNORECASE,
)
_STEP_OF = {
    "cent": -2,
    "hundredth": -2,
    "tenth": -1,
    "thousandth": -3,
    "ten-thousandth": -4,
    "integer": 0,
    "whole": 0,
    "unit": 0,
    "one": 0,
    "dollar": 0,
    "euro": 0,
    "number": 0,
    "percent": 0,
    "ten": 1,
    "hundred": 2,
    "thousand": 3,
    "million": 6,
}
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_EXACT = re.compile(r"\bexact(?:ly)?\b", re.IGNORECASE)


def asked_step(question: str) -> Fraction | None:
    """What one unit of the last digit is worth that ``question`` asks for: 1/100 for "rounded to cents"; None
    where it asks for no rounding."""
    if not _ROUNDED.search(question):
        return None
    if places := _PLACES.search(question):
        count = places["count"].casefold()
        return Fraction(1, 10 ** (_COUNTS.get(count) or int(count)))
    for nearest in _NEAREST.finditer(question):
        power = _STEP_OF.get(singular(nearest["what"].casefold()))
        if power is not None:
            return Fraction(10) ** power
    return None


def equal_values(gold: Quantity, candidate: Quantity, value: Fraction, asked: Asked) -> bool:
    """Is ``value``, the candidate's in the gold's unit, the gold's value to the digits that count?

    Equal; within the owner's tolerance; but for the noise of a float; or, where the gold is a decimal or
    the question asks for rounding, equal to the digits of the gold or of the question.
    """
    gap = abs(gold.value - value)
    if not gap:
        return True
    if asked.spec.tolerance is not None:
        return gap <= Fraction(asked.spec.tolerance)
    if _is_noise(gold, candidate, gap):
        return True
    step = asked_step(asked.question)
    if step is None and _EXACT.search(asked.question):
        return False
    if step is not None and 2 * gap <= step:
        return not _is_coarser(candidate, step) or not _is_coarser_than(candidate, gold)
    if gold.step is None or candidate.form == "integer":
        return False
    if candidate.form == "decimal":
        return candidate.places > gold.places and 2 * gap <= gold.step
    return is_written_as(value, gold.value, gold.step)


def _is_noise(gold: Quantity, candidate: Quantity, gap: Fraction) -> bool:
    if candidate.form != "decimal" or not _NOISE_DIGITS <= candidate.digits <= _FLOAT_DIGITS:
        return False
    if gold.form == "decimal" and gold.digits >= candidate.digits - 2:
        return False  # both are written to the last digit
    return gap <= _NOISE * max(abs(gold.value), Fraction(1, 10**6))


def _is_coarser(candidate: Quantity, step: Fraction) -> bool:
    """Is a decimal or a whole number written with fewer digits than ``step`` has?"""
    return candidate.form in {"decimal", "integer"} and Fraction(1, 10**candidate.places) > step


def _is_coarser_than(candidate: Quantity, gold: Quantity) -> bool:
    return gold.form == "decimal" and candidate.places < gold.places


# ------------------------------------------------------------------------------------ the question
def asking_sentence(question: str) -> str:
    """The sentence that asks: the last with a question mark, else the last one."""
    sentences = [s for s in re.split(r"(?<=[.?!])\s+", question.strip()) if s]
    asking = [s for s in sentences if s.endswith("?")]
    return (asking or sentences or [""])[-1]


def asked_units(question: str) -> tuple[Unit, ...]:
    """Readings of the unit that a question asks for: "how many minutes", "in km/h?"; none where it asks for none."""
    ask = _ASKED_SCALE.sub(lambda m: "how many" if m[1] else "in", asking_sentence(question))
    for found in (match for pattern in _ASKED_UNIT for match in pattern.finditer(ask)):
        words = found[1].split()
        words = " ".join(words[words[0].casefold() == "in" :])  # "how much in dollars?"
        words = re.split(r"\sin\b", words)[0].split()  # "how many dollars in total": no inches
        for end in range(len(words), 0, -1):
            if units := read_unit(" ".join(words[:end])):
                return units
    return read_unit("years") if _ASKS_AGE.search(ask) else ()


def _asked_scale(question: str) -> int:
    """What one stands for where "how many thousand" or "in millions" is asked, else 1."""
    found = _ASKED_SCALE.search(asking_sentence(question))
    return FACTORS[(found[1] or found[2]).casefold()] if found else 1


def _in_scale(number: Quantity, scale: int) -> Quantity:
    """``number`` in what is asked for: bare it is so, with its scale or thing ("20 thousand", "20,000 people") not."""
    if scale == 1 or not (number.scaled or number.unit):
        return number
    step = None if number.step is None else number.step / scale
    return replace(number, value=number.value / scale, step=step)


def _is_quoted(number: Quantity, question: str) -> bool:
    """Does ``number`` stand in the sentence that asks, with its unit?"""
    words = asking_sentence(question).split()
    spans = (
        " ".join(words[at : at + size]).strip(" ,;:()?.")
        for at in range(len(words))
        for size in (1, 2, 3)
    )
    quoted = (parse_number(span) for span in spans if number.unit)
    return any(
        one and (one.value, one.units) == (number.value, number.units) for one in quoted if one
    )


def _named_units(question: str) -> list[Unit]:
    """Every unit that stands in ``question`` as a word or a sign."""
    words = re.findall(r"[$€£¥₹₩]|[^\W\d_]{2,}", question)
    rounding = HUNDREDTHS if _ROUNDED.search(question) else frozenset[str]()
    named = (word for word in words if word.casefold() not in {"in", *rounding})
    return [unit for word in named for unit in read_unit(word)]


# -------------------------------------------------------------------------------- the comparison
def kind_of(number: Quantity) -> AnswerKind:
    """The kind of a number: by its per cent sign and its unit."""
    if number.percent:
        return "percentage"
    units = number.units
    if any(unit.is_money for unit in units):
        return "money"
    if any(unit.dimensions == (("second", 1),) for unit in units):
        return "duration"
    return "quantity" if units else "number"


def compare_numbers(gold: Quantity, candidate: Quantity, asked: Asked) -> Decision:
    """(correct, rule, explanation); correct is None where a unit or a scale leaves doubt."""
    if gold.percent != candidate.percent:
        per_cent = _compare_percent(gold, candidate, asked)
        if per_cent is not None:
            return per_cent
    if candidate.unit in _ORDINAL and _ASKS_COUNT.search(asking_sentence(asked.question)):
        return None, "number.thing", "things are counted, not numbered"
    if gold.units != candidate.units and _is_quoted(candidate, asked.question):
        return None, "number.echo", "the question's own quantity, in its unit"
    scale = _asked_scale(asked.question)
    decided = _compare_units(_in_scale(gold, scale), _in_scale(candidate, scale), asked)
    twofold = decided[1] == "number.different" and candidate.value == gold.value * scale
    if scale > 1 and not decided[0] and (twofold or candidate.value == gold.value):
        return None, "number.scale", f"one stands for {scale:,} in the question"
    return decided


def _compare_percent(gold: Quantity, candidate: Quantity, asked: Asked) -> Decision | None:
    same = equal_values(gold, candidate, candidate.value, asked)
    if candidate.percent and gold.value == candidate.value / 100 and gold.form != "integer":
        return True, "number.percent", "the per cent value equals the fraction"
    if gold.percent and gold.value / 100 == candidate.value and candidate.reduced:
        return True, "number.percent", "the fraction equals the per cent value"
    rounded = gold.percent and gold.step is not None and candidate.form == "fraction"
    if rounded and is_written_as(candidate.value * 100, gold.value, gold.step or Fraction(0)):
        return True, "number.rounded", "the gold is this fraction in per cent, rounded"
    if same and not (
        _ASKS_PERCENT.search(asking_sentence(asked.question)) or asked.spec.unit in {"%", "percent"}
    ):
        return False, "number.percent_mismatch", "one is a percentage, the other is not"
    return None


def _decided(gold: Quantity, candidate: Quantity, value: Fraction, asked: Asked) -> Decision:
    same = equal_values(gold, candidate, value, asked)
    if not same:
        return False, "number.different", "different numbers"
    if candidate.form == "fraction" and candidate.value.denominator == 1:
        return False, "number.unevaluated", "an integer left as a quotient is not worked out"
    if _is_unrounded(gold, candidate, value, asked):
        return None, "number.unrounded", "the question asks for a rounded number"
    if (said := _qualified(gold, candidate, asked.question)) is not None:
        return None, "number.qualified", f"{said!r} is no word of the question"
    if value != candidate.value:
        return True, "number.converted", "equal after conversion of the unit"
    return True, "number.equal", "equal numbers"


def _is_unrounded(gold: Quantity, candidate: Quantity, value: Fraction, asked: Asked) -> bool:
    """Is ``value`` left unrounded where a number that the question shows is to be rounded?"""
    step = asked_step(asked.question)
    if step is None or asked.spec.tolerance is not None or gold.value == value:
        return False
    shown = count_numbers(asking_sentence(asked.question))
    if not any(2 * abs(abs(gold.value) - number) <= step for number in shown):
        return False  # a result that is to be rounded, of a calculation
    return value % step != 0 and not _is_noise(gold, candidate, abs(gold.value - value))


def _qualified(gold: Quantity, candidate: Quantity, question: str) -> str | None:
    """A word behind the candidate's unit that makes it another quantity: "before VAT", "per unit"; None where
    gold or question have it, too."""
    told = f"{question} {gold.unit} {gold.remark}".lower()
    known = {singular(word) for word in re.findall(r"[a-z]+", told)}
    behind = candidate.remark if candidate.units else f"{candidate.unit} {candidate.remark}"
    if any(unit.is_money for unit in candidate.units) and not gold.unit:
        behind = (
            " ".join(["per", *_PER.split(candidate.unit)[1:2], behind])
            if _PER.search(candidate.unit)
            else behind
        )
    words = [singular(word) for word in re.findall(r"[a-z]+", behind.lower())]
    for at, word in enumerate(words):
        if word in _QUALIFYING and word not in known:
            return word
        if word in RATE and (words[at + 1] if at + 1 < len(words) else "") not in known:
            return word
    return None


def _compare_units(gold: Quantity, candidate: Quantity, asked: Asked) -> Decision:
    wanted = gold.units or (read_unit(asked.spec.unit) if asked.spec.unit and not gold.unit else ())
    found = candidate.units
    if wanted and found:
        return _compare_known(gold, candidate, wanted, found, asked)
    if not wanted and found and not gold.unit:
        return _compare_asked(gold, candidate, found, asked)
    decided = _decided(gold, candidate, candidate.value, asked)
    if not (gold.unit and candidate.unit) or gold.thing == candidate.thing:
        return decided
    if wanted or found or decided[0]:
        unknown = [repr(one.unit) for one in (gold, candidate) if not one.units]
        return None, "number.unknown_unit", f"no known unit: {' and '.join(unknown)}"
    return decided


def _compare_known(
    gold: Quantity,
    candidate: Quantity,
    wanted: tuple[Unit, ...],
    found: tuple[Unit, ...],
    asked: Asked,
) -> Decision:
    """Both units are known: of one dimension the values are compared, else the answer is another thing."""
    doubt: Decision | None = None
    decided: Decision = False, "number.different", "another value"
    shared = [(mine, its) for mine in wanted for its in found if same_dimensions(mine, its)]
    if not shared:
        if candidate.unit and candidate.unit == gold.unit.replace("°", "").strip():
            return _decided(gold, candidate, candidate.value, asked)  # "230 C", no coulombs
        rate = _rate_of_the_question(gold, candidate, asked.question)
        if rate is not None:
            return _compare_units(*rate, asked)
        if any(name == ANY_UNIT for unit in (*wanted, *found) for name, _ in unit.dimensions):
            return None, "number.unknown_unit", "a unit is not told"
        if candidate.unit.casefold() == "in":  # "4 in" may be a word cut off
            return None, "number.unknown_unit", "'in' may be no unit"
        return (
            False,
            "number.unit_mismatch",
            f"wanted {gold.unit or asked.spec.unit}, found {candidate.unit}",
        )
    for mine, its in shared:
        value = candidate.value
        if (mine.factor, mine.offset) != (its.factor, its.offset):
            value = its.worth(candidate.value) / mine.factor - mine.offset
        if mine.dimensions and mine.dimensions[0][0] == "radian" and mine.factor != its.factor:
            value = value.limit_denominator(10**9)  # pi is not rational
        decided = _decided(gold, candidate, value, asked)
        if decided[0] is not False:
            return decided
        far = abs(value - gold.value) > _CALENDAR_SLACK * abs(gold.value)
        if mine.calendar != its.calendar and not far:
            doubt = (None, "number.calendar", "months and years vary in days")
    return doubt or decided


_PERIODS = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "hourly": "hour",
    "yearly": "year",
    "annual": "year",
}


def _rate_of_the_question(
    gold: Quantity, candidate: Quantity, question: str
) -> tuple[Quantity, Quantity] | None:
    """Both without what one of them is per, where the question says it: "$45 a month" for what a month costs.

    Of the gold only a price loses it: "50 miles" is no speed.
    """
    pairs = []
    told = {singular(word) for word in re.findall(r"[a-z]+", question.lower())}
    told |= {_PERIODS[word] for word in told & _PERIODS.keys()}
    for number, other in ((candidate, gold), (gold, candidate)):
        base, *per = _PER_WHAT.split(number.unit)
        alone = len(per) == 1 and not _PER_WHAT.search(other.unit)
        priced = number is candidate or any(unit.is_money for unit in number.units)
        if alone and priced and singular(per[0].casefold()) in told:
            pairs.append((number, replace(number, unit=base)))
    if len(pairs) != 1:
        return None
    [(rated, bare)] = pairs
    return (gold, bare) if rated is candidate else (bare, candidate)


def _compare_asked(
    gold: Quantity, candidate: Quantity, found: tuple[Unit, ...], asked: Asked
) -> Decision:
    """The gold has no unit: the question says in which it is, or which it cannot be."""
    if wanted := asked_units(asked.question):
        return _compare_known(gold, candidate, wanted, found, asked)
    named = _named_units(asked.question)
    if named and not any(_near(mine, its) for mine in named for its in found):
        same_kind = any(same_dimensions(mine, its) for mine in named for its in found)
        other_money = any(mine.is_money for mine in named) and any(its.is_money for its in found)
        if same_kind or other_money:
            return False, "number.unit_mismatch", f"{candidate.unit} is no unit of the question"
    if not named and _ASKS_COUNT.search(asking_sentence(asked.question)):
        return None, "number.thing", f"things are counted, not {candidate.unit}"
    return _decided(gold, candidate, candidate.value, asked)


def _near(mine: Unit, its: Unit) -> bool:
    """The same unit, also in a power or a rate of it: cm in the question, cm^2 in the answer."""
    if mine.dimensions == its.dimensions:
        return mine.factor == its.factor
    names = {name for name, _ in mine.dimensions}
    return len(names) == 1 and names <= {name for name, _ in its.dimensions}
