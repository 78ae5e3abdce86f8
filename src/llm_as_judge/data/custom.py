"""Rows of one's own: raw record -> Problem."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from llm_as_judge.data.fields import field, fields, text, texts
from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.data.tests import read_tests, tested_function
from llm_as_judge.types import Domain, Problem, known_domain


def is_own_row(record: Any) -> bool:
    """Whether a record has the form of one's own rows, and not that of a unified problem."""
    return isinstance(record, dict) and "problem" in record and "question" not in record


def custom_domain(row: RawRow) -> Domain | None:
    """The domain that a row of one's own names; None if it names none, or is no row."""
    return known_domain(row.record.get("type")) if isinstance(row.record, dict) else None


def custom(row: RawRow, split: str, dataset: str = "custom") -> Problem:
    """``{"problem", "answer", "type": "math|code|qa"}``, one's own task set.

    ``answer``: a text or number, or a list of accepted ones (QA: an empty list means
    unanswerable). Code: one or more texts of Python that assert; ``entry_point``, the function
    to write, may be left out where they call one function only. Optional: ``context``, ``id``;
    code: ``setup_code``, ``visible_tests``, ``solution``, which the tests must pass.

    Raises:
        RowError: a field is missing or not as wanted, or tests of code that no solution can fail.
    """
    record = fields(row.record)
    _require_no_misspelled(record)
    if missing := [repr(name) for name in ("problem", "answer", "type") if name not in record]:
        keys = ", ".join(map(str, record)) or "none"
        raise RowError(f"no {', '.join(missing)} (keys: {keys})")
    domain = known_domain(text(record, "type"))
    if domain is None:
        raise RowError(f"'type' is {record['type']!r}, wanted math, code or qa")
    answers = _custom_answers(record["answer"])
    if not answers and domain != "qa":
        raise RowError("'answer' is empty")
    if domain == "math":
        _require_no_decimal_comma(answers)
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
    setup = field(record, "setup_code", str) if "setup_code" in record else ""
    return replace(
        common,
        entry_point=_entry_point(record, answers, setup),
        setup_code=setup,
        visible_tests=tuple(texts(record.get("visible_tests", []), "visible_tests")),
        hidden_tests=answers,
        meta={"reference": text(record, "solution")} if "solution" in record else {},
    )


_DECIMAL_COMMA = re.compile(
    r"\D{0,5}(?:\d{1,3}(?:\.\d{3})+|\d+),\d{1,2}(?:\s?[^\W\d]{1,12}|\s?[%$€£])?"
)


def _require_no_decimal_comma(answers: Sequence[str]) -> None:
    """No rule would find such a number again in "56.28"."""
    for answer in answers:
        if _DECIMAL_COMMA.fullmatch(answer.strip()):
            point = answer.strip().replace(".", "").replace(",", ".")
            listed = answer.strip().replace(",", ", ")
            raise RowError(
                f"'answer' {answer!r} has a decimal comma; write {point!r}, or {listed!r} if it is a list"
            )


_FIELDS = (
    "problem",
    "answer",
    "type",
    "context",
    "id",
    "entry_point",
    "setup_code",
    "visible_tests",
    "solution",
)


def _require_no_misspelled(record: Mapping[str, Any]) -> None:
    """Other fields are one's own business, unless they read like one that is then not there."""
    absent = [name for name in _FIELDS if name not in record]
    for name in record:
        near = difflib.get_close_matches(str(name), absent, n=1, cutoff=0.85)
        if name not in _FIELDS and near:
            raise RowError(f"unknown field {name!r}; did you mean {near[0]!r}?")


def _entry_point(record: Mapping[str, Any], tests: Sequence[str], setup: str) -> str:
    trees = read_tests(tests, "answer", setup)
    if "entry_point" in record:
        name = text(record, "entry_point")
        if not any(isinstance(node, ast.Name) and node.id == name for node in _nodes(trees)):
            raise RowError(f"no assert of 'answer' uses the entry point {name!r}")
    else:
        name = tested_function(trees, setup)
    _require_named(text(record, "problem"), name)
    return name


_CALLED = re.compile(r"\b([^\W\d]\w*)\(")
_ASKED_FOR = re.compile(
    r"\b(?:write|implement|define|complete|create)\s+(?:an?\s+|the\s+)?(?:python\s+)?(?:function\s+)?"
    r"(?:called\s+|named\s+)?[`'\"]?([^\W\d]\w*)\(",
    re.IGNORECASE,
)


def _require_named(problem: str, function: str) -> None:
    """A solver of "Write dedupe(items)" fails tests that call ``dedup``."""
    if function in re.findall(r"\w+", problem):
        return
    asked = _ASKED_FOR.findall(problem)
    near = difflib.get_close_matches(function, _CALLED.findall(problem), n=1, cutoff=0.75)
    if named := [*asked, *near]:
        raise RowError(f"'problem' names {named[0]!r}, the tests call {function!r}; use one name")


def _nodes(trees: Sequence[ast.Module]) -> list[ast.AST]:
    return [node for tree in trees for node in ast.walk(tree)]


def _custom_answers(answer: Any) -> tuple[str, ...]:
    values = answer if isinstance(answer, list) else [answer]
    if not all(isinstance(v, (str, int, float)) and not isinstance(v, bool) for v in values):
        raise RowError("'answer' is not a text, a number or a list of them")
    return tuple(dict.fromkeys(str(v).strip() for v in values if str(v).strip()))
