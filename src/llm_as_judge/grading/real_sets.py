"""Sets of real numbers: intervals, points, unions, what is left without some, inequalities.

Which set it is depends on the order of the ends alone. So every end is replaced by its rank among the
ends of both sets, which exact comparison finds, and sympy's sets compare integers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from llm_as_judge.grading.expressions import Given, exact, parse, same_relation
from llm_as_judge.grading.identity import is_zero, real_value
from llm_as_judge.grading.shape import Item, Relation, Scalar, Shape

_DIGITS = 60


class _NotRead(Exception):  # noqa: N818 - a signal, never seen outside
    """A part is no set of real numbers, or cannot be told from another."""


def compare_sets(gold: Shape, candidate: Shape, given: Given) -> Relation:
    """Relation of two shapes, at least one of which is a set of numbers and nothing else."""
    relations = [_written(_as_relation(shape), given) for shape in (gold, candidate)]
    if None not in relations and max(len(one.free_symbols) for one in relations) > 1:
        return (
            same_relation(*relations) if all(one.is_Relational for one in relations) else "unknown"
        )
    try:
        ends = _Ends()
        for shape in (gold, candidate):
            _build(shape, ends.add, given)
        one, other = (_build(shape, ends.rank, given) for shape in (gold, candidate))
    except _NotRead:
        return "unknown"
    if one == other:
        return "equal"
    # x < 3 of a positive x is 0 < x < 3.
    return "unknown" if given.positive else "different"


def _as_relation(shape: Shape) -> Shape:
    """``y > 3 - x``, read as an interval, as it was written."""
    if shape.kind != "tuple" or not shape.names or len(shape.items) != 2:
        return shape
    low, high = shape.items
    name = Scalar(shape.names[0])
    if high == Scalar(r"\infty"):
        return Shape("relation", (name, low), r"\ge" if shape.brackets[0] == "[" else ">")
    if low == Scalar(r"-\infty"):
        return Shape("relation", (name, high), r"\le" if shape.brackets[1] == "]" else "<")
    return shape


def _written(shape: Shape, given: Given) -> Any:
    """A relation as sympy has it, None if it is none or cannot be read."""
    if shape.kind != "relation":
        return None
    types = {"<": sympy.Lt, ">": sympy.Gt, r"\le": sympy.Le, r"\ge": sympy.Ge, r"\ne": sympy.Ne}
    sides = [
        parse(item.latex, given.positive) if isinstance(item, Scalar) else None
        for item in shape.items
    ]
    if any(not isinstance(side, sympy.Expr) for side in sides):
        return None
    signs = shape.brackets.split()
    read = [
        types[sign](one, other) for sign, one, other in zip(signs, sides, sides[1:], strict=False)
    ]
    return read[0] if len(read) == 1 else sympy.And(*read)


class _Ends:
    """The ends of all intervals, and the points, in their order."""

    def __init__(self) -> None:
        self._values: list[tuple[Fraction, Any]] = []

    def add(self, value: Any) -> Any:
        near = real_value(value, _DIGITS)
        if near is None:
            raise _NotRead
        for other_near, other in self._values:
            zero = abs(near - other_near) <= Fraction(1, 10**9) and is_zero(value - other, {})
            if zero is None:
                raise _NotRead
            if zero:
                return value
        self._values.append((near, value))
        return value

    def rank(self, value: Any) -> Any:
        near = real_value(value, _DIGITS)
        for number, (_, other) in enumerate(sorted(self._values, key=lambda pair: pair[0])):
            if value == other or (near is not None and is_zero(value - other, {}) is True):
                return sympy.Integer(number)
        raise _NotRead


def _build(item: Item, end: Callable[[Any], Any], given: Given) -> Any:
    """``item`` as a sympy set whose ends are what ``end`` makes of them."""
    if isinstance(item, Scalar):
        return sympy.FiniteSet(*(_end(value, end) for value in _points(item)))
    if item.kind == "relation":
        return _solved(item, end, given)
    if item.kind == "tuple":
        return _interval(item, end)
    parts = [_build(part, end, given) for part in item.items]
    if item.kind in {"union", "set", "list"}:
        if item.kind == "set" and any(isinstance(part, Shape) for part in item.items):
            raise _NotRead
        return sympy.Union(*parts)
    if item.kind == "intersection":
        return sympy.Intersection(*parts)
    if item.kind == "difference":
        left, *others = parts
        return sympy.Complement(left, sympy.Union(*others))
    if item.kind == "ranges":  # x > 1, x < 3 is between, x < 1, x > 3 is outside
        both = sympy.Intersection(*parts)
        return both if both is not sympy.EmptySet else sympy.Union(*parts)
    raise _NotRead


def _points(item: Scalar) -> list[Any]:
    signs = "+-" if item.latex.count(r"\pm") == 1 else ""
    texts = [item.latex.replace(r"\pm", sign).strip().removeprefix("+") for sign in signs]
    return [parse(text) for text in texts or [item.latex]]


def _end(value: Any, end: Callable[[Any], Any]) -> Any:
    if value in (sympy.oo, -sympy.oo):
        return value
    if not isinstance(value, sympy.Expr) or value.free_symbols:
        raise _NotRead
    return end(exact(value))


def _interval(item: Shape, end: Callable[[Any], Any]) -> Any:
    low, high = item.items if len(item.items) == 2 else (None, None)
    known = item.brackets in {"()", "(]", "[)", "[]"}
    if not known or not isinstance(low, Scalar) or not isinstance(high, Scalar):
        raise _NotRead
    ends = [_end(parse(side.latex), end) for side in (low, high)]
    return sympy.Interval(*ends, item.brackets[0] == "(", item.brackets[1] == ")")


def _solved(item: Shape, end: Callable[[Any], Any], given: Given) -> Any:
    """The solutions of an inequality in one variable."""
    relation = _written(item, Given())
    symbols = [] if relation is None else list(relation.free_symbols)
    if len(symbols) != 1:
        raise _NotRead
    symbol = symbols[0]
    return _renumbered(_solutions(relation.xreplace({symbol: sympy.Symbol("x", real=True)})), end)


@functools.lru_cache(maxsize=256)
def _solutions(relation: Any) -> Any:
    try:
        return relation.as_set()
    except (NotImplementedError, ValueError, TypeError, AttributeError, ArithmeticError):
        return None


def _renumbered(found: Any, end: Callable[[Any], Any]) -> Any:
    if isinstance(found, sympy.Union):
        return sympy.Union(*(_renumbered(part, end) for part in found.args))
    if isinstance(found, sympy.FiniteSet):
        return sympy.FiniteSet(*(_end(value, end) for value in found))
    if isinstance(found, sympy.Interval):
        ends = (_end(found.start, end), _end(found.end, end))
        return sympy.Interval(*ends, found.left_open, found.right_open)
    if found is sympy.EmptySet or found is sympy.Reals:
        return found if found is sympy.EmptySet else sympy.Interval(-sympy.oo, sympy.oo)
    raise _NotRead
