"""Rows of ``grade``: JSONL in, verdicts out, in their order.

docs/grading.md describes the rows; :func:`read_answer` is what reads one.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from llm_as_judge.data.answer_fields import (
    ANSWER_FIELDS,
    misspelled,
    read_aliases,
    read_spec,
    require_fitting,
)
from llm_as_judge.data.custom import ALL_FIELDS
from llm_as_judge.data.golds import as_text, markers_of, read_golds, require_no_decimal_comma
from llm_as_judge.data.rows import ARRAY, TABLES, RowError, json_row
from llm_as_judge.data.tests import read_tests, tested_function
from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.files import require_writable, write_text
from llm_as_judge.grading.choice import gold_options
from llm_as_judge.grading.graders import FAILED, failed_as_open
from llm_as_judge.grading.squad import Facts, prediction, span_scores
from llm_as_judge.judge.scoring import UNSURE
from llm_as_judge.told import invalid_utf8, told_once
from llm_as_judge.types import (
    DATASET_INFO,
    DOMAINS,
    AnswerKind,
    Domain,
    Problem,
    Verdict,
    dataset_info,
)

_KINDS: Mapping[str, Domain] = {
    **{domain: domain for domain in DOMAINS},
    **{info.name: info.domain for info in DATASET_INFO.values() if info.has_text_scores},
}
"""What a row may call its domain: a set with scores of its own stands for its domain, too."""
_TEXT_FIELDS = ("question", "candidate", "context", "entry_point", "dataset", "setup_code")
_FIELDS = (
    *(
        "id",
        "domain",
        "reference",
        "candidate",
        "options",
        "tests",
        "supporting_facts",
        "predicted_facts",
    ),
    *_TEXT_FIELDS,
    *ANSWER_FIELDS,
)
_TOLD = ("correct", "stage", "rule", "explanation", "score")
_SHOWN = 20
"""Broken rows that are told; a file of another form has as many as it has lines."""

AnswerRow = Mapping[str, Any]
Read = TypeVar("Read")


class Grader(Protocol):
    """What grades: :class:`llm_as_judge.judge.cascade.Judge` or a stand-in."""

    async def grade(self, problem: Problem, answer: str) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What a row asks to be graded. ``facts``: HotpotQA, the predicted supporting facts."""

    problem: Problem
    candidate: str
    facts: Facts | None = None
    read_of_solution: bool = False
    """Is the reference a whole solution, of which the answer is read?"""


def read_answer(row: AnswerRow) -> Answer:
    """The answer of one row {id, domain, dataset?, question, reference, candidate, context?,
    options?, kind?, tolerance?, unit?, aliases?, grader?, entry_point?, tests?, setup_code?,
    supporting_facts?, predicted_facts?}.

    ``reference`` is a text or a list of accepted texts; empty = unanswerable; of a whole solution
    the answer at its end is read. In an open QA row without context a text may hold several
    accepted answers between slashes, as the open QA collections do.

    Raises:
        DataError: what is wrong with the row, without its place.
    """
    try:
        return _answer(row)
    except RowError as error:
        raise DataError(str(error)) from None


def _answer(row: AnswerRow) -> Answer:
    if told := misspelled(row, _FIELDS):
        raise DataError(told)
    for key in ("id", "domain", "candidate"):
        if key not in row:
            raise DataError(f"no {key!r} (keys: {', '.join(sorted(row)) or 'none'})")
    domain = row["domain"]
    if not isinstance(domain, str) or domain not in _KINDS:
        raise DataError(f"domain {domain!r}, wanted one of {', '.join(_KINDS)}")
    for key in _TEXT_FIELDS:
        if not isinstance(row.get(key, ""), str):
            raise DataError(f"{key!r} is {type(row[key]).__name__}, wanted a text")
    kind = _KINDS[domain]
    dataset = row.get("dataset") or ("" if domain == kind else domain)
    spec = read_spec(row)
    answers = _answers(row, kind, spec.kind)
    require_fitting(spec, kind, answers)
    if kind == "qa" and not row.get("context") and _may_have_aliases(dataset):
        answers = _with_aliases(answers, isinstance(row.get("reference"), str))
    answers = (*answers, *(alias for alias in read_aliases(row) if alias not in answers))
    if kind == "code" and not row.get("tests"):
        raise DataError("a code row needs 'tests' (list of Python sources)")
    meta = {}
    if kind == "code" and answers:
        meta["reference"] = answers[0]
    if (gold_facts := _facts(row, "supporting_facts")) is not None:
        meta["supporting_facts"] = json.dumps(gold_facts)
    problem = Problem(
        id=str(row["id"]),
        dataset=dataset or kind,
        domain=kind,
        question=row.get("question", ""),
        answers=answers if kind != "code" else (),
        context=row.get("context", ""),
        options=_strings(row, "options"),
        entry_point=_tested(row) if kind == "code" else "",
        setup_code=row.get("setup_code", ""),
        hidden_tests=_strings(row, "tests"),
        meta=meta,
        spec=spec,
    )
    _require_an_option(problem)
    return Answer(
        problem,
        row["candidate"],
        _facts(row, "predicted_facts"),
        kind != "code" and bool(markers_of(row.get("reference"))),
    )


