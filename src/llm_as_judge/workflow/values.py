"""What the check knows of a value without running the program: where it comes from, what kind of
thing it is, and how long it can be."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from llm_as_judge.workflow.frames import Frame

__all__ = [
    "ANSWER",
    "ANY",
    "LOOSE",
    "MAYBE",
    "NONE",
    "NO_CONSTANT",
    "PROBLEM",
    "RECOVERED",
    "SPARE",
    "Kind",
    "Value",
    "either",
    "is_written",
    "join",
    "joined",
]

Kind = Literal[
    "any", "text", "number", "none", "list", "dict", "result", "operator", "pending", "function",
    "method", "module", "operators", "llm", "self", "class",
]  # fmt: skip

PROBLEM = "problem"
"""Label: made from the problem's text."""
ANSWER = "answer"
"""Label: made from the result of an operator that was given the problem."""
LOOSE = "loose"
"""Label: made from the result of an operator that was not."""
MAYBE = "maybe"
"""Label: an answer on one path, something that the program wrote itself on another."""
SPARE = "spare"
"""Label: nothing, or what an error leaves: written in an ``except`` block or kept through it."""
_ORIGINS = frozenset({ANSWER, LOOSE, MAYBE, SPARE})

NO_CONSTANT = object()
MAX_WEIGHT = 400
_NOTHING: frozenset[str] = frozenset()
_NO_CALLS: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Value:
    """One abstract value; never changed after it is made."""

    kind: Kind = "any"
    labels: frozenset[str] = _NOTHING
    names: frozenset[str] = _NOTHING
    """Operator classes that it is, or is the result of; the name of a module."""
    items: tuple[Value, ...] | None = None
    """List or tuple whose items are all known."""
    element: Value | None = None
    """Any item of a list or dict; what a pending call will give."""
    shortest: int = 0
    longest: int | None = None
    """Bounds of the length of a list; None = unknown."""
    endless: bool = False
    foreign: bool = False
    """A list in which some item comes from no operator."""
    calls: frozenset[int] = _NO_CALLS
    """Ids of the calls that a pending value (or a list of them) waits for."""
    constant: object = NO_CONSTANT
    node: ast.AST | None = None
    """Of a function: its definition."""
    frame: Frame | None = None
    """Of a function: where it was defined."""
    mapping: dict[str, Value] | None = None
    """Of a dict: its known keys."""
    weight: int = 1
    """Number of values in it. Beyond :data:`MAX_WEIGHT` its parts are forgotten, or a list that is
    doubled in a loop would take all memory."""

    def __post_init__(self) -> None:
        weight = 1
        if self.items is not None:
            weight += sum(item.weight for item in self.items[: MAX_WEIGHT + 1])
        if self.mapping is not None:
            weight += sum(item.weight for item in self.mapping.values())
        if self.element is not None:
            weight += self.element.weight
        if weight > MAX_WEIGHT:
            self.items = self.mapping = None
            self.element = Value(labels=self.labels, calls=self.calls)
            weight = 2
        self.weight = weight

    def labelled(self, labels: frozenset[str]) -> Value:
        """The same value with further labels."""
        return self if labels <= self.labels else replace(self, labels=self.labels | labels)


ANY = Value()
RECOVERED = Value(labels=frozenset({ANSWER}))
"""After a finding, where nothing is known: gives no further findings about its origin."""
NONE = Value("none", constant=None)


def join(a: Value, b: Value) -> Value:
    """What is known when it is either of the two."""
    if a is b:
        return a
    if a.kind == "none":
        return replace(b, labels=a.labels | b.labels, constant=NO_CONSTANT)
    if b.kind == "none":
        return replace(a, labels=a.labels | b.labels, constant=NO_CONSTANT)
    labels = a.labels | b.labels
    calls = a.calls | b.calls
    if a.kind != b.kind:
        kind: Kind = "list" if "list" in (a.kind, b.kind) and "any" in (a.kind, b.kind) else "any"
        if kind == "any" and {a.kind, b.kind} <= {"text", "number"}:
            kind = "text"
        return Value(kind, labels, calls=calls, foreign=a.foreign or b.foreign)
    if a.kind == "function" and a.node is not b.node:
        return Value("any", labels, calls=calls)
    return Value(
        kind=a.kind,
        labels=labels,
        names=a.names | b.names,
        items=_joined_items(a, b),
        element=joined(v for v in (a.element, b.element) if v is not None),
        shortest=min(a.shortest, b.shortest),
        longest=None if a.longest is None or b.longest is None else max(a.longest, b.longest),
        endless=a.endless or b.endless,
        foreign=a.foreign or b.foreign,
        calls=calls,
        constant=a.constant if _same_constant(a.constant, b.constant) else NO_CONSTANT,
        node=a.node,
        frame=a.frame,
        mapping=_joined_mapping(a, b),
    )


def is_written(value: Value) -> bool:
    """A text or number of the program's own, and not an empty one: no operator had a part in it."""
    if value.labels & _ORIGINS:
        return False
    if value.kind == "dict":
        return any(is_written(item) for item in (value.mapping or {}).values())
    if value.constant is not NO_CONSTANT:
        return bool(value.constant.strip() if isinstance(value.constant, str) else value.constant)
    return value.kind in ("text", "number", "any")


def either(a: Value, b: Value) -> Value:
    """:func:`join` where two paths meet: an answer on one of them alone is no answer for sure.

    Nothing (an empty text, 0, None) and what an ``except`` block leaves do not spoil it.
    """
    value = join(a, b)
    spare = all(SPARE in v.labels or _is_empty(v) for v in (a, b))
    labels = value.labels | {SPARE} if spare else value.labels - {SPARE}
    if ANSWER in labels and (is_written(a) or is_written(b)):
        labels = labels - {ANSWER} | {MAYBE}
    elif MAYBE in labels:
        labels -= {ANSWER}
    return value if labels == value.labels else replace(value, labels=labels)


def _is_empty(value: Value) -> bool:
    return value.constant is not NO_CONSTANT and not value.constant


def _same_constant(a: object, b: object) -> bool:
    return type(a) is type(b) and a == b


def _joined_items(a: Value, b: Value) -> tuple[Value, ...] | None:
    if a.items is None or b.items is None or len(a.items) != len(b.items):
        return None
    return tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))


def _joined_mapping(a: Value, b: Value) -> dict[str, Value] | None:
    if a.mapping is None or b.mapping is None or a.mapping.keys() != b.mapping.keys():
        return None
    return {key: join(value, b.mapping[key]) for key, value in a.mapping.items()}


def joined(values: Iterable[Value]) -> Value | None:
    """:func:`join` of all; None for none."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return result
