"""Algebra of values: who made what is computed, what holds where two paths meet.

Where two paths meet, origins are united: ``ANSWER | OWN`` is an answer on one path and the
program's own text on another. Where a value is computed from several, an operator's part makes the
whole an operator's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from llm_as_judge.workflow import values as v

_MADE = v.ANSWER | v.LOOSE
MOST_TIMES = 10**12
MAX_SIZE = 400
"""Parts of one value. Beyond it they are forgotten, or a list that is doubled takes all memory."""


# --------------------------------------------------------------------------------------- origins
def settled(origin: v.Origin) -> v.Origin:
    """Of an item of a list: one that operators filled may hold the program's own texts too."""
    return origin & ~v.OWN if origin & _MADE else origin


def mixed(*origins: v.Origin) -> v.Origin:
    """Of what is computed from several."""
    every, pure = 0, False
    for origin in origins:
        every |= origin
        pure = pure or bool(origin & _MADE and not origin & v.OWN)
    return every & ~v.OWN if pure else every


def computed(*origins: v.Origin) -> v.Origin:
    """Of a computed value that is not known to be empty: somebody made it."""
    return mixed(*origins) or v.OWN


def origin_of(value: v.Value) -> v.Origin:
    match value:
        case v.Unknown() | v.Text() | v.Number() | v.Result() | v.Method():
            return value.origin
        case v.Listed(element=element):
            return settled(origin_of(element)) if element is not None else 0
        case v.Mapped(element=element, keys=keys):
            of_values = origin_of(element) if element is not None else 0
            return settled(of_values | (keys & ~v.OWN))
        case v.Pending(outcome=outcome):
            return origin_of(outcome)
    return 0


def labeled(value: v.Value, origin: v.Origin) -> v.Value:
    """``value``, in which another one had a part."""
    return _changed(value, lambda own: mixed(own, origin))


def excused(value: v.Value) -> v.Value:
    """``value`` as what an error leaves: it counts as nothing."""
    return value if isinstance(value, v.Listed) else _changed(value, lambda own: own & ~v.OWN)


def _changed(value: v.Value, change: Callable[[v.Origin], v.Origin]) -> v.Value:
    match value:
        case v.Unknown() | v.Text() | v.Number() | v.Result() | v.Method():
            origin = change(value.origin)
            return value if origin == value.origin else replace(value, origin=origin)
        case v.Listed(element=element, items=items) if element is not None:
            parts = None if items is None else tuple(_changed(item, change) for item in items)
            return replace(value, element=_changed(element, change), items=parts)
        case v.Mapped(element=element, mapping=known) if element is not None:
            entries = (
                None if known is None else {k: _changed(held, change) for k, held in known.items()}
            )
            return replace(value, element=_changed(element, change), mapping=entries)
        case v.Pending(outcome=outcome):
            return replace(value, outcome=_changed(outcome, change))
    return value


# --------------------------------------------------------------------------------- making values
def of_constant(value: object) -> v.Value:
    """A constant of the program; empty ones (``""``, 0, None) are nobody's."""
    match value:
        case None:
            return v.Nothing()
        case str():
            return v.Text(v.OWN if value.strip() else 0, value)
        case bool() | int() if abs(value) < MOST_TIMES:
            return v.Number(v.OWN if value else 0, int(value), int(value))
        case int() | float():
            return v.Number(v.OWN if value else 0)
    return v.Unknown()


def listed(
    element: v.Value | None,
    least: float = 0,
    most: float = v.INF,
    items: tuple[v.Value, ...] | None = None,
    is_set: bool = False,
) -> v.Listed:
    size = 1 + sum(map(_size, items[:MAX_SIZE] if items else ())) + _size(element)
    if size > MAX_SIZE and element is not None:
        size, items, element = 2, None, v.Unknown(origin_of(element))
    return v.Listed(element, items, least, most, is_set, size)


