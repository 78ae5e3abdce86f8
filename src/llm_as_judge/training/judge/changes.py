"""Golds changed in one thing, or crossed with another gold, so that they are surely wrong."""

from __future__ import annotations

import re

from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.wordlists import MONTHS
from llm_as_judge.types import Problem

_MONTHS = sorted(MONTHS)
_UNITS = (  # the first that fits: compound ones before their parts
    ("km/h", "m/s"), ("miles per hour", "miles"), ("meters per second", "meters"), ("mph", "km/h"), ("m^2", "cm^2"),
    ("square ", "cubic "), ("kilometers", "miles"), ("km", "miles"), ("meters", "feet"), ("hours", "minutes"),
    ("minutes", "hours"), ("seconds", "minutes"), ("years", "months"), ("months", "years"), ("days", "weeks"),
    ("weeks", "days"), ("million", "billion"), ("billion", "million"), ("thousand", "million"), ("percent", "points"),
    ("°C", "°F"), ("$", "€"), ("€", "$"), ("£", "$"), ("dollars", "pounds"), ("pounds", "kilograms"), ("kg", "g"),
    ("euros", "dollars"), ("liters", "gallons"),
)  # fmt: skip
_OPPOSITES = (
    ("north", "south"), ("east", "west"), ("northern", "southern"), ("eastern", "western"),
    ("upper", "lower"), ("left", "right"), ("first", "second"), ("third", "fourth"), ("early", "late"),
    ("summer", "winter"), ("spring", "autumn"), ("father", "mother"), ("brother", "sister"),
    ("son", "daughter"), ("king", "queen"), ("old", "new"), ("black", "white"), ("more", "less"),
    ("before", "after"), ("largest", "smallest"), ("highest", "lowest"), ("increase", "decrease"),
)  # fmt: skip
_RATE = re.compile(r"\d[\d.,]* ?[A-Za-z]+/[A-Za-z]+")
"""A unit with a slash."""
_OTHER_WORD = {one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])}


def changed_golds(problem: Problem, gold: str) -> list[str]:
    """``gold`` with another number, month, unit, sign or given name, with a word's opposite, without a sign that
    decides, as a bound of itself, or with two of its values exchanged."""
    several = "/" in gold and not _RATE.fullmatch(gold)
    if problem.domain == "qa" and several:  # answers in one text: the others stay right
        return []
    found = [*_other_number(gold), *_other_month(gold), *_other_unit(gold), *_opposite(gold)]
    found += [*_without_mark(gold), *_bounds(gold), *_exchanged(gold)]
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


_DECIDING = (
    (re.compile(r"(?<=\d)\.(?=\d)"), ""),  # 3.14 and 314
    (re.compile(r"^[-\u2212](?=\d)"), ""),
    (re.compile(r"(?<=\d)\s?(?:%|percent\b)"), ""),
    (re.compile(r"^([A-F])\+$"), r"\1-"),
    (re.compile(r"^([A-Z])(?:\+\+|#)$"), r"\1"),
)


def _without_mark(gold: str) -> list[str]:
    return [mark.sub(other, gold) for mark, other in _DECIDING if mark.search(gold)]


def _bounds(gold: str) -> list[str]:
    if re.fullmatch(r"\d[\d,.]*", gold) is None:
        return []
    return [
        f"at least {gold}",
        f"about {gold}",
        f"more than {gold}",
        f">= {gold}",
        f"{gold} or more",
    ]


def _exchanged(gold: str) -> list[str]:
    """Named values, a ratio, or the ends of a pair in the other order: "x=2, y=3" becomes "x=3, y=2"."""
    named = re.fullmatch(r"(\w+\s*=\s*)([^,=]+)(,\s*|\s+and\s+)(\w+\s*=\s*)([^,=]+)", gold)
    if named is not None and named[2] != named[5]:
        return [f"{named[1]}{named[5]}{named[3]}{named[4]}{named[2]}"]
    pair = re.fullmatch(r"(\(?)(-?\d+)(\s*[:,]\s*|\s+to\s+)(-?\d+)(\)?)", gold)
    if pair is None or pair[2] == pair[4] or bool(pair[1]) is not bool(pair[5]):
        return []
    if "," in pair[3] and not pair[1]:  # a list in any order, or thousands
        return []
    return [f"{pair[1]}{pair[4]}{pair[3]}{pair[2]}{pair[5]}"]
