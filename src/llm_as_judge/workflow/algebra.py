"""What is done with values: who made what is computed, what holds where two paths meet.

Where two paths meet, origins are united: ``ANSWER | OWN`` is an answer on one path and the
program's own text on another. Where a value is computed from several, an operator's part makes the
whole an operator's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from llm_as_judge.workflow.values import (
    ANSWER,
    INF,
    LOOSE,
    OWN,
    Builtin,
    Function,
    Given,
    Listed,
    Mapped,
    Method,
    Module,
    Nothing,
    Number,
    Operator,
    Origin,
    Pending,
    Result,
    Text,
    Unknown,
    Value,
)  # fmt: skip

__all__ = [
    "as_item", "calls_of", "computed", "concatenated", "excused", "item_of", "join", "joined",
    "labelled", "length", "listed", "mapped", "mixed", "of_constant", "origin_of", "repeated",
    "settled", "sliced", "times", "truth", "with_item",
]  # fmt: skip

_MADE = ANSWER | LOOSE
MAX_SIZE = 400
"""Parts of one value. Beyond it they are forgotten, or a list that is doubled takes all memory."""


# --------------------------------------------------------------------------------------- origins
def settled(origin: Origin) -> Origin:
    """Of an item of a list: one that operators filled may hold the program's own texts too."""
    return origin & ~OWN if origin & _MADE else origin


def mixed(*origins: Origin) -> Origin:
    """Of what is computed from several."""
    every, pure = 0, False
    for origin in origins:
        every |= origin
        pure = pure or bool(origin & _MADE and not origin & OWN)
    return every & ~OWN if pure else every


def computed(*origins: Origin) -> Origin:
    """Of a computed value that is not known to be empty: somebody made it."""
    return mixed(*origins) or OWN


def origin_of(value: Value) -> Origin:
    match value:
        case Unknown() | Text() | Number() | Result() | Method():
            return value.origin
        case Listed(element=element):
            return settled(origin_of(element)) if element is not None else 0
        case Mapped(element=element, keys=keys):
            of_values = origin_of(element) if element is not None else 0
            return settled(of_values | (keys & ~OWN))
        case Pending(outcome=outcome):
            return origin_of(outcome)
    return 0


def labelled(value: Value, origin: Origin) -> Value:
    """``value``, in which another one had a part."""
    return _changed(value, lambda own: mixed(own, origin))


def excused(value: Value) -> Value:
    """``value`` as what an error leaves: it counts as nothing."""
    return value if isinstance(value, Listed) else _changed(value, lambda own: own & ~OWN)


def _changed(value: Value, change: Callable[[Origin], Origin]) -> Value:
    match value:
        case Unknown() | Text() | Number() | Result() | Method():
            origin = change(value.origin)
            return value if origin == value.origin else replace(value, origin=origin)
        case Listed(element=element, items=items) if element is not None:
            parts = None if items is None else tuple(_changed(item, change) for item in items)
            return replace(value, element=_changed(element, change), items=parts)
        case Mapped(element=element, mapping=known) if element is not None:
            entries = None if known is None else {k: _changed(v, change) for k, v in known.items()}
            return replace(value, element=_changed(element, change), mapping=entries)
        case Pending(outcome=outcome):
            return replace(value, outcome=_changed(outcome, change))
    return value


# --------------------------------------------------------------------------------- making values
def of_constant(value: object) -> Value:
    """A constant of the program; empty ones (``""``, 0, None) are nobody's."""
    match value:
        case None:
            return Nothing()
        case str():
            return Text(OWN if value.strip() else 0, value)
        case bool() | int():
            return Number(OWN if value else 0, int(value), int(value))
        case float():
            return Number(OWN if value else 0)
    return Unknown()


def listed(
    element: Value | None,
    least: float = 0,
    most: float = INF,
    items: tuple[Value, ...] | None = None,
    is_set: bool = False,
) -> Listed:
    size = 1 + sum(map(_size, items[:MAX_SIZE] if items else ())) + _size(element)
    if size > MAX_SIZE and element is not None:
        size, items, element = 2, None, Unknown(origin_of(element))
    return Listed(element, items, least, most, is_set, size)


def mapped(
    element: Value | None,
    mapping: dict[str, Value] | None = None,
    keys: Origin = 0,
    least: float = 0,
    most: float = INF,
) -> Mapped:
    if mapping is not None:
        least = most = len(mapping)
    size = 1 + sum(map(_size, mapping.values() if mapping else ())) + _size(element)
    if size > MAX_SIZE and element is not None:
        size, mapping, element = 2, None, Unknown(origin_of(element))
    return Mapped(element, mapping, keys, least, most, size)


def _size(value: Value | None) -> int:
    match value:
        case None:
            return 0
        case Listed(size=size) | Mapped(size=size):
            return size
        case Unknown(item=item):
            return 1 + _size(item)
    return 1


# ------------------------------------------------------------------------------- reading values
def truth(value: Value) -> bool | None:
    """Whether a condition holds; None = it depends."""
    match value:
        case Nothing():
            return False
        case Text(constant=str(constant)):
            return bool(constant)
        case Number(least=least, most=most) if least == most:
            return bool(least)
    return None


def calls_of(value: Value) -> frozenset[int]:
    """Calls that are not awaited yet, in the value or in its items."""
    match value:
        case Pending(calls=calls):
            return calls
        case Listed(element=inner) | Mapped(element=inner) | Unknown(item=inner):
            return calls_of(inner) if inner is not None else frozenset()
    return frozenset()


