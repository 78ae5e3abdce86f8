"""Values between the solution's process and the tests' process, rebuilt from exact types.

A plain JSON value stands for itself, every other builtin value is ``{"#": kind, "v": parts}``.
An instance of a subclass is rebuilt as its builtin base from the base's own contents, so that an
object cannot lie about its equality; an object of any other class crosses as a numbered handle.
"""

from __future__ import annotations

import builtins
import collections
import datetime as dt
import decimal
import fractions
import re
import types
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 100
MAX_ITEMS = 200_000
"""Items taken from an iterator before it is taken for endless."""

FOREIGN = ("object", "yours", "callback", "named", "instance", "member")
"""Kinds of forms that are no literals: :mod:`.remote` knows them."""

_PLAIN_INT = 2**53

_ITERATORS: tuple[Any, ...] = (
    types.GeneratorType,
    map,
    filter,
    zip,
    enumerate,
    reversed,
    type(iter([])),
    type(iter(())),
    type(iter({})),
    type(iter(set())),
    type(iter(range(0))),
)


class LiteralError(ValueError):
    """A value that cannot cross, or a message that stands for no value."""


def encode(value: Any, foreign: Callable[[Any], Any], depth: int = 0) -> Any:
    """The JSON form of ``value``; ``foreign`` gives that of an object of no builtin class.

    Raises:
        LiteralError: nested deeper than ``MAX_DEPTH`` (or in itself), or an endless iterator.
    """
    if depth > MAX_DEPTH:
        raise LiteralError("value is nested too deeply")
    kind: Any = type(value)
    if value is None or kind in (bool, str):
        return value
    for base, encoder in _ENCODERS:
        if isinstance(value, base):
            return encoder(value, lambda item: encode(item, foreign, depth + 1))
    if kind is type and (name := _builtin_type_name(value)):
        return {"#": "type", "v": name}
    if kind in _ITERATORS:
        return {"#": "iter", "v": [encode(x, foreign, depth + 1) for x in _listed(value)]}
    return foreign(value)


def _builtin_type_name(kind: Any) -> str:
    name = str(kind.__name__)
    return name if vars(builtins).get(name) is kind else ""


def _listed(iterator: Any) -> list[Any]:
    items = []
    for item in iterator:
        items.append(item)
        if len(items) > MAX_ITEMS:
            raise LiteralError(f"iterator gives more than {MAX_ITEMS} items")
    return items


def _encode_int(value: Any, _: Any) -> Any:
    plain = int.__int__(value)
    return plain if -_PLAIN_INT < plain < _PLAIN_INT else {"#": "int", "v": hex(plain)}


def _encode_float(value: Any, _: Any) -> Any:
    plain = float.__float__(value)
    return plain if plain - plain == 0 else {"#": "float", "v": float.__repr__(plain)}


def _sequence(kind: str, base: Any) -> Callable[[Any, Any], Any]:
    def encoder(value: Any, inner: Any) -> Any:
        return {"#": kind, "v": [inner(item) for item in base.__iter__(value)]}

    return encoder


def _mapping(kind: str, base: Any) -> Callable[[Any, Any], Any]:
    def encoder(value: Any, inner: Any) -> Any:
        return {"#": kind, "v": [[inner(k), inner(v)] for k, v in base.items(value)]}

    return encoder


