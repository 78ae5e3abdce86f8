"""A judge model's reply, read strictly: either an opinion of the asked form, or unreadable."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from llm_as_judge.quoting import quoted
from llm_as_judge.thoughts import without_thoughts

Word = Literal["correct", "incorrect", "invalid"]

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "candidate_final_answer": {"type": "string", "maxLength": 120},
        "reference_answer": {"type": "string", "maxLength": 80},
        "differences": {"type": "string", "maxLength": 80},
        "verdict": {"type": "string", "enum": ["correct", "incorrect", "invalid"]},
    },
    "required": ["candidate_final_answer", "reference_answer", "differences", "verdict"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Opinion:
    """A readable reply. ``quote`` is what the model says the candidate answers."""

    word: Word
    quote: str
    differences: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reply that is no opinion: ``empty``, ``cut_off``, ``form``, ``quote``, ``endpoint``."""

    kind: str
    detail: str


_TAGGED = {
    key: re.compile(rf"^[ \t*]*{name}[ \t*]*:[ \t*]*(.*?)[ \t*]*$", re.MULTILINE | re.IGNORECASE)
    for key, name in (("quote", "ANSWER"), ("differences", "DIFFERENCES"), ("word", "VERDICT"))
}


def read_opinion(text: str, finish_reason: str, schema: bool) -> Opinion | Unreadable:
    """The opinion in a reply.

    With ``schema`` the last whole JSON object at top level counts; without, the last tagged
    lines do, and the verdict must be the last line: a quoted candidate cannot come after it.
    """
    text = without_thoughts(text).strip()
    if not text:
        return Unreadable("empty", f"finish_reason {finish_reason!r}")
    if finish_reason == "length":
        return Unreadable("cut_off", f"{len(text)} characters")
    return _from_json(text) if schema else _from_lines(text)


def _objects(text: str) -> list[Any]:
    decoder = json.JSONDecoder()
    found, position = [], text.find("{")
    while position >= 0:
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            found.append(value)
        position = text.find("{", end)
    return found


def _from_json(text: str) -> Opinion | Unreadable:
    fenced = re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", text, re.DOTALL)
    try:
        candidates = [json.loads(fenced.group(1) if fenced else text)]
    except (ValueError, RecursionError):
        # Only text before or after one object is forgiven; a cut object has no whole one inside.
        candidates = _objects(text) if text.rstrip().endswith(("}", "```")) else []
    if len(candidates) != 1:
        return Unreadable("form", f"{len(candidates)} JSON objects, wanted one")
    value = candidates[0]
    keys = SCHEMA["required"]
    if not isinstance(value, dict) or any(not isinstance(value.get(key), str) for key in keys):
        return Unreadable("form", "not the object asked for")
    word = value["verdict"].strip().lower()
    if word not in ("correct", "incorrect", "invalid"):
        return Unreadable("form", f"verdict {quoted(word, 40)!r}")
    return Opinion(word, value["candidate_final_answer"], value["differences"])


def _from_lines(text: str) -> Opinion | Unreadable:
    last = text.splitlines()[-1]
    verdict = _TAGGED["word"].match(last)
    word = verdict.group(1).strip(" .*").lower() if verdict else ""
    if word not in ("correct", "incorrect", "invalid"):
        return Unreadable("form", "the last line is no VERDICT line")
    quotes = _TAGGED["quote"].findall(text)
    if not quotes:
        return Unreadable("form", "no ANSWER line")
    differences = _TAGGED["differences"].findall(text)
    return Opinion(word, quotes[-1], differences[-1] if differences else "")  # type: ignore[arg-type]
