"""What plain places hold (a variable, ``self.x``, an item of one), and what is put into them."""

from __future__ import annotations

import ast

from llm_as_judge.workflow.algebra import (
    calls_of,
    join,
    joined,
    labelled,
    listed,
    mapped,
    mixed,
    origin_of,
)
from llm_as_judge.workflow.context import Frame
from llm_as_judge.workflow.values import (
    INF,
    Listed,
    Mapped,
    Nothing,
    Origin,
    Result,
    Text,
    Unknown,
    Value,
)

__all__ = ["peek", "place", "tainted"]


def peek(node: ast.expr, at: Frame) -> Value | None:
    """What a place holds now; None where that is not known."""
    match node:
        case ast.Name(id=name):
            state = (at.owner(name) or at.module).state
            return None if state is None else state.variables.get(name)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return at.check.attributes.get(name)
        case ast.Subscript(value=base, slice=ast.Constant(value=str(key))):
            held = peek(base, at)
            return held.mapping.get(key) if isinstance(held, Mapped) and held.mapping else None
    return None


def place(node: ast.expr, value: Value, at: Frame, key: Origin = 0) -> None:
    """Changes what a place holds. Of a place inside an object, only who had a part in the object.

    Args:
        key: origin of the key, where the place is an item.
    """
    match node:
        case ast.Name(id=name):
            state = (at.owner(name) or at.module).state
            if state is not None and name in state.variables:
                state.variables[name] = value
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


def _with_entry(held: Value, name: object, value: Value, key: Origin, at: Frame) -> Value:
    match held:
        case Mapped(mapping=mapping):
            element, keys = join(held.element or value, value), held.keys | key
            if mapping is not None and isinstance(name, str):
                return mapped(element, {**mapping, name: value}, keys)
            return mapped(element, None, keys, held.least, held.most + 1)
        case Listed():
            return listed(join(held.element or value, value), held.least, held.most)
        case Result(origin=origin, operators=operators):
            known = [key for each in operators for key in at.check.options.operators[each].empty]
            return Result(origin | origin_of(value), operators) if name in known else held
    return tainted(held, labelled(value, key))


def tainted(held: Value, added: Value) -> Value:
    """An object that something went into."""
    origin = mixed(origin_of(held), origin_of(added))
    part = added if calls_of(added) else Unknown(origin)
    match held:
        case Mapped(element=element, keys=keys):
            return mapped(joined([element, part]), None, keys)
        case Listed(element=element):
            return listed(joined([element, part]), held.least, INF)
        case Unknown(item=item):
            return Unknown(origin, joined([item, part]), held.is_object)
        case Nothing() | Text():
            return Unknown(origin, part)
    return held