def mapped(
    element: v.Value | None,
    mapping: dict[str, v.Value] | None = None,
    keys: v.Origin = 0,
    least: float = 0,
    most: float = v.INF,
) -> v.Mapped:
    if mapping is not None:
        least = most = len(mapping)
    size = 1 + sum(map(_size, mapping.values() if mapping else ())) + _size(element)
    if size > MAX_SIZE and element is not None:
        size, mapping, element = 2, None, v.Unknown(origin_of(element))
    return v.Mapped(element, mapping, keys, least, most, size)


def _size(value: v.Value | None) -> int:
    match value:
        case None:
            return 0
        case v.Listed(size=size) | v.Mapped(size=size):
            return size
        case v.Unknown(item=item):
            return 1 + _size(item)
    return 1


# ------------------------------------------------------------------------------- reading values
def truth(value: v.Value) -> bool | None:
    """Whether a condition holds; None = it depends."""
    match value:
        case v.Nothing():
            return False
        case v.Text(constant=str(constant)):
            return bool(constant)
        case v.Number(least=least, most=most) if least == most:
            return bool(least)
    return None


def calls_of(value: v.Value) -> frozenset[int]:
    """Calls that are not awaited yet, in the value or in its items."""
    match value:
        case v.Pending(calls=calls):
            return calls
        case v.Listed(element=inner) | v.Mapped(element=inner) | v.Unknown(item=inner):
            return calls_of(inner) if inner is not None else frozenset()
    return frozenset()


def length(value: v.Value) -> tuple[float, float]:
    """Bounds of how many items iterating gives."""
    match value:
        case v.Listed(least=least, most=most) | v.Mapped(least=least, most=most):
            return least, most
        case v.Text(constant=str(constant)):
            return len(constant), len(constant)
        case v.Unknown(most=most):
            return 0, most
    return 0, v.INF


def as_item(value: v.Value) -> v.Value:
    """``value`` put into a list, or read from one."""
    if isinstance(value, v.Listed | v.Mapped | v.Pending) or origin_of(value) == settled(
        origin_of(value)
    ):
        return value
    return labeled(value, settled(origin_of(value)))


def item_of(source: v.Value) -> v.Value:
    """What iterating over ``source`` gives."""
    match source:
        case v.Listed(element=element) if element is not None:
            return as_item(element)
        case v.Mapped(keys=keys):
            return v.Text(settled(keys))
        case v.Text(origin=origin) | v.Result(origin=origin):
            return v.Text(computed(origin))
        case v.Unknown(item=item, origin=origin):
            return labeled(item, origin) if item is not None else v.Unknown(origin)
    return v.Unknown(computed(origin_of(source)))


def times(a: float, b: float) -> float:
    """``a * b``, and nothing done without end is nothing. Kept small enough for any sum of them."""
    return min(a * b, MOST_TIMES if v.INF not in (a, b) else v.INF) if a and b else 0


def many(calls: v.Calls, rounds: float) -> v.Calls:
    """``calls`` made so many times."""
    return v.Calls(times(rounds, calls.most), times(rounds, calls.mean))


# ------------------------------------------------------------------------- lists made from lists
def with_item(held: v.Listed, added: v.Value) -> v.Listed:
    items = None if held.items is None else (*held.items, added)
    element = joined([held.element, as_item(added)])
    return listed(element, held.least + 1, held.most + 1, items, held.is_set)


def concatenated(left: v.Value, right: v.Value) -> v.Listed:
    """``left`` with the items of ``right`` after its own."""
    parts = [left, right]
    known = [part.items for part in parts if isinstance(part, v.Listed) and part.items is not None]
    items = known[0] + known[1] if len(known) == 2 else None
    (least, most), (least_more, most_more) = length(left), length(right)
    filled = [
        item_of(part) for part in parts if not (isinstance(part, v.Listed) and not part.element)
    ]
    is_set = isinstance(left, v.Listed) and left.is_set
    return listed(joined(filled), least + least_more, most + most_more, items, is_set)


