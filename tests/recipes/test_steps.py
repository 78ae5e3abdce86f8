"""A run ten steps at a time, worked by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from llm_as_judge.errors import ConfigError
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


def called(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "recipes" / "steps.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_can_be_mended_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("")
    done = called(str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"{tmp_path}/metrics.jsonl: no step in it" in done.stderr
    with pytest.raises(ConfigError, match="--every 0: wanted 1 or more"):
        windows(STEPS, 0)


def test_the_recipe_prints_a_table_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(step) + "\n" for step in STEPS))
    done = called(str(tmp_path), "--markdown")
    assert done.returncode == 0
    assert "| 1-3 | - | 75% |" in done.stdout
    assert "mixed groups" in done.stdout


def test_several_runs_are_one_table_with_their_names(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        lines = "".join(json.dumps(step) + "\n" for step in STEPS)
        (tmp_path / name / "metrics.jsonl").write_text(lines)
    done = called(str(tmp_path / "first"), str(tmp_path / "second"), "--every", "2", "--markdown")
    assert done.returncode == 0
    assert "| first | 1-2 | - | 75% |" in done.stdout
    assert "| second | 3-3 | - | - |" in done.stdout
