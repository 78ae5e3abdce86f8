"""Pydantic's refusals as place and reason: a missing key is told by name, with the keys that are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

_SHOWN = 8


def place_and_reason(error: ValidationError) -> tuple[str, str]:
    """Of the first thing that is wrong: the dotted key, empty at the top, and what is wrong there."""
    first = error.errors()[0]
    if first["type"] == "missing":
        *above, key = first["loc"]
        return dotted(above), missing_key(str(key), first["input"])
    return dotted(first["loc"]), first["msg"].removeprefix("Value error, ")


def missing_key(key: str, found: object) -> str:
    """``no key 'model' (found: price)``; values are not shown, one may be a secret."""
    if not isinstance(found, Mapping):
        return f"no key {key!r}"
    names = [str(name) for name in found]
    more = " ..." if len(names) > _SHOWN else ""
    return f"no key {key!r} (found: {', '.join(names[:_SHOWN]) or 'no keys'}{more})"


def dotted(parts: Any) -> str:
    return ".".join(map(str, parts))
