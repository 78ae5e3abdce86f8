"""Units of measurement and money: from the words behind a number to a factor and dimensions.

pint knows the units and what they are worth. It is asked for single names out of a list of those that
people write behind numbers, never for an expression: it would read "cats" as hundredths of an
atmosphere, and a text of a model is no expression to evaluate.

Source of values: pint's registry (https://pint.readthedocs.io).
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from llm_as_judge.grading.wordlists import (
    AMBIGUOUS_UNITS,
    CURRENCIES,
    HUNDREDTHS,
    MEASURES,
    OTHER_UNIT_NAMES,
    PREFIXED,
)

_CODES = frozenset(CURRENCIES.values())
_OF_ANY_CURRENCY = "cent"
"""The dimension of a hundredth of some currency: which one it is, nothing says."""
ANY_UNIT = "unit"
"""The dimension of a length whose unit is not told: "square units"."""
_NO_UNIT = frozenset(["a", "as", "at"])
"""pint's symbols of the year, the attosecond and the technical atmosphere; in a text they are words."""
_SHORTEST_PLURAL = 3
"""Letters up to which a plural is a word: "has" is no two hectares."""
_LOGARITHMIC = frozenset(["decibel"])
"""Each a dimension of its own: pint takes a logarithm of the value, which is no factor and not exact."""
_CALENDAR = frozenset(["month", "year", "decade", "century"])
_NOT_PINT = {"decade": ("year", Fraction(10))}

