"""Units of measure: their names, their families and what they are worth in each other."""

from __future__ import annotations

from fractions import Fraction

from llm_as_judge.grading.wordlists import UNIT_NAMES

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
    "money": {"cent": Fraction(1), "dollar": Fraction(100)},
    "angle": {"degree": Fraction(1), "radian": Fraction(180)},
}
FAMILY_OF = {unit: family for family, units in FAMILIES.items() for unit in units}


def singular(word: str) -> str:
    """A unit or a thing counted, in the singular where that is known."""
    if word in UNIT_NAMES:
        return UNIT_NAMES[word]
    stem = word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word
    return UNIT_NAMES.get(stem, stem)
