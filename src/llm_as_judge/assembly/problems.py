"""Problems of the prepared files, and the order in which training sees them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from llm_as_judge.config import Config
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.data.files import ProblemFile, encode_problem, how_rows_come
from llm_as_judge.data.process import plugins_of_rows
from llm_as_judge.data.sampler import StratifiedSampler
from llm_as_judge.errors import DataError
from llm_as_judge.files import write_atomically
from llm_as_judge.types import Problem


def problem_file(path: Path) -> ProblemFile:
    """A unified JSONL file, checked.

    Raises:
        DataError: missing, empty or broken (``file:line``), or with rows of a plugin's set that is
            not loaded: they would be graded as if it said nothing of them.
    """
    if not path.exists():
        raise DataError(how_rows_come(path))
    file = ProblemFile(path)
    for name, plugin in plugins_of_rows(path).items():
        if name in file.datasets and name not in CATALOG:
            raise DataError(
                f"{path}:{file.datasets.index(name) + 1}: a row of {name!r}, a data set of the plugin "
                f"{plugin}; name it in the configuration, or --set 'plugins=[{plugin}]'"
            )
    return file


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