def _tested(row: AnswerRow) -> str:
    """What the tests of a code row call. The row's own fault must not be graded as the candidate's."""
    tests = read_tests(_strings(row, "tests"), "tests", row.get("setup_code", ""))
    return row.get("entry_point") or tested_function(tests, row.get("setup_code", ""))


def _answers(row: AnswerRow, domain: Domain, kind: AnswerKind | None) -> tuple[str, ...]:
    reference = row.get("reference", "")
    golds = reference if isinstance(reference, list) else [reference]
    read = [as_text(gold, "reference") for gold in golds]
    texts = [text for text in read if text is not None]
    if len(texts) < len(read):
        raise DataError("'reference' must be a text or a list of texts")
    kept = tuple(dict.fromkeys(text for text in texts if text.strip()))
    if domain == "code":
        return kept
    if not kept and domain == "math":
        raise DataError("a math row needs a reference")
    read_answers = read_golds(list(kept), domain, kind, "reference")
    if domain == "math":
        require_no_decimal_comma(read_answers, domain, kind, "reference", bare=False)
    return read_answers


def _may_have_aliases(dataset: str) -> bool:
    """Open QA rows, those of no set among them."""
    return not dataset or dataset_info(dataset, "qa").slash_aliases


def _with_aliases(answers: tuple[str, ...], split: bool) -> tuple[str, ...]:
    if not split or len(answers) != 1 or "/" not in answers[0]:
        return answers
    parts = [part.strip() for part in answers[0].split("/")]
    if any(not part or part.isdigit() for part in parts):
        return answers
    return tuple(dict.fromkeys((*answers, *parts)))


def _require_an_option(problem: Problem) -> None:
    """
    Raises:
        DataError: no gold answer is one of the options that the row gives apart.
    """
    if problem.options and not gold_options(problem, problem.options):
        last = chr(ord("A") + len(problem.options) - 1)
        raise DataError(
            f"with 'options' the reference is a letter, here A-{last}, or the text of an option"
        )


def _strings(row: AnswerRow, key: str) -> tuple[str, ...]:
    value = row.get(key) or []
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DataError(f"{key!r} must be a text or a list of texts")
    return tuple(value)


def _facts(row: AnswerRow, key: str) -> Facts | None:
    """Pairs of title and sentence number; None where there are none."""
    value = row.get(key)
    if value is None:
        return None
    pairs: list[Any] = value if isinstance(value, list) else [None]
    for pair in pairs:
        whole = isinstance(pair, list) and len(pair) == 2
        if not (whole and isinstance(pair[0], str) and type(pair[1]) is int):
            raise DataError(f"{key!r} must be a list of [title, sentence number]")
    return [(title, number) for title, number in pairs]


def read_rows(path: Path, read: Callable[[AnswerRow], Read]) -> list[Read]:
    """What ``read`` makes of every line that is not blank; see :func:`placed_rows`."""
    return [value for _, value in placed_rows(path, read)]


def placed_rows(path: Path, read: Callable[[AnswerRow], Read]) -> list[tuple[str, Read]]:
    """What ``read`` makes of every line that is not blank, each with its place, ``file:line``.

    Raises:
        DataError: no such file, not UTF-8; or what :func:`refuse_rows` says of the rows that are
            no JSON object, have an id that came before, or that ``read`` refuses.
    """
    found: list[tuple[str, Read]] = []
    broken: list[tuple[str, str]] = []
    seen: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            row = _from_own_task(_object(line), number)
            _require_new_id(row, seen, number)
            found.append((f"{path}:{number}", read(row)))
        except DataError as error:
            broken.append((f"{path}:{number}", str(error)))
    refuse_rows(broken)
    return found


def refuse_rows(broken: Sequence[tuple[str, str]]) -> None:
    """
    Args:
        broken: ``file:line`` and reason of each broken row.
    Raises:
        DataError: there are some; the first 20 kinds are told.
    """
    if broken:
        told = told_once(broken)
        more = [f"and {len(told) - _SHOWN} more kinds of broken rows"] if len(told) > _SHOWN else []
        raise DataError("\n".join([*told[:_SHOWN], *more]))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    if path.suffix in TABLES and path.is_file():
        raise DataError(
            f"{path}: a table, wanted JSON lines: one object a line with id, domain, question, reference, candidate "
            "(docs/grading.md)"
        )
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {invalid_utf8(error.object, error.start)}") from None
    found = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if found and found[0][1].lstrip().startswith("["):
        raise DataError(f"{path}:{found[0][0]}: {ARRAY}")
    return iter(found)