_ENCODERS: tuple[tuple[Any, Callable[[Any, Any], Any]], ...] = (
    (str, lambda value, _: str.__str__(value)),
    (int, _encode_int),
    (float, _encode_float),
    (complex, lambda value, inner: {"#": "complex", "v": [inner(value.real), inner(value.imag)]}),
    (bytes, lambda value, _: {"#": "bytes", "v": bytes.hex(value)}),
    (bytearray, lambda value, _: {"#": "bytearray", "v": bytearray.hex(value)}),
    (list, lambda value, inner: [inner(item) for item in list.__iter__(value)]),
    (tuple, _sequence("tuple", tuple)),
    (set, _sequence("set", set)),
    (frozenset, _sequence("frozenset", frozenset)),
    (collections.deque, _sequence("deque", collections.deque)),
    (collections.Counter, _mapping("Counter", dict)),
    (collections.OrderedDict, _mapping("OrderedDict", collections.OrderedDict)),
    (dict, _mapping("dict", dict)),
    (range, lambda value, _: {"#": "range", "v": [value.start, value.stop, value.step]}),
    (type({}.keys()), lambda value, inner: {"#": "keys", "v": [inner(item) for item in value]}),
    (type({}.values()), lambda value, inner: {"#": "iter", "v": [inner(item) for item in value]}),
    (decimal.Decimal, lambda value, _: {"#": "Decimal", "v": decimal.Decimal.__str__(value)}),
    (
        fractions.Fraction,
        lambda value, _: {"#": "Fraction", "v": [hex(value.numerator), hex(value.denominator)]},
    ),
    (dt.datetime, lambda value, _: {"#": "datetime", "v": dt.datetime.isoformat(value)}),
    (dt.date, lambda value, _: {"#": "date", "v": [value.year, value.month, value.day]}),
    (re.Match, lambda value, _: {"#": "match", "v": 0}),
)


class _Match:
    """Stands for a regular expression's match: true, and equal to itself alone."""


def _builtin_type(name: Any) -> type:
    kind = vars(builtins).get(name)
    if not isinstance(kind, type):
        raise TypeError(f"{name!r} is no builtin type")
    return kind


def decode(form: Any, foreign: Callable[[Any], Any], depth: int = 0) -> Any:
    """The value of a JSON form; ``foreign`` gives what a form of one of ``FOREIGN`` stands for.

    Raises:
        LiteralError: the form is not one that :func:`encode` writes.
    """
    if depth > MAX_DEPTH + 1:
        raise LiteralError("value is nested too deeply")
    if type(form) is list:
        return [decode(item, foreign, depth + 1) for item in form]
    if type(form) is not dict:
        return form
    kind = form.get("#")
    if kind in FOREIGN:
        return foreign(form)
    try:
        return _DECODERS[kind](form["v"], lambda item: decode(item, foreign, depth + 1))
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise LiteralError("no such value") from None


def _pairs(parts: Any, inner: Any) -> list[tuple[Any, Any]]:
    return [(inner(key), inner(value)) for key, value in parts]


_DECODERS: dict[Any, Callable[[Any, Any], Any]] = {
    "int": lambda v, _: int(v, 16),
    "float": lambda v, _: float(v),
    "complex": lambda v, inner: complex(inner(v[0]), inner(v[1])),
    "bytes": lambda v, _: bytes.fromhex(v),
    "bytearray": lambda v, _: bytearray.fromhex(v),
    "tuple": lambda v, inner: tuple(inner(item) for item in v),
    "set": lambda v, inner: {inner(item) for item in v},
    "frozenset": lambda v, inner: frozenset(inner(item) for item in v),
    "deque": lambda v, inner: collections.deque(inner(item) for item in v),
    "Counter": lambda v, inner: collections.Counter(dict(_pairs(v, inner))),
    "OrderedDict": lambda v, inner: collections.OrderedDict(_pairs(v, inner)),
    "dict": lambda v, inner: dict(_pairs(v, inner)),
    "range": lambda v, _: range(*v),
    "keys": lambda v, inner: dict.fromkeys(inner(item) for item in v).keys(),
    "iter": lambda v, inner: iter([inner(item) for item in v]),
    "Decimal": lambda v, _: decimal.Decimal(v),
    "Fraction": lambda v, _: fractions.Fraction(int(v[0], 16), int(v[1], 16)),
    "datetime": lambda v, _: dt.datetime.fromisoformat(v),
    "date": lambda v, _: dt.date(*v),
    "match": lambda v, _: _Match(),
    "type": lambda v, _: _builtin_type(v),
}