Dimensions = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number in this unit is worth in base units: ``(value + offset) * factor``.

    ``dimensions``: base unit or currency and its power, sorted. ``calendar``: it is measured in months
    or years, whose length in days varies.
    """

    factor: Fraction
    dimensions: Dimensions
    offset: Fraction = Fraction(0)
    calendar: bool = False

    def worth(self, value: Fraction) -> Fraction:
        """``value`` of this unit in base units."""
        return (value + self.offset) * self.factor

    @property
    def is_money(self) -> bool:
        return any(name == _OF_ANY_CURRENCY or name in _CODES for name, _ in self.dimensions)


def same_dimensions(one: Unit, other: Unit) -> bool:
    """Do both measure the same thing? A cent may be one of any currency."""
    if one.dimensions == other.dimensions:
        return True
    rest = [
        Counter(dict(unit.dimensions)) for unit in (one, other)
    ]  # a currency on one side, cents on the other
    for mine, its in (rest, rest[::-1]):
        if mine.get(_OF_ANY_CURRENCY) and _OF_ANY_CURRENCY not in its:
            codes = [name for name in its if name in _CODES]
            mine[codes[0] if codes else ""] = mine.pop(_OF_ANY_CURRENCY)
    return dict(rest[0]) == dict(rest[1])


_SQUARES = re.compile(r"\b(square|sq\.?|cubic|cu\.?)\s+([^\W\d_]+)", re.IGNORECASE)
_RAISED = re.compile(r"\b([^\W\d_]+)\s+(squared|cubed)\b", re.IGNORECASE)
_DEGREES = re.compile(
    r"(?:\bdeg(?:ree)?s?|°)\s*\.?\s*(celsius|centigrade|fahrenheit|c|f)\b", re.IGNORECASE
)
_PER = re.compile(r"\s+(?:per|an?|each|every)\s+(?=[^\W\d_])|\s*\bper\s+|\s*/\s*", re.IGNORECASE)
_FACTOR = re.compile(
    r"(?P<name>[^\W\d_]+\$?|[$€£¥₹₩₽°′″℃℉¢][CFcf]?)(?:(?P<glued>[23](?![\d.]))|\s*\^\s*\{?(?P<power>-?\d)\}?)?"
)
_LONGEST = 60
_RAISED_SIGNS = str.maketrans({"²": "^2", "³": "^3", "·": " ", "⋅": " ", "*": " ", "×": " "})


def read_unit(text: str) -> tuple[Unit, ...]:
    """The readings of ``text`` as one unit; none where a part of it is no unit that is known.

    "km/h", "miles per hour", "square feet", "m^2", "kWh", "dollars a week", "°C".
    """
    text = text.strip().strip(".,").strip()
    if not text or len(text) > _LONGEST:
        return ()
    return _read(text)


@functools.lru_cache(maxsize=4096)
def _read(text: str) -> tuple[Unit, ...]:
    text = text.translate(_RAISED_SIGNS)
    text = _DEGREES.sub(lambda m: "℃" if m[1].lower().startswith("c") else "℉", text)
    text = re.sub(r"\bpounds?\s+sterling\b", "GBP", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(?:us|u\.s\.)[\s-]+dollars?\b", "USD", text, flags=re.IGNORECASE)
    text = re.sub(r"\bfluid\s+ounces?\b|\bfl\.?\s*oz\.?", "floz", text, flags=re.IGNORECASE)
    text = re.sub(
        r"\b(nautical|light)[\s-]+(miles?|years?)\b",
        lambda m: f"{m[1].lower()}{m[2].lower()}",
        text,
        flags=re.IGNORECASE,
    )
    text = _SQUARES.sub(lambda m: f"{m[2]}^{2 if m[1][0] in 'sS' else 3}", text)
    text = _RAISED.sub(lambda m: f"{m[1]}^{2 if m[2][0] in 'sS' else 3}", text)
    readings: tuple[Unit, ...] = (Unit(Fraction(1), ()),)
    for at, part in enumerate(_PER.split(text)):
        factors = _product(part)
        if not factors:
            return ()
        readings = tuple(_times(mine, its, -1 if at else 1) for mine in readings for its in factors)
    return readings


def _product(text: str) -> tuple[Unit, ...]:
    """Units side by side: "kilowatt-hours", "N m"."""
    readings: tuple[Unit, ...] = ()
    at = 0
    for match in _FACTOR.finditer(text):
        if text[at : match.start()].strip(" -."):
            return ()
        at = match.end()
        named = _named(match["name"])
        if not named:
            return ()
        power = int(match["power"] or match["glued"] or 1)
        if not power:
            return ()
        raised = tuple(_raised(unit, power) for unit in named)
        readings = (
            tuple(_times(mine, its, 1) for mine in readings for its in raised)
            if readings
            else raised
        )
    return () if text[at:].strip(" -.") else readings[:8]


def _raised(unit: Unit, power: int) -> Unit:
    if power == 1:
        return unit
    dimensions = tuple((name, each * power) for name, each in unit.dimensions)
    return Unit(unit.factor**power, dimensions, calendar=unit.calendar)


def _times(one: Unit, other: Unit, sign: int) -> Unit:
    if not one.dimensions and sign == 1 and one.factor == 1:
        return other
    powers = Counter(dict(one.dimensions))
    for name, power in other.dimensions:
        powers[name] += sign * power
    dimensions = tuple(sorted((name, power) for name, power in powers.items() if power))
    factor = one.factor * other.factor if sign == 1 else one.factor / other.factor
    return Unit(factor, dimensions, calendar=one.calendar or other.calendar)


@functools.lru_cache(maxsize=4096)
def _named(name: str) -> tuple[Unit, ...]:
    """Readings of one name, as it is written or in lower case."""
    low = name.casefold()
    if low in _NO_UNIT:
        return ()
    if low in AMBIGUOUS_UNITS:
        return tuple(unit for one in AMBIGUOUS_UNITS[low] for unit in _one(one))
    if low in CURRENCIES:
        return (Unit(Fraction(1), ((CURRENCIES[low], 1),)),)
    if low in {"unit", "units"}:
        return (Unit(Fraction(1), ((ANY_UNIT, 1),)),)
    if low in HUNDREDTHS:
        return (Unit(Fraction(1, 100), ((_OF_ANY_CURRENCY, 1),)),)
    other = OTHER_UNIT_NAMES.get(low)
    if other:
        return _one(other)
    found = _one(name)
    return found or (*_one(low), *_side_by_side(name)) if len(low) > 1 else found


def _side_by_side(name: str) -> tuple[Unit, ...]:
    """A capital symbol and another one without a space: "Nm"."""
    symbols = len(name) == 2 and name[0].isupper() and name[1].islower()
    pairs = [(one, other) for one in _one(name[0]) for other in _one(name[1])] if symbols else []
    return tuple(_times(one, other, 1) for one, other in pairs)


def _one(name: str) -> tuple[Unit, ...]:
    if name in _CODES:
        return (Unit(Fraction(1), ((name, 1),)),)
    from pint import PintError  # with the registry: half a second that no other command pays

    registry = _registry()
    alias, times = _NOT_PINT.get(name, (name, Fraction(1)))
    if alias.endswith("s") and 1 < len(alias) <= _SHORTEST_PLURAL:
        parsed = [one for one in registry.parse_unit_name(alias) if one[0]]  # "ms", no "has"
    else:
        parsed = registry.parse_unit_name(alias)
    for prefix, base, _ in parsed:
        if base not in MEASURES or (prefix and base not in PREFIXED):
            continue
        if base in _LOGARITHMIC:
            return (Unit(Fraction(1), ((base, 1),)),)
        try:
            worth = registry.Quantity(Fraction(1), f"{prefix}{base}").to_base_units()
        except PintError:  # a unit that no factor turns into others cannot be compared
            return ()
        if base in {"degree_Celsius", "degree_Fahrenheit"}:
            zero = registry.Quantity(Fraction(0), base).to_base_units().magnitude
            step = worth.magnitude - zero
            return (Unit(Fraction(step), (("kelvin", 1),), Fraction(zero) / Fraction(step)),)
        dimensions = tuple(
            sorted((str(unit), int(power)) for unit, power in worth.unit_items())
        ) or ((base, 1),)
        factor = Fraction(worth.magnitude) * times
        return (Unit(factor, dimensions, calendar=base in _CALENDAR or name in _CALENDAR),)
    return ()


@functools.lru_cache(maxsize=1)
def _registry() -> Any:
    """pint's, made when the first unit is read: half a second."""
    import pint

    return pint.UnitRegistry(non_int_type=Fraction)
