"""Problems of the prepared files, and the order in which training sees them."""

from __future__ import annotations

from pathlib import Path

from llm_as_judge.config import Config
from llm_as_judge.data.files import ProblemFile
from llm_as_judge.data.sampler import StratifiedSampler
from llm_as_judge.errors import DataError


def problem_file(path: Path) -> ProblemFile:
    """A unified JSONL file, checked.

    Raises:
        DataError: missing, empty or broken (``file:line``).
    """
    if not path.exists():
        raise DataError(f"{path}: no such file; run: llm-as-judge download, then process")
    return ProblemFile(path)


def problem_sampler(problems: ProblemFile, config: Config) -> StratifiedSampler:
    return StratifiedSampler(
        problems.ids,
        problems.datasets,
        problems.domains,
        config.training.problems_per_step,
        config.training.seed,
    )
