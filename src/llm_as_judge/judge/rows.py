"""The ``grade`` verb's library side: JSONL rows in, verdicts out, in their order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from llm_as_judge.errors import DataError
from llm_as_judge.files import write_text
from llm_as_judge.types import Domain, Problem, Verdict

__all__ = ["Grader", "grade_file", "grade_rows", "read_rows", "row_problem"]

_DOMAINS: Mapping[str, tuple[Domain, str]] = {
    "math": ("math", "math"),
    "qa": ("qa", ""),
    "code": ("code", "code"),
    "squad2": ("qa", "squad2"),
    "hotpotqa": ("qa", "hotpotqa"),
}
_TEXT_FIELDS = ("question", "candidate", "context", "entry_point", "dataset", "setup_code")
_OPEN_SETS = frozenset({"", "nq", "triviaqa", "open"})


class Grader(Protocol):
    """What grades: :class:`llm_as_judge.judge.cascade.Judge` or a stand-in."""

    async def grade(self, problem: Problem, answer: str) -> Verdict: ...


def row_problem(row: Mapping[str, Any], where: str) -> tuple[Problem, str]:
    """(problem, candidate) of one row {id, domain, dataset?, question, reference, candidate,
    context?, entry_point?, tests?, setup_code?, options?}.

    ``reference`` is a text or a list of accepted texts; empty = unanswerable. In an open QA row
    without context a text may hold several accepted answers between slashes, as the open QA
    collections do.

    Raises:
        DataError: the message starts with ``where``.
    """
    for key in ("id", "domain", "candidate"):
        if key not in row:
            raise DataError(f"{where}: no {key!r} (keys: {', '.join(sorted(row)) or 'none'})")
    domain = row["domain"]
    if not isinstance(domain, str) or domain not in _DOMAINS:
        raise DataError(f"{where}: domain {domain!r}, wanted one of math, qa, code")
    for key in _TEXT_FIELDS:
        if not isinstance(row.get(key, ""), str):
            found = type(row[key]).__name__
            raise DataError(f"{where}: {key!r} is {found}, wanted a text")
    kind, named = _DOMAINS[domain]
    dataset = row.get("dataset") or named
    answers = _answers(row, where)
    if kind == "qa" and not row.get("context") and dataset in _OPEN_SETS:
        answers = _with_aliases(answers, isinstance(row.get("reference"), str))
    if kind == "code" and not row.get("tests"):
        raise DataError(f"{where}: a code row needs 'tests' (list of Python sources)")
    return (
        Problem(
            id=str(row["id"]),
            dataset=dataset or kind,
            domain=kind,
            question=row.get("question", ""),
            answers=answers if kind != "code" else (),
            context=row.get("context", ""),
            options=_strings(row, "options", where),
            entry_point=row.get("entry_point", ""),
            setup_code=row.get("setup_code", ""),
            hidden_tests=_strings(row, "tests", where),
        ),
        row["candidate"],
    )


def _answers(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    reference = row.get("reference", "")
    if isinstance(reference, (int, float)) and not isinstance(reference, bool):
        reference = str(reference)
    golds = [reference] if isinstance(reference, str) else reference
    if not isinstance(golds, list) or not all(isinstance(gold, str) for gold in golds):
        raise DataError(f"{where}: 'reference' must be a text or a list of texts")
    kept = tuple(dict.fromkeys(gold for gold in golds if gold.strip()))
    if not kept and row["domain"] == "math":
        raise DataError(f"{where}: a math row needs a reference")
    return kept


def _with_aliases(answers: tuple[str, ...], split: bool) -> tuple[str, ...]:
    if not split or len(answers) != 1 or "/" not in answers[0]:
        return answers
    parts = [part.strip() for part in answers[0].split("/")]
    if any(not part or part.isdigit() for part in parts):
        return answers
    return tuple(dict.fromkeys((*answers, *parts)))


def _strings(row: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = row.get(key) or []
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DataError(f"{where}: {key!r} must be a text or a list of texts")
    return tuple(value)


def read_rows(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """(``file:line``, row) of every line that is not blank.

    Raises:
        DataError: no such file, not UTF-8, not JSON, not an object, an id that came before.
    """
    rows: list[tuple[str, dict[str, Any]]] = []
    seen: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: not JSON ({error})") from None
        if not isinstance(row, dict):
            raise DataError(f"{where}: {type(row).__name__}, wanted an object")
        key = str(row.get("id"))
        if "id" in row and key in seen:
            raise DataError(f"{where}: id {key!r} again (first at {seen[key]})")
        seen[key] = where
        rows.append((where, row))
    return rows


async def grade_rows(
    rows: Iterable[tuple[str, Mapping[str, Any]]], judge: Grader, concurrency: int = 16
) -> AsyncIterator[dict[str, Any]]:
    """{id, correct, stage, rule, explanation, score} of every row, in order.

    All rows are checked before the first is graded.

    Raises:
        DataError: a row is broken; the message starts with its ``file:line``.
    """
    problems = [row_problem(row, where) for where, row in rows]
    limit = asyncio.Semaphore(concurrency)

    async def one(problem: Problem, candidate: str) -> dict[str, Any]:
        async with limit:
            verdict = await judge.grade(problem, candidate)
        return {
            "id": problem.id,
            "correct": verdict.correct,
            "stage": verdict.stage,
            "rule": verdict.rule,
            "explanation": verdict.explanation,
            "score": verdict.score,
        }

    tasks = [asyncio.ensure_future(one(problem, text)) for problem, text in problems]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def grade_file(
    in_path: Path,
    out_path: Path,
    judge: Grader,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, int]:
    """Grades ``in_path`` into ``out_path``, which appears only when complete.

    Args:
        progress: called with (rows done, rows in all).
    Returns:
        Counts: rows, correct, incorrect, not_graded.
    Raises:
        DataError: a row of ``in_path`` is broken. OutputError: ``out_path`` cannot be written.
    """
    rows = read_rows(in_path)
    counts = {"rows": len(rows), "correct": 0, "incorrect": 0, "not_graded": 0}
    keys = {True: "correct", False: "incorrect", None: "not_graded"}
    lines = []
    async for verdict in grade_rows(rows, judge):
        counts[keys[cast("bool | None", verdict["correct"])]] += 1
        lines.append(json.dumps(verdict, ensure_ascii=False))
        if progress is not None:
            progress(len(lines), len(rows))
    write_text(out_path, "".join(line + "\n" for line in lines))
    return counts
