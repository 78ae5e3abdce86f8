"""Answers given as a JSON object: ``{"answer": "18", "unit": "km"}``, bare or in a code fence."""

from __future__ import annotations

import json
import re
from typing import Any

_FENCED = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)
_ANSWER_KEYS = frozenset({"answer", "final answer", "the answer", "result", "final result"})


def answer_in_object(text: str) -> str | None:
    """The answer of a ``text`` that is one JSON object; None if it has none, or several.

    Only a key that says "answer" or "result" counts: what stands under another may be a thought or
    a denial. Numbers are kept as they are written.
    """
    found = {
        value.strip() if isinstance(value, str) else None
        for key, value in _pairs(text)
        if _is_answer(key)
    }
    answer = found.pop() if len(found) == 1 else None
    return answer if answer and "\n" not in answer else None


def answered_twice(text: str) -> list[str]:
    """The values of an answer key that a JSON object has twice with different ones, as they are written; empty
    where it has none. Readers of JSON take the last one, or the first, so the object says neither."""
    by_key: dict[str, list[str]] = {}
    for key, value in _pairs(text):
        if _is_answer(key):
            by_key.setdefault(key, []).append(
                value if isinstance(value, str) else json.dumps(value)
            )
    values = (list(dict.fromkeys(each)) for each in by_key.values())
    return next((each for each in values if len(each) > 1), [])


def is_object(text: str) -> bool:
    """Is ``text`` one JSON object with something in it?"""
    return bool(_pairs(text))


def _is_answer(key: str) -> bool:
    return re.sub(r"[\W_]+", " ", key).strip().casefold() in _ANSWER_KEYS


def _pairs(text: str) -> list[tuple[str, Any]]:
    """Keys and values in order, a key given twice twice; nothing if ``text`` is no JSON object."""
    fenced = _FENCED.fullmatch(text)
    body = fenced.group(1) if fenced else text.strip()
    if not body.startswith("{"):
        return []
    try:
        return list(json.loads(body, object_pairs_hook=list, parse_int=str, parse_float=str))
    except (ValueError, RecursionError):
        return []
