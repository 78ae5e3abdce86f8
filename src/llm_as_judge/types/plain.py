"""Values as plain JSON data, and back with every type checked."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

_OMIT_DEFAULT = "omit default"


def omit_default(default: Any) -> Any:
    """A dataclass field that is left out of the JSON where it has its default: what most values do not
    need stands in none of their files, and in no digest of them."""
    return dataclasses.field(default=default, metadata={_OMIT_DEFAULT: True})


def to_json(value: Any) -> Any:
    """Dataclasses to dicts, tuples to lists, recursively; everything else as it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = ((f, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {
            f.name: to_json(item)
            for f, item in held
            if _OMIT_DEFAULT not in f.metadata or item != f.default
        }
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def from_json(kind: Any, data: Any) -> Any:
    """The inverse of :func:`to_json` for the types of this package.

    Raises:
        TypeError: ``data`` has not the shape of ``kind``; the message names the field.
    """
    return _build(kind, data, where=getattr(kind, "__name__", str(kind)))


def _build(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return data
    if dataclasses.is_dataclass(kind):
        if not isinstance(data, Mapping):
            raise TypeError(f"{where}: found {type(data).__name__}, wanted an object")
        hints = typing.get_type_hints(kind)
        unknown = set(data) - set(hints)
        if unknown:
            raise TypeError(f"{where}: unknown field {sorted(unknown)[0]!r}")
        none = dataclasses.MISSING
        needed = [f for f in dataclasses.fields(kind) if f.init and f.default is none]
        missing = [f.name for f in needed if f.name not in data and f.default_factory is none]
        if missing:
            raise TypeError(f"{where}: no field {missing[0]!r}")
        values = {k: _build(hints[k], v, f"{where}.{k}") for k, v in data.items()}
        try:
            return typing.cast(Any, kind)(**values)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{where}: {error}") from None
    if origin is tuple:
        if not isinstance(data, (list, tuple)):
            raise TypeError(f"{where}: found {type(data).__name__}, wanted a list")
        item = typing.get_args(kind)[0]
        return tuple(_build(item, x, f"{where}[{i}]") for i, x in enumerate(data))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, Mapping):
            raise TypeError(f"{where}: found {type(data).__name__}, wanted an object")
        item = typing.get_args(kind)[1]
        return {str(k): _build(item, v, f"{where}.{k}") for k, v in data.items()}
    if origin is Literal:
        if data not in typing.get_args(kind):
            raise TypeError(f"{where}: found {data!r}, wanted one of {typing.get_args(kind)}")
        return data
    if origin in (typing.Union, types.UnionType):
        if data is None and type(None) in typing.get_args(kind):
            return None
        inner = [arm for arm in typing.get_args(kind) if arm is not type(None)]
        return _build(inner[0], data, where)
    if kind is float and isinstance(data, (int, float)) and not isinstance(data, bool):
        try:
            return float(data)
        except OverflowError:
            raise TypeError(f"{where}: the number is too large") from None
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise TypeError(f"{where}: found {type(data).__name__}, wanted {kind.__name__}")
    return data
