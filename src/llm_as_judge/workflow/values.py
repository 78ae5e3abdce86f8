"""Values as the check knows them without running the program: a tagged union.

A value that holds data has an *origin*: the bits of those who had a part in it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

Origin: TypeAlias = int
PROBLEM = 1
"""The problem's text had a part in it."""
ANSWER = 2
"""An operator made it that was given the problem."""
LOOSE = 4
"""An operator made it that was not."""
OWN = 8
"""The program wrote it, and it is not empty; what an ``except`` block leaves is excused."""

INF = math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """Anything."""

    origin: Origin = OWN
    item: Value | None = None
    """What iterating over it gives."""
    is_object: bool = False
    """A module made it: no empty value can stand for it."""
    most: float = INF
    """How many items it has at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    origin: Origin
    constant: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A number or a truth value between two bounds."""

    origin: Origin
    least: float = -INF
    most: float = INF

    @property
    def exact(self) -> int | None:
        """The whole number that it must be."""
        return int(self.least) if self.least == self.most and self.least % 1 == 0 else None


@dataclass(frozen=True, slots=True)
class Nothing:
    """``None``."""


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """A list, tuple, set or iterator; made by :func:`algebra.listed`."""

    element: Value | None
    """Any of its items; None in an empty list."""
    items: tuple[Value, ...] | None
    """Each of its items, where they are known."""
    least: float
    most: float
    """Bounds of its length."""
    is_set: bool
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """A dict of the program's own; made by :func:`algebra.mapped`."""

    element: Value | None
    mapping: dict[str, Value] | None
    """Its keys and values, where all are known."""
    keys: Origin
    least: float
    most: float
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What an operator gave: a dict."""

    origin: Origin
    operators: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method of a plain value that was not called."""

    origin: Origin
    item: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """Calls that were not awaited yet."""

    outcome: Value
    calls: frozenset[int] = frozenset()
    """Ids of their nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    names: frozenset[str]
    """Classes that it may be an instance of."""
    node: ast.AST


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function or lambda of the program. Each call is followed anew."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    bound: bool
    """A method: its first argument is given by Python."""
    follow: Callable[[Arguments], Followed]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function or class that is given: ``len``, ``re.sub``, ``operator.Custom``."""

    name: str


@dataclass(frozen=True, slots=True)
class Module:
    name: str


@dataclass(frozen=True, slots=True)
class Given:
    """``self``, ``operators`` (the module of them) or ``llm`` (the model)."""

    name: str


Value: TypeAlias = (
    Unknown | Text | Number | Nothing | Listed | Mapped | Result | Method | Pending
    | Operator | Function | Builtin | Module | Given
)  # fmt: skip


@dataclass(slots=True, eq=False)
class Arguments:
    """The arguments of one call."""

    node: ast.Call
    positional: list[Value]
    named: dict[str, Value] = field(default_factory=dict)
    unknown: bool = False
    """``*args`` or ``**kwargs`` of which the parts are not known."""
    name: str = ""
    """Of the function that is called, where it is a given one."""
    made: Value | None = None
    """What a function that is among them gives when it is called with an item of the others."""

    @property
    def every(self) -> list[Value]:
        return [*self.positional, *self.named.values()]

    @property
    def first(self) -> Value:
        return self.positional[0] if self.positional else Unknown()


@dataclass(frozen=True, slots=True)
class Calls:
    """Model calls of the costliest way: ``most`` in the worst case, ``mean`` where each operator that
    may stop early does so with an even chance."""

    most: float = 0.0
    mean: float = 0.0

    def __add__(self, other: Calls) -> Calls:
        return Calls(self.most + other.most, self.mean + other.mean)

    def __sub__(self, other: Calls) -> Calls:
        return Calls(self.most - other.most, self.mean - other.mean)

    def __or__(self, other: Calls) -> Calls:
        """Either of the two, counted as the costlier."""
        return Calls(max(self.most, other.most), max(self.mean, other.mean))


@dataclass(frozen=True, slots=True)
class Followed:
    """What one call of a function of the program came to."""

    value: Value
    cost: Calls
    """Model calls of it."""
    parameters: list[Value | None]
    """What the parameters held when it ended, those by position."""


RECOVERED = Unknown(ANSWER)
"""After a finding, where nothing is known: gives no further findings about its origin."""
