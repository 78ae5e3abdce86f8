"""Problems for benchmarks: the upstream files beside the checkout, else the built-in sample.

from real_problems import real_problems
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from llm_as_judge.config import DATASETS, OutputConfig
from llm_as_judge.data.download import acquire
from llm_as_judge.data.files import ProblemFile
from llm_as_judge.data.process import process
from llm_as_judge.types import Problem

UPSTREAM = Path(__file__).resolve().parents[1].parent / "shared" / "data"


def real_problems(limit_per_set: int, source: Path = UPSTREAM) -> dict[str, list[Problem]]:
    """Train problems of the six sets by set, at most ``limit_per_set`` (seeded sample); prints
    where they come from."""
    with tempfile.TemporaryDirectory() as folder:
        raw, found = Path(folder) / "raw", source if source.is_dir() else None
        acquire(raw, found, False, OutputConfig().cache_dir(), sets=DATASETS)
        process(
            raw, Path(folder), sets=DATASETS, limit_per_set=limit_per_set * 6 // 5, val_fraction=0
        )
        files = {name: Path(folder) / "processed" / f"{name}_train.jsonl" for name in DATASETS}
        problems = {name: list(ProblemFile(path))[:limit_per_set] for name, path in files.items()}
    counts = ", ".join(f"{name} {len(rows)}" for name, rows in problems.items())
    print(f"problems from {'upstream files' if found else 'the built-in sample'}: {counts}")
    return problems
