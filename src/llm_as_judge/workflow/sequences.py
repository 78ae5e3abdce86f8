"""What is known of lists that are joined, repeated, sliced or filled, and of small sums."""

from __future__ import annotations

import ast
from dataclasses import replace

from llm_as_judge.workflow.values import ANSWER, MAYBE, NO_CONSTANT, Value, join, joined

__all__ = ["concatenated", "folded", "is_foreign", "repeated", "sliced", "with_item", "with_items"]


def is_foreign(item: Value) -> bool:
    """No operator produced it: a constant, or the problem itself."""
    return not item.labels & {ANSWER, MAYBE} and item.kind not in ("list", "pending", "operator")


def concatenated(left: Value, right: Value) -> Value:
    known = left.longest is not None and right.longest is not None
    items = None
    if left.items is not None and right.items is not None:
        items = left.items + right.items
    return Value(
        "list",
        labels=left.labels | right.labels,
        items=items,
        element=joined(v for v in (left.element, right.element) if v is not None),
        shortest=left.shortest + right.shortest,
        longest=(left.longest or 0) + (right.longest or 0) if known else None,
        foreign=left.foreign or right.foreign,
        calls=left.calls | right.calls,
    )


def repeated(left: Value, right: Value) -> Value:
    sequence, times = (left, right) if left.kind == "list" else (right, left)
    count = times.constant if isinstance(times.constant, int) else None
    known = sequence.longest is not None and count is not None
    return Value(
        "list",
        labels=left.labels | right.labels,
        element=sequence.element,
        shortest=sequence.shortest * max(0, count or 0),
        longest=(sequence.longest or 0) * max(0, count or 0) if known else None,
        foreign=sequence.foreign,
        calls=sequence.calls,
    )


def sliced(base: Value, part: ast.Slice) -> Value:
    upper = part.upper.value if isinstance(part.upper, ast.Constant) else None
    longest = base.longest
    if isinstance(upper, int) and upper >= 0:
        longest = upper if longest is None else min(longest, upper)
    return Value(
        base.kind,
        labels=base.labels,
        element=base.element,
        longest=longest,
        foreign=base.foreign,
        calls=base.calls,
    )


def folded(operation: ast.operator, left: object, right: object) -> object:
    """Sums, differences and products of small whole numbers: bounds of loops."""
    if type(left) is not int or type(right) is not int or max(abs(left), abs(right)) > 10**6:
        return NO_CONSTANT
    if isinstance(operation, ast.Add):
        return left + right
    if isinstance(operation, ast.Sub):
        return left - right
    return left * right if isinstance(operation, ast.Mult) else NO_CONSTANT


def with_item(base: Value, added: Value) -> Value:
    return replace(
        base,
        labels=base.labels | added.labels,
        element=added if base.element is None else join(base.element, added),
        items=None if base.items is None else (*base.items, added),
        shortest=base.shortest + 1,
        longest=None if base.longest is None else base.longest + 1,
        foreign=base.foreign or is_foreign(added),
        calls=base.calls | added.calls,
        constant=NO_CONSTANT,
    )


def with_items(base: Value, added: Value) -> Value:
    known = base.longest is not None and added.longest is not None
    return replace(
        base,
        labels=base.labels | added.labels,
        element=joined(v for v in (base.element, added.element) if v is not None),
        items=None,
        shortest=base.shortest + added.shortest,
        longest=(base.longest or 0) + (added.longest or 0) if known else None,
        foreign=base.foreign or added.foreign,
        calls=base.calls | added.calls,
    )