def repeated(source: v.Listed, count: v.Value) -> v.Listed:
    bounds = (count.least, count.most) if isinstance(count, v.Number) else (0, v.INF)
    least, most = (times(n, max(0, bound)) for n, bound in zip(length(source), bounds, strict=True))
    return listed(source.element, least, most)


def sliced(base: v.Value, upper: v.Value | None) -> v.Value:
    """``base[...:upper]``."""
    stop = upper.exact if isinstance(upper, v.Number) else None
    most = length(base)[1] if stop is None or stop < 0 else min(length(base)[1], stop)
    match base:
        case v.Listed(element=element):
            return listed(element, 0, most)
        case v.Unknown():
            return replace(base, most=most)
        case v.Text(origin=origin):
            return v.Text(origin)
    return base


# --------------------------------------------------------------------------------- two ways meet
def join(a: v.Value, b: v.Value) -> v.Value:
    """What is known when it is either of the two."""
    if a is b:
        return a
    match a, b:
        case (v.Nothing(), other) | (other, v.Nothing()):
            return _unfixed(other)
        case v.Pending(), v.Pending():
            return v.Pending(join(a.outcome, b.outcome), a.calls | b.calls)
        case (v.Pending() as call, other) | (other, v.Pending() as call):
            return v.Pending(join(call.outcome, other), call.calls)
        case v.Text(), v.Text():
            return v.Text(a.origin | b.origin, a.constant if a.constant == b.constant else None)
        case v.Number(), v.Number():
            return v.Number(a.origin | b.origin, min(a.least, b.least), max(a.most, b.most))
        case v.Text() | v.Number(), v.Text() | v.Number():
            return v.Text(a.origin | b.origin)
        case v.Listed(), v.Listed():
            return _joined_lists(a, b)
        case v.Mapped(), v.Mapped():
            return _joined_dicts(a, b)
        case v.Result(), v.Result():
            return v.Result(a.origin | b.origin, a.operators | b.operators)
        case v.Operator(), v.Operator():
            return v.Operator(a.names | b.names, a.node)
        case (v.Builtin() | v.Module() | v.Given(), _) if a == b:
            return a
        case v.Function(), v.Function() if a.node is b.node:
            return a
        case (v.Listed() as items, v.Unknown() as other) | (
            v.Unknown() as other,
            v.Listed() as items,
        ):
            return listed(joined([items.element, other.item or v.Unknown(other.origin)]))
    return v.Unknown(origin_of(a) | origin_of(b), joined([_inner(a), _inner(b)]))


def joined(values: Iterable[v.Value | None]) -> v.Value | None:
    """:func:`join` of all that are there; None for none."""
    result: v.Value | None = None
    for value in values:
        result = value if result is None else result if value is None else join(result, value)
    return result


def _inner(value: v.Value) -> v.Value | None:
    match value:
        case v.Listed(element=inner) | v.Mapped(element=inner) | v.Unknown(item=inner):
            return inner
    return None


def _unfixed(value: v.Value) -> v.Value:
    match value:
        case v.Text():
            return v.Text(value.origin)
        case v.Number():
            return v.Number(value.origin)
    return value


def _joined_lists(a: v.Listed, b: v.Listed) -> v.Listed:
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(map(join, a.items, b.items))
    bounds = min(a.least, b.least), max(a.most, b.most)
    return listed(joined([a.element, b.element]), *bounds, items, a.is_set or b.is_set)


def _joined_dicts(a: v.Mapped, b: v.Mapped) -> v.Mapped:
    mapping = None
    if a.mapping is not None and b.mapping is not None and a.mapping.keys() == b.mapping.keys():
        mapping = {key: join(value, b.mapping[key]) for key, value in a.mapping.items()}
    bounds = min(a.least, b.least), max(a.most, b.most)
    return mapped(joined([a.element, b.element]), mapping, a.keys | b.keys, *bounds)
