"""Words that the rules know, from words.yaml: numerals, months, verb forms, names of units."""

from __future__ import annotations

from importlib import resources
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict


def _split(value: Any) -> Any:
    return tuple(value.split()) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_split)]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    numerals: Words
    tens: Words
    ordinals: Words
    roman: dict[str, int]
    months: Words
    light: Words
    turning: Words
    not_units: Words
    verbs: tuple[Words, ...]
    units: dict[str, Words]


_TEXT = (resources.files("llm_as_judge.grading") / "words.yaml").read_text(encoding="utf-8")
_FILE = _File.model_validate(yaml.safe_load(_TEXT))

NUMERALS = {word: number for number, word in enumerate(_FILE.numerals)}
TENS = {word: 10 * number for number, word in enumerate(_FILE.tens, start=2)}
ORDINALS = {word: number for number, word in enumerate(_FILE.ordinals, start=1)}
ROMAN = _FILE.roman
MONTHS = frozenset(_FILE.months)
LIGHT = frozenset(_FILE.light)
TURNING = frozenset(_FILE.turning)
NOT_A_UNIT = frozenset(_FILE.not_units)
VERBS = {form: forms[0] for forms in _FILE.verbs for form in forms}
UNIT_NAMES = {name: unit for unit, names in _FILE.units.items() for name in names}