def _object(line: str) -> AnswerRow:
    try:
        row = json_row(line)
    except RowError as error:
        raise DataError(str(error)) from None
    if not isinstance(row, dict):
        raise DataError(f"{type(row).__name__}, wanted an object")
    return row


def _from_own_task(row: AnswerRow, number: int) -> AnswerRow:
    """A row of one's own task set, {problem, answer, type}, with a candidate, in the form of these
    rows; its id is that of its line where it has none."""
    if "problem" not in row or "question" in row:
        return row
    if told := misspelled(row, (*ALL_FIELDS, *_FIELDS)):
        raise DataError(told)
    gold = "tests" if row.get("type") == "code" else "reference"
    names = {"problem": "question", "answer": gold, "type": "domain", "solution": "reference"}
    return {"id": str(number), **{names.get(key, key): value for key, value in row.items()}}


def _require_new_id(row: AnswerRow, seen: dict[str, int], number: int) -> None:
    key = str(row.get("id"))
    if "id" in row and key in seen:
        raise DataError(f"id {key!r} again (first in line {seen[key]})")
    seen[key] = number


async def grade_answers(
    answers: Sequence[Answer], judge: Grader, concurrency: int = 16
) -> AsyncIterator[Verdict]:
    """The verdict on every answer, in order."""
    limit = asyncio.Semaphore(concurrency)

    async def one(answer: Answer) -> Verdict:
        async with limit:
            return await failed_as_open(judge.grade(answer.problem, answer.candidate))

    tasks = [asyncio.ensure_future(one(answer)) for answer in answers]
    try:
        for task in tasks:
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _line(answer: Answer, verdict: Verdict) -> dict[str, Any]:
    """For SQuAD 2.0 and HotpotQA with ``metrics``, the official scores; with ``confidence`` where the judge knows one."""
    problem = answer.problem
    line: dict[str, Any] = {"id": problem.id}
    line |= {key: getattr(verdict, key) for key in _TOLD}
    if verdict.confidence is not None:
        line["confidence"] = verdict.confidence
    if problem.dataset_info.has_text_scores:
        predicted = prediction(problem, answer.candidate)
        line["metrics"] = span_scores(problem, predicted, answer.facts)
    return line


@dataclass(frozen=True, slots=True)
class GradedRows:
    """What came of a file: numbers of rows, and :func:`judge_failure` of its verdicts."""

    rows: int
    correct: int
    incorrect: int
    not_graded: int
    failed: int = 0
    """Of those not graded: their grader raised."""
    judge_failure: str = ""


def judge_failure(verdicts: Sequence[Verdict]) -> str:
    """Why a judge's model was of no use: it was asked, gave no readable reply to any answer, and failed
    each time for the same reason, its figures aside. Empty otherwise."""
    asked = [v for v in verdicts if v.stage == "llm"]
    if any(v.correct is not None or v.rule == UNSURE for v in asked):
        return ""
    reasons = {re.sub(r"\d+(\.\d+)?", "N", v.explanation): v.explanation for v in asked}
    return reasons.popitem()[1] if len(reasons) == 1 else ""


async def grade_file(
    in_path: Path,
    out_path: Path,
    judge: Grader,
    progress: Callable[[int, int], None] | None = None,
) -> GradedRows:
    """Grades ``in_path`` into ``out_path``, which appears only when complete.

    Args:
        progress: called with (rows done, rows in all).
    Raises:
        DataError: rows of ``in_path`` are broken; nothing was graded then.
        OutputError: ``out_path`` cannot be written.
    """
    if out_path.exists() and (out_path.is_dir() or out_path.samefile(in_path)):
        what = "a folder" if out_path.is_dir() else "the input"
        raise OutputError(f"{out_path}: is {what}; name another file for the verdicts")
    require_writable(out_path.parent)
    answers = read_rows(in_path, read_answer)
    verdicts: list[Verdict] = []
    lines = []
    async for verdict in grade_answers(answers, judge):
        lines.append(json.dumps(_line(answers[len(verdicts)], verdict), ensure_ascii=False))
        verdicts.append(verdict)
        if progress is not None:
            progress(len(lines), len(answers))
    write_text(out_path, "".join(line + "\n" for line in lines))
    counts = Counter(verdict.correct for verdict in verdicts)
    return GradedRows(
        rows=len(lines),
        correct=counts[True],
        incorrect=counts[False],
        not_graded=counts[None],
        failed=sum(verdict.rule == FAILED for verdict in verdicts),
        judge_failure=judge_failure(verdicts),
    )
