"""Golds changed in one thing, or crossed with another gold, so that they are surely wrong; golds of
mathematics said otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.wordlists import MONTHS
from llm_as_judge.types import Problem

_MONTHS = sorted(MONTHS)
_UNITS = (
    ("kilometers", "miles"), ("km", "miles"), ("meters", "feet"), ("hours", "minutes"),
    ("minutes", "hours"), ("years", "months"), ("days", "weeks"), ("million", "billion"),
    ("thousand", "million"), ("percent", "points"), ("°C", "°F"), ("$", "€"), ("dollars", "pounds"),
    ("pounds", "kilograms"), ("euros", "dollars"),
)  # fmt: skip
_OPPOSITES = (
    ("north", "south"), ("east", "west"), ("northern", "southern"), ("eastern", "western"),
    ("upper", "lower"), ("left", "right"), ("first", "second"), ("third", "fourth"), ("early", "late"),
    ("summer", "winter"), ("spring", "autumn"), ("father", "mother"), ("brother", "sister"),
    ("son", "daughter"), ("king", "queen"), ("old", "new"), ("black", "white"), ("more", "less"),
    ("before", "after"), ("largest", "smallest"), ("highest", "lowest"), ("increase", "decrease"),
)  # fmt: skip
_OTHER_WORD = {one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])}


def changed_golds(problem: Problem, gold: str) -> list[str]:
    """``gold`` with another number, month, unit, sign or given name, or with a word's opposite."""
    if problem.domain == "qa" and "/" in gold:  # several answers in one text: the others stay right
        return []
    found = [*_other_number(gold), *_other_month(gold), *_other_unit(gold), *_opposite(gold)]
    if problem.domain == "math":
        found += _other_sign(gold)
    else:
        found += _other_name(gold)
    return [text for text in dict.fromkeys(found) if text != gold]


def _other_number(gold: str) -> list[str]:
    match = re.search(r"\d+", gold)
    if match is None:
        return []
    value = int(match.group())
    others = [value + 1, value + 10] if value < 1000 or value > 2100 else [value + 1, value - 10]
    return [gold[: match.start()] + str(other) + gold[match.end() :] for other in others]


def _other_month(gold: str) -> list[str]:
    for at, month in enumerate(_MONTHS):
        if re.search(rf"\b{month}\b", gold, re.IGNORECASE) and month != "may":
            other = _MONTHS[(at + 3) % len(_MONTHS)].title()
            return [re.sub(rf"\b{month}\b", other, gold, flags=re.IGNORECASE)]
    return []


def _other_unit(gold: str) -> list[str]:
    return [gold.replace(one, other, 1) for one, other in _UNITS if one in gold][:1]


def _opposite(gold: str) -> list[str]:
    words = gold.split()
    for at, word in enumerate(words):
        other = _OTHER_WORD.get(word.casefold())
        if other is not None and len(words) > 1:
            other = other.title() if word.istitle() else other
            return [" ".join([*words[:at], other, *words[at + 1 :]])]
    return []


def crossed_golds(gold: str, other: str) -> list[str]:
    """Near misses: ``gold`` with its last word, or its first one, from the gold of another question.

    Only where both have two to five words, written alike: "whale oil" and "olive soap" give "whale soap"
    and "olive oil". A word is never only left out, since what is left may be right ("Obama").
    """
    ours, theirs = gold.split(), other.split()
    if "/" in gold + other or not (2 <= len(ours) <= 5 and 2 <= len(theirs) <= 5):
        return []
    known = {word.casefold().strip(".,") for word in ours}
    found = []
    for at in (-1, 0):
        mine, new = ours[at], theirs[at]
        alike = mine.isalpha() and new.isalpha() and mine.istitle() == new.istitle()
        if alike and len(mine) > 2 and len(new) > 2 and new.casefold() not in known:
            found.append(" ".join([*ours[:-1], new] if at else [new, *ours[1:]]))
    return found


def _other_sign(gold: str) -> list[str]:
    number = parse_number(gold)
    if number is not None and number.value == 0:
        return []
    if gold.startswith("-"):
        return [gold[1:]]
    if " + " in gold or " - " in gold:
        swap = {" + ": " - ", " - ": " + "}
        return [re.sub(r" [+-] ", lambda at: swap[at.group()], gold, count=1)]
    simple = re.fullmatch(r"[\w.\\{}/ ]+", gold) is not None and any(c.isdigit() for c in gold)
    return [f"-{gold}"] if simple else []


_GIVEN = ("James", "Mary", "Robert", "Anna", "Peter", "Julia")


def _other_name(gold: str) -> list[str]:
    """The family name with another given name."""
    names = gold.split()
    if len(names) != 2 or not all(name.isalpha() and name.istitle() for name in names):
        return []
    other = next(name for name in _GIVEN if name != names[0])
    return [f"{other} {names[1]}"]


def restated_math(gold: str) -> Sequence[str]:
    """The gold in other notations: not simplified, as a decimal, as a calculation's end, in a box."""
    found = [f"So the value is ${gold}$.", f"\\boxed{{{gold}}}", f"x = {gold}"]
    number = parse_number(gold)
    if number is not None and not number.unit:
        value = Fraction(number.value)
        if value.denominator == 1:
            found.append(f"{value.numerator}.00")
        else:
            found.append(f"\\frac{{{2 * value.numerator}}}{{{2 * value.denominator}}}")
        if value.denominator in (2, 4, 5, 8, 10, 20, 25):
            found.append(str(float(value)))
    return found
