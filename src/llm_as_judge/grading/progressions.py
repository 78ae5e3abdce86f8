"""Sequences written with dots: equal if both go on in the same way, however many members are shown."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import sympy

from llm_as_judge.grading.expressions import Given, exact, parse
from llm_as_judge.grading.identity import is_zero
from llm_as_judge.grading.shape import DOTS, Item, Relation, Scalar, Shape


def compare_sequences(
    gold: Shape, candidate: Shape, given: Given, item: Callable[[Item, Item, Given], Relation]
) -> Relation:
    """Relation of two shapes of kind ``sequence``.

    Args:
        item: relation of two members.
    """
    mine, its = _around_dots(gold.items), _around_dots(candidate.items)
    if mine is None or its is None:
        return "unknown"
    (start, end), (its_start, its_end) = mine, its
    shown = [*zip(start, its_start, strict=False)]
    shown += zip(reversed(end), reversed(its_end), strict=False)
    relations = [item(one, other, given) for one, other in shown]
    if "different" in relations or bool(end) != bool(its_end):
        return "different"
    if "unknown" in relations or min(len(start), len(its_start)) < 1:
        return "unknown"
    starts, ends = sorted((start, its_start), key=len), sorted((end, its_end), key=len)
    if len(start) == len(its_start) and len(end) == len(its_end):
        return "equal"
    rule = "difference" if len(starts[1]) == len(starts[0]) == 2 else _rule(starts[1])
    if rule is None or (len(starts[0]) < 3 and rule == "ratio"):
        return "unknown"
    return (
        "equal" if len(ends[0]) == len(ends[1]) or _goes_on(starts[1], ends[1], rule) else "unknown"
    )


def _around_dots(items: Sequence[Item]) -> tuple[list[Item], list[Item]] | None:
    """Members before and behind the dots; None if there are dots in several places."""
    if items.count(DOTS) != 1:
        return None
    at = items.index(DOTS)
    return list(items[:at]), list(items[at + 1 :])


def _rule(members: Sequence[Item]) -> str | None:
    """How members follow each other: by a constant ``difference`` or ``ratio``."""
    values = _values(members)
    if values is None or len(values) < 3:
        return None
    if _steps_are_alike([b - a for a, b in itertools.pairwise(values)]):
        return "difference"
    if any(value == 0 for value in values):
        return None
    return "ratio" if _steps_are_alike([b / a for a, b in itertools.pairwise(values)]) else None


def _goes_on(start: Sequence[Item], end: Sequence[Item], rule: str) -> bool:
    first, last = _values(start[:2]), _values(end)
    if first is None or last is None or (rule == "ratio" and 0 in {*first, *last}):
        return False
    pairs = [first, *itertools.pairwise(last)]
    return _steps_are_alike([b - a if rule == "difference" else b / a for a, b in pairs])


def _values(members: Sequence[Item]) -> list[Any] | None:
    values = [parse(member.latex) if isinstance(member, Scalar) else None for member in members]
    return (
        None
        if any(value is None or not hasattr(value, "is_number") for value in values)
        else [exact(v) for v in values]
    )


def _steps_are_alike(steps: Sequence[Any]) -> bool:
    return all(is_zero(sympy.simplify(step - steps[0]), {}) is True for step in steps[1:])
