"""Rows of one's own as a file, rows to evaluate, and the order in which training sees rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from llm_as_judge.config import Config
from llm_as_judge.config.reading import options_of
from llm_as_judge.data.files import ProblemFile, encode_problem
from llm_as_judge.data.mix import StratifiedSampler
from llm_as_judge.data.selection import RowOptions
from llm_as_judge.errors import DataError
from llm_as_judge.files import write_atomically
from llm_as_judge.types import Problem
from llm_as_judge.workflow.program import ProgramOptions


def rows_file(rows: Iterable[Problem | Mapping[str, Any]], folder: Path) -> Path:
    """A file below ``folder`` of problems, or of rows of one's own, named by what is in it.

    Raises:
        DataError: a row that cannot be written.
    """
    lines = b"".join(_line(row, number) for number, row in enumerate(rows, start=1))
    path = folder / hashlib.sha256(lines).hexdigest()[:16] / "rows.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as stream:
        stream.write(lines)
    return path


def _line(row: Problem | Mapping[str, Any], number: int) -> bytes:
    try:
        if isinstance(row, Problem):
            return encode_problem(row)
        return json.dumps(dict(row), ensure_ascii=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise DataError(f"train_dataset: row {number}: {error} (own rows: docs/DATA.md)") from None


def problem_sampler(problems: ProblemFile, config: Config) -> StratifiedSampler:
    training = config.training
    rows = (problems.ids, problems.datasets, problems.domains)
    return StratifiedSampler(*rows, training.problems_per_step, training.seed)


def row_options(config: Config) -> RowOptions:
    return options_of(RowOptions, config.data, config.evaluation, data_sets=config.data.sets)


def program_options(config: Config) -> ProgramOptions:
    workflow = config.workflow
    return ProgramOptions(
        max_calls=workflow.max_worst_case_calls,
        drawn_calls=workflow.most_calls,
        executors=tuple(config.executors),
        operators=config.sampling.operators,
    )
