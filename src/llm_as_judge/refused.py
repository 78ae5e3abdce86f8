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


_WANTED: Mapping[str, str] = {
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "an integer"
    ),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "string_type": "a text",
    "path_type": "a path",
    "none_required": "null",
    **dict.fromkeys(("tuple_type", "list_type"), "a list in brackets, e.g. [one] or [one, two]"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"),
        "keys and values",
    ),
    **dict.fromkeys(("literal_error", "enum"), "{expected}"),
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
}
"""Kind of refusal -> what was wanted."""


def wanted_of(refusal: Mapping[str, Any]) -> str:
    """What follows ``found VALUE``: ``, wanted an integer``, or what a check of our own says."""
    wanted = _WANTED.get(refusal["type"])
    if wanted is None:
        return f"; {refusal['msg'].removeprefix('Value error, ')}"
    limits = {
        name: f"{limit:g}" if isinstance(limit, float) else limit
        for name, limit in refusal.get("ctx", {}).items()
    }
    return f", wanted {wanted.format(**limits)}"


def missing_key(key: str, found: object) -> str:
    """``no key 'model' (found: price)``; values are not shown, one may be a secret."""
    if not isinstance(found, Mapping):
        return f"no key {key!r}"
    names = [str(name) for name in found]
    more = " ..." if len(names) > _SHOWN else ""
    return f"no key {key!r} (found: {', '.join(names[:_SHOWN]) or 'no keys'}{more})"


def dotted(parts: Any) -> str:
    return ".".join(map(str, parts))