def length(value: Value) -> tuple[float, float]:
    """Bounds of how many items iterating gives."""
    match value:
        case Listed(least=least, most=most) | Mapped(least=least, most=most):
            return least, most
        case Text(constant=str(constant)):
            return len(constant), len(constant)
        case Unknown(most=most):
            return 0, most
    return 0, INF


def as_item(value: Value) -> Value:
    """``value`` put into a list, or read from one."""
    if isinstance(value, Listed | Mapped | Pending) or origin_of(value) == settled(
        origin_of(value)
    ):
        return value
    return labelled(value, settled(origin_of(value)))


def item_of(source: Value) -> Value:
    """What iterating over ``source`` gives."""
    match source:
        case Listed(element=element) if element is not None:
            return as_item(element)
        case Mapped(keys=keys):
            return Text(settled(keys))
        case Text(origin=origin) | Result(origin=origin):
            return Text(computed(origin))
        case Unknown(item=item, origin=origin):
            return labelled(item, origin) if item is not None else Unknown(origin)
    return Unknown(computed(origin_of(source)))


def times(a: float, b: float) -> float:
    """``a * b``, and nothing done without end is nothing."""
    return a * b if a and b else 0


# ------------------------------------------------------------------------- lists made from lists
def with_item(held: Listed, added: Value) -> Listed:
    items = None if held.items is None else (*held.items, added)
    element = joined([held.element, as_item(added)])
    return listed(element, held.least + 1, held.most + 1, items, held.is_set)


def concatenated(left: Value, right: Value) -> Listed:
    """``left`` with the items of ``right`` after its own."""
    parts = [left, right]
    known = [part.items for part in parts if isinstance(part, Listed) and part.items is not None]
    items = known[0] + known[1] if len(known) == 2 else None
    (least, most), (least_more, most_more) = length(left), length(right)
    filled = [
        item_of(part) for part in parts if not (isinstance(part, Listed) and not part.element)
    ]
    is_set = isinstance(left, Listed) and left.is_set
    return listed(joined(filled), least + least_more, most + most_more, items, is_set)


def repeated(source: Listed, count: Value) -> Listed:
    bounds = (count.least, count.most) if isinstance(count, Number) else (0, INF)
    least, most = (times(n, max(0, bound)) for n, bound in zip(length(source), bounds, strict=True))
    return listed(source.element, least, most)


def sliced(base: Value, upper: Value | None) -> Value:
    """``base[...:upper]``."""
    stop = upper.exact if isinstance(upper, Number) else None
    most = length(base)[1] if stop is None or stop < 0 else min(length(base)[1], stop)
    match base:
        case Listed(element=element):
            return listed(element, 0, most)
        case Unknown():
            return replace(base, most=most)
        case Text(origin=origin):
            return Text(origin)
    return base


# --------------------------------------------------------------------------------- two ways meet
def join(a: Value, b: Value) -> Value:
    """What is known when it is either of the two."""
    if a is b:
        return a
    match a, b:
        case (Nothing(), other) | (other, Nothing()):
            return _unfixed(other)
        case Pending(), Pending():
            return Pending(join(a.outcome, b.outcome), a.calls | b.calls)
        case (Pending() as call, other) | (other, Pending() as call):
            return Pending(join(call.outcome, other), call.calls)
        case Text(), Text():
            return Text(a.origin | b.origin, a.constant if a.constant == b.constant else None)
        case Number(), Number():
            return Number(a.origin | b.origin, min(a.least, b.least), max(a.most, b.most))
        case Text() | Number(), Text() | Number():
            return Text(a.origin | b.origin)
        case Listed(), Listed():
            return _joined_lists(a, b)
        case Mapped(), Mapped():
            return _joined_dicts(a, b)
        case Result(), Result():
            return Result(a.origin | b.origin, a.operators | b.operators)
        case Operator(), Operator():
            return Operator(a.names | b.names, a.node)
        case (Builtin() | Module() | Given(), _) if a == b:
            return a
        case Function(), Function() if a.node is b.node:
            return a
        case (Listed() as items, Unknown() as other) | (Unknown() as other, Listed() as items):
            return listed(joined([items.element, other.item or Unknown(other.origin)]))
    return Unknown(origin_of(a) | origin_of(b), joined([_inner(a), _inner(b)]))


def joined(values: Iterable[Value | None]) -> Value | None:
    """:func:`join` of all that are there; None for none."""
    result: Value | None = None
    for value in values:
        result = value if result is None else result if value is None else join(result, value)
    return result


def _inner(value: Value) -> Value | None:
    match value:
        case Listed(element=inner) | Mapped(element=inner) | Unknown(item=inner):
            return inner
    return None


def _unfixed(value: Value) -> Value:
    match value:
        case Text():
            return Text(value.origin)
        case Number():
            return Number(value.origin)
    return value


def _joined_lists(a: Listed, b: Listed) -> Listed:
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(map(join, a.items, b.items))
    bounds = min(a.least, b.least), max(a.most, b.most)
    return listed(joined([a.element, b.element]), *bounds, items, a.is_set or b.is_set)


def _joined_dicts(a: Mapped, b: Mapped) -> Mapped:
    mapping = None
    if a.mapping is not None and b.mapping is not None and a.mapping.keys() == b.mapping.keys():
        mapping = {key: join(value, b.mapping[key]) for key, value in a.mapping.items()}
    bounds = min(a.least, b.least), max(a.most, b.most)
    return mapped(joined([a.element, b.element]), mapping, a.keys | b.keys, *bounds)
