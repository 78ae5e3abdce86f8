"""A run ten steps at a time, worked by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from llm_as_judge.errors import DataError
from steps import windows

ROOT = Path(__file__).resolve().parents[2]
STEPS = [
    {"step": 1, "accuracy/all": 0.5, "update/groups": 3, "update/groups_without_variance": 1},
    {"step": 2, "accuracy/all": 1.0, "update/groups": 0, "update/groups_without_variance": 0},
    {"step": 3, "rollout/distinct_programs": 0.25},
]


def test_windows_are_means_of_the_steps_that_have_the_figure() -> None:
    first, last = windows(STEPS, 2)
    assert (first.steps, last.steps) == ("1-2", "3-3")
    assert (first.means["right"], first.means["mixed groups"], first.means["differ"]) == (
        0.75,
        0.75,
        None,
    )
    assert (last.means["right"], last.means["differ"]) == (None, 0.25)


def test_no_step_is_one_line() -> None:
    with pytest.raises(DataError, match="no step in it"):
        windows([], 10)


def test_the_recipe_prints_a_table_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(step) + "\n" for step in STEPS))
    done = subprocess.run(
        [sys.executable, str(ROOT / "recipes" / "steps.py"), str(tmp_path), "--markdown"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "| 1-3 | - | 75% |" in done.stdout
    assert "mixed groups" in done.stdout
