"""Labeled answers: those shipped with the package, and those of a person's own file.

The shipped rows (labeled.jsonl) are written for this project; nothing in them is from a data set.
Each question has right and wrong answers: right ones in other words, notation, order or units; wrong
ones that are near (another number, sign or unit, a neighbor's name, a part of a list, a hedge, a
denial, the answer to another question).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import DataError
from llm_as_judge.judge.rows import AnswerRow, read_answer, read_rows


def shipped_labeled() -> list[Case]:
    """The labeled rows of the package: mathematics, text, multiple choice and code."""
    with resources.as_file(resources.files("llm_as_judge.audit") / "labeled.jsonl") as path:
        return read_labeled(path)


def read_labeled(path: Path) -> list[Case]:
    """Rows of the ``grade`` form with ``correct`` (true or false) and ``source``.

    Raises:
        DataError: rows are broken or have no label.
    """
    cases = read_rows(path, labeled_case)
    if not cases:
        raise DataError(f"{path}: no row; wanted rows of `grade` with 'correct' and 'source'")
    return cases


def labeled_case(row: AnswerRow) -> Case:
    """
    Raises:
        DataError: it is broken or has no label; without its place.
    """
    answer = read_answer(row)
    if not isinstance(row.get("correct"), bool):
        raise DataError("'correct' must be true or false")
    source = str(row.get("source") or "labeled")
    return Case(answer.problem, answer.candidate, row["correct"], source)


def cases_sha256(cases: Iterable[Case]) -> str:
    """Names the cases and their labels, in their order."""
    digest = hashlib.sha256()
    for case in cases:
        line = [case.problem.id, case.problem.answers, case.candidate, case.correct]
        digest.update(json.dumps(line).encode())
    return digest.hexdigest()
