"""Rows of one's own: raw record -> Problem."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llm_as_judge.data.fields import field, fields, text, texts
from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.types import Domain, Problem

_DOMAINS: dict[str, Domain] = {"math": "math", "code": "code", "qa": "qa"}


def custom_domain(row: RawRow) -> Domain | None:
    """The domain that a row of one's own names; None if it names none, or is no row."""
    named = row.record.get("type") if isinstance(row.record, dict) else None
    return _DOMAINS.get(named) if isinstance(named, str) else None


def custom(row: RawRow, split: str, dataset: str = "custom") -> Problem:
    """``{"problem", "answer", "type": "math|code|qa"}``, one's own task set.

    ``answer``: a text or number, or a list of accepted ones (QA: an empty list means
    unanswerable). Code: assert statements, with ``entry_point``. Optional: ``context``,
    ``setup_code``, ``visible_tests``, ``id``.
    """
    record = fields(row.record)
    domain = _DOMAINS.get(text(record, "type"))
    if domain is None:
        raise RowError(f"'type' is {record['type']!r}, wanted math, code or qa")
    if "answer" not in record:
        raise RowError(f"no 'answer' (keys: {', '.join(map(str, record))})")
    answers = _custom_answers(record["answer"])
    if not answers and domain != "qa":
        raise RowError("'answer' is empty")
    name = record.get("id", row.number)
    common = Problem(
        id=f"{dataset}/{split}/{name}",
        dataset=dataset,
        domain=domain,
        question=text(record, "problem"),
        context=field(record, "context", str) if "context" in record else "",
    )
    if domain != "code":
        return replace(common, answers=answers)
    return replace(
        common,
        entry_point=text(record, "entry_point"),
        setup_code=field(record, "setup_code", str) if "setup_code" in record else "",
        visible_tests=tuple(texts(record.get("visible_tests", []), "visible_tests")),
        hidden_tests=answers,
    )


def _custom_answers(answer: Any) -> tuple[str, ...]:
    values = answer if isinstance(answer, list) else [answer]
    if not all(isinstance(v, (str, int, float)) and not isinstance(v, bool) for v in values):
        raise RowError("'answer' is not a text, a number or a list of them")
    return tuple(dict.fromkeys(str(v).strip() for v in values if str(v).strip()))
