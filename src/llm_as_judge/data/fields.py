"""Fields of an upstream record, checked: what is missing or of another type is a RowError."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from llm_as_judge.data.rows import RowError

_T = TypeVar("_T")


def fields(record: Any) -> Mapping[str, Any]:
    """The record as an object.

    Raises:
        RowError: it is something else.
    """
    if not isinstance(record, dict):
        raise RowError(f"found {type(record).__name__}, wanted an object")
    return record


def field(record: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """One required field, of the type it must have.

    Raises:
        RowError: missing, or of another type.
    """
    if name not in record:
        raise RowError(f"no {name!r} (keys: {', '.join(map(str, record)) or 'none'})")
    value = record[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RowError(f"{name!r} is {type(value).__name__}, wanted {kind.__name__}")
    return value


def text(record: Mapping[str, Any], name: str) -> str:
    """One required text that says something."""
    value = field(record, name, str)
    if not value.strip():
        raise RowError(f"{name!r} is empty")
    return value


def texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not {str}.issuperset(map(type, value)):
        raise RowError(f"{name!r} is not a list of texts")
    return value


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def compact(value: Any) -> str:
    """JSON text for ``meta``."""
    return _encoder.encode(value)


def zipped(left: Any, right: Any, name: str) -> list[tuple[Any, Any]]:
    """Two lists of one length, item by item."""
    if not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
        raise RowError(f"{name!r} has lists of different lengths")
    return list(zip(left, right, strict=True))
