"""Examples of a training as files: what a judge would learn from, to look at or to train another with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import DataError
from llm_as_judge.files import write_text
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.training.judge.rows import (
    Counted,
    Sets,
    read_training_rows,
    source_name,
    split_sets,
)

EXAMPLES, HELD_OUT = "examples.jsonl", "held_out.jsonl"
"""Rows to learn from, and rows of the questions kept apart."""


async def write_examples(
    folder: Path, paths: Sequence[Path], *, seed: int, limit: int | None, making: Counted
) -> Sets:
    """The examples of a training as rows of ``grade`` with ``correct``, ``source`` and ``family``; nothing is trained.

    Args:
        making: called with (done, all) of the examples to learn from.
    Raises:
        DataError: rows are broken, or nothing can be made of them.
        OutputError: the folder cannot be written.
    """
    labeled, bare = read_training_rows(paths)
    rules = Judge()
    try:
        sets = await split_sets(labeled, bare, rules, seed=seed, limit=limit, told=making)
    finally:
        await rules.aclose()
    if not sets.learn:
        where = ", ".join(map(str, paths))
        raise DataError(f"{where}: no example can be made; wanted questions with a reference")
    for name, part in ((EXAMPLES, sets.learn), (HELD_OUT, sets.calibrate)):
        rows = (_row(number, graded.case) for number, graded in enumerate(part))
        write_text(folder / name, "".join(json.dumps(row) + "\n" for row in rows))
    return sets


def _row(number: int, case: Case) -> dict[str, object]:
    problem = case.problem
    return {
        "id": f"{number}/{problem.id}",
        "domain": problem.domain,
        "dataset": problem.dataset,
        "question": problem.question,
        "reference": list(problem.answers),
        "candidate": case.candidate,
        "correct": case.correct,
        "source": source_name(case),
        "family": case.category,
    }
