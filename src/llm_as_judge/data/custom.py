"""Reader of a user's own rows: raw record -> Problem."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from llm_as_judge.data.answer_fields import (
    ANSWER_FIELDS,
    letters_of,
    misspelled,
    read_aliases,
    read_options,
    read_spec,
    require_fitting,
)
from llm_as_judge.data.golds import answer_texts, read_golds, require_no_decimal_comma
from llm_as_judge.data.rows import (
    TABLES,
    RawRow,
    RowError,
    field,
    fields,
    headed,
    read_rows,
    text,
    texts,
)
from llm_as_judge.data.tests import read_tests, tested_function
from llm_as_judge.errors import DataError
from llm_as_judge.told import names
from llm_as_judge.types import Domain, Problem, known_domain


def is_own_row(record: Any) -> bool:
    """Whether a record has the form of one's own rows, and not that of a unified problem."""
    return isinstance(record, dict) and "problem" in record and "question" not in record


def own_rows(rows: Iterable[RawRow], type_: Domain | None) -> Iterator[RawRow]:
    """The rows, of a table by the names of its columns; those that say no type are of ``type_``."""
    for row in headed(rows):
        if type_ and isinstance(row.record, dict) and row.record.get("type") in (None, ""):
            row = replace(row, record={**row.record, "type": type_})
        yield row


_NEEDED = ("problem", "answer", "type")


def types_in(path: Path, type_: Domain | None) -> set[Domain | None]:
    """The types that the rows of one's own file say, or are given; None among them: a row says none.

    Raises:
        DataError: the file cannot be read, or no row at all has a problem, an answer or a type.
    """
    types, found = set[Domain | None](), dict[str, None]()
    for row in own_rows(read_rows(path), type_):
        types.add(custom_domain(row))
        if isinstance(row.record, dict):
            found |= dict.fromkeys(row.record)
    missing = [name for name in _NEEDED if name not in found]
    if found and missing:
        if told := misspelled(found, ALL_FIELDS):
            raise DataError(f"{path}: {told}")
        do = f"wanted {', '.join(_NEEDED)}"
        if path.suffix in (".csv", ".tsv"):
            do += ": columns that the first line names"
        if missing == ["type"]:
            what = "column" if path.suffix in TABLES else "field"
            do = f"write a {what} type with math, qa or code, or give it to all: --type qa"
        told = ", ".join(map(repr, missing))
        raise DataError(f"{path}: no row has {told} (found: {names(found)}); {do}")
    return types


def custom_domain(row: RawRow) -> Domain | None:
    """The domain that a row of one's own names; None if it names none, or is no row."""
    return known_domain(row.record.get("type")) if isinstance(row.record, dict) else None


def custom(row: RawRow, split: str, dataset: str = "custom") -> Problem:
    """``{"problem", "answer", "type": "math|code|qa"}``, one's own task set.

    ``answer``: a text or number, or a list of accepted ones (QA: an empty list means
    unanswerable); of a whole solution the answer at its end is read. Code: one or more texts of
    Python that assert; ``entry_point``, the function to write, may be left out where they call
    one function only. Optional: ``context``, ``id``; code: ``setup_code``, ``visible_tests``,
    ``solution``, which the tests must pass; else: ``options`` and :data:`.ANSWER_FIELDS`.

    Raises:
        RowError: a field is missing or not as wanted, or tests of code that no solution can fail.
    """
    record = fields(row.record)
    _require_no_misspelled(record)
    if missing := [repr(name) for name in _NEEDED if name not in record]:
        raise RowError(f"no {', '.join(missing)} (keys: {names(record)})")
    domain = known_domain(text(record, "type"))
    if domain is None:
        raise RowError(f"'type' is {record['type']!r}, wanted math, code or qa")
    name = record.get("id", row.number)
    common = Problem(
        id=f"{dataset}/{split}/{name}",
        dataset=dataset,
        domain=domain,
        question=text(record, "problem"),
        context=field(record, "context", str) if "context" in record else "",
    )
    if domain != "code":
        return _with_answers(common, record)
    spec = read_spec(record)
    require_fitting(spec, domain, ())
    if said := [name for name in ("aliases", "options") if record.get(name)]:
        raise RowError(f"{said[0]!r} of a code row, which its tests grade; leave it out")
    tests = _tests(record["answer"])
    setup = field(record, "setup_code", str) if "setup_code" in record else ""
    return replace(
        common,
        entry_point=_entry_point(record, tests, setup),
        setup_code=setup,
        visible_tests=tuple(texts(record.get("visible_tests", []), "visible_tests")),
        hidden_tests=tests,
        meta={"reference": text(record, "solution")} if "solution" in record else {},
        spec=spec,
    )


def _with_answers(problem: Problem, record: Mapping[str, Any]) -> Problem:
    """``problem`` with the answers that a row of mathematics or QA accepts, and how it wants them compared."""
    domain = problem.domain
    spec = read_spec(record)
    golds = read_golds(record["answer"], domain, spec.kind)
    if not golds and domain != "qa":
        raise RowError("'answer' is empty")
    require_fitting(spec, domain, golds)
    answers = tuple(dict.fromkeys((*golds, *read_aliases(record))))
    if answers and not golds:
        raise RowError("'aliases' of an answer that is not there; write all into 'answer'")
    options = read_options(record)
    if options:
        if spec.kind not in (None, "choice"):
            raise RowError(f"'kind' is {spec.kind!r}, but a row with 'options' is a choice")
        return replace(problem, answers=letters_of(answers, options), options=options, spec=spec)
    require_no_decimal_comma(answers, domain, spec.kind)
    return replace(problem, answers=answers, spec=spec)


_COMMON = ("problem", "answer", "type", "context", "id")
_CODE = ("entry_point", "setup_code", "visible_tests", "solution")
ALL_FIELDS = (*_COMMON, *_CODE, "options", *ANSWER_FIELDS)
_OF_ANSWERS = frozenset([*_COMMON, "options", *ANSWER_FIELDS])
FIELDS: Mapping[Domain, frozenset[str]] = {
    "math": _OF_ANSWERS,
    "qa": _OF_ANSWERS,
    "code": frozenset([*_COMMON, *_CODE, "kind", "grader"]),
}
"""What is read of a row of one's own."""


def _require_no_misspelled(record: Mapping[str, Any]) -> None:
    if told := misspelled(record, ALL_FIELDS):
        raise RowError(told)


def _entry_point(record: Mapping[str, Any], tests: Sequence[str], setup: str) -> str:
    trees = read_tests(tests, "answer", setup)
    if "entry_point" in record:
        name = text(record, "entry_point")
        nodes = (node for tree in trees for node in ast.walk(tree))
        if not any(isinstance(node, ast.Name) and node.id == name for node in nodes):
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


def _tests(answer: Any) -> tuple[str, ...]:
    given = (text.strip() for text in answer_texts(answer))
    if not (tests := tuple(dict.fromkeys(filter(None, given)))):
        raise RowError("'answer' is empty")
    return tests
