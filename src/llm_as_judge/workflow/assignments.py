"""Plain places (a variable, ``self.x``, an item of one): what they hold, and what is put into them."""

from __future__ import annotations

import ast

from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import (
    calls_of,
    join,
    joined,
    labeled,
    listed,
    mapped,
    mixed,
    origin_of,
)
from llm_as_judge.workflow.context import Frame


def peek(node: ast.expr, at: Frame) -> v.Value | None:
    """What a place holds now; None where that is not known."""
    match node:
        case ast.Name(id=name):
            state = (at.owner(name) or at.module).state
            return None if state is None else state.variables.get(name)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return at.check.attributes.get(name)
        case ast.Subscript(value=base, slice=ast.Constant(value=str(key))):
            held = peek(base, at)
            return held.mapping.get(key) if isinstance(held, v.Mapped) and held.mapping else None
    return None


def place(node: ast.expr, value: v.Value, at: Frame, key: v.Origin = 0) -> None:
    """Changes what a place holds. Of a place inside an object, only who had a part in the object.

    Args:
        key: origin of the key, where the place is an item.
    """
    match node:
        case ast.Name(id=name):
            state = (at.owner(name) or at.module).state
            if state is not None and name in state.variables:
                state.variables[name] = value
                for other in at.aliases.get(name, set()) & state.variables.keys():
                    state.variables[other] = join(state.variables[other], value)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            at.check.attributes[name] = value
        case ast.Subscript(value=base, slice=slice_):
            if (held := peek(base, at)) is not None:
                entry = slice_.value if isinstance(slice_, ast.Constant) else None
                place(base, _with_entry(held, entry, value, key, at), at)
            else:
                place(base, value, at)
        case ast.IfExp(body=first, orelse=second):
            for part in (first, second):
                if (held := peek(part, at)) is not None:
                    place(part, join(held, value), at)
        case ast.Attribute(value=base) | ast.Call(func=ast.Attribute(value=base)):
            if (held := peek(base, at)) is not None:
                place(base, tainted(held, value), at)
            else:
                place(base, value, at)


def note_aliases(target: ast.expr, source: ast.expr, at: Frame) -> None:
    """After ``target = source``: ``kept = good if passed else bad`` is one of the two lists."""
    names = _names(source)
    if not isinstance(target, ast.Name) or not (names or target.id in at.aliases):
        return
    same = names if isinstance(peek(target, at), v.Listed | v.Mapped) else set()
    for others in at.aliases.values():
        others.discard(target.id)
    at.aliases[target.id] = same
    for name in same:
        at.aliases.setdefault(name, set()).add(target.id)


def _names(source: ast.expr) -> set[str]:
    match source:
        case ast.Name(id=name):
            return {name}
        case ast.IfExp(body=first, orelse=second):
            return _names(first) | _names(second)
    return set()


def _with_entry(held: v.Value, name: object, value: v.Value, key: v.Origin, at: Frame) -> v.Value:
    match held:
        case v.Mapped(mapping=mapping):
            element, keys = join(held.element or value, value), held.keys | key
            if mapping is not None and isinstance(name, str):
                return mapped(element, {**mapping, name: value}, keys)
            return mapped(element, None, keys, held.least, held.most + 1)
        case v.Listed():
            return listed(join(held.element or value, value), held.least, held.most)
        case v.Result(origin=origin, operators=operators):
            known = [key for each in operators for key in at.check.options.operators[each].empty]
            return v.Result(origin | origin_of(value), operators) if name in known else held
    return tainted(held, labeled(value, key))


def tainted(held: v.Value, added: v.Value) -> v.Value:
    """An object that something went into."""
    origin = mixed(origin_of(held), origin_of(added))
    part = added if calls_of(added) else v.Unknown(origin)
    match held:
        case v.Mapped(element=element, keys=keys):
            return mapped(joined([element, part]), None, keys)
        case v.Listed(element=element):
            return listed(joined([element, part]), held.least, v.INF)
        case v.Unknown(item=item):
            return v.Unknown(origin, joined([item, part]), held.is_object)
        case v.Nothing() | v.Text():
            return v.Unknown(origin, part)
    return held
