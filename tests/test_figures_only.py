"""A run that is shared without its texts gives the tables of the whole one, and holds no text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.types import (
    Completion,
    Diagnostic,
    Execution,
    Group,
    OperatorCall,
    Problem,
    Program,
    Reward,
    RewardPart,
    Rollout,
    Verdict,
)

ROOT = Path(__file__).parent.parent
TABLE = ("recipes/by_domain.py",)
SECRET = "Natalia sold 48 clips"


def rollout(of: Problem, index: int, total: float, right: bool) -> Rollout:
    valid = index != 2 or of.id.endswith("2")
    source = f"first = 1\nfirst = 1\nreturn await custom(input='{SECRET} {index % 2}')"
    return Rollout(
        of.id,
        index,
        Completion((1, 2), (3,), (-0.5,), f"{SECRET} {index}", "stop"),
        Program(
            source,
            source if valid else "",
            ("Custom",),
            () if valid else (Diagnostic("W101", 1, SECRET, SECRET),),
            hash=f"h{index % 2}" if valid else "",
            worst_case_calls=1,
        ),
        Execution(
            "ok" if valid else "rejected",
            SECRET,
            (OperatorCall("Custom", 50, 10 + index, 0.0, error=SECRET, notes=(SECRET,)),),
            error=SECRET,
        ),
        Verdict(right, "exact", "r", SECRET),
        Reward({"correctness": RewardPart(1.0, 0.65)}, total),
    )


def script(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.slow
def test_tables_are_those_of_the_whole_run_and_no_text_is_kept(tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    log = RunLog(run)
    for step in (1, 2):
        of = Problem(f"gsm8k/{step}", "gsm8k", "math", SECRET, ("48",))
        group = tuple(rollout(of, i, float(i * step), right=i == 0) for i in range(4))
        log.groups(step, [Group(of, group)])
    config = ROOT / "examples" / "learned" / "second_run.yaml"
    (run / "config.yaml").write_text(config.read_text())
    done = script("scripts/figures_only.py", run, out)
    assert done.returncode == 0, done.stderr
    assert "8 rollouts without texts" in done.stdout
    kept = (out / "rollouts.jsonl").read_text()
    assert not any(word in kept for word in ("Natalia", "clips", "custom(", "first"))
    assert json.loads(kept.splitlines()[0])["rollout"]["program"]["operators"] == ["Custom"]
    whole, shared = (script(*TABLE, folder, "--json") for folder in (run, out))
    assert whole.returncode == 0, whole.stderr
    rows, of_shared = (
        [{**row, "run": ""} for row in json.loads(x.stdout)] for x in (whole, shared)
    )
    assert of_shared == rows
    assert len(rows) >= 2


@pytest.mark.slow
def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path) -> None:
    for table, *more in (("scripts/figures_only.py", tmp_path / "out"), TABLE):
        done = script(table, tmp_path, *more)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith("error: ")
        assert str(tmp_path) in line
    assert not (tmp_path / "out").exists()
