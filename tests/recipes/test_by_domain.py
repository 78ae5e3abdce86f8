"""A run by domain, worked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from evaluation_values import LATE, MENDED, OPEN, WRONG, problem, rollout

from by_domain import rows_by_domain, runs_of
from llm_as_judge.accuracy import Accuracy
from llm_as_judge.errors import DataError
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.statistics import wilson
from llm_as_judge.types import Group, Program, Reward


def run(folder: Path) -> Path:
    """Step 1: mathematics right and late; steps 2 and 3: qa wrong, qa not graded."""
    log = RunLog(folder)
    math, qa = problem(0), problem(1, "squad2", "qa")
    late = rollout(math, LATE, WRONG, program=MENDED, index=1)
    rewarded = replace(rollout(math), reward=Reward({}, 9.0))
    log.groups(1, [Group(math, (rewarded, late))])
    log.groups(2, [Group(qa, (rollout(qa, verdict=WRONG),))])
    log.groups(3, [Group(qa, (rollout(qa, verdict=OPEN),))])
    return folder


def test_figures_by_domain_and_part_worked_by_hand(tmp_path: Path) -> None:
    rows = rows_by_domain(run(tmp_path / "train_x"), parts=3)
    assert [(r.steps, r.domain, r.rollouts) for r in rows] == [
        ("1-1", "math", 2),
        ("1-1", "all", 2),
        ("2-2", "qa", 1),
        ("2-2", "all", 1),
        ("3-3", "qa", 1),
        ("3-3", "all", 1),
    ]
    first = rows[0]
    assert (first.run, first.strictly_valid, first.executed) == ("train_x", 0.5, 0.5)
    assert (first.reward, first.calls, first.tokens) == (9.0, 3.0, 60.0)
    # two programs, one problem
    assert first.accuracy == Accuracy(0.5, 0.5, *wilson(0.5, 1), 1)
    assert first.operators == ("Custom 50%",)
    assert rows[2].accuracy == Accuracy(0.0, 0.0, *wilson(0, 1), 1)
    assert rows[2].reward is None
    assert rows[4].accuracy == Accuracy(0.0, 1.0, 0.0, 1.0, 1, 1)  # left open


def test_parts_are_of_equal_size_and_no_more_than_steps(tmp_path: Path) -> None:
    folder = run(tmp_path)
    assert {r.steps for r in rows_by_domain(folder, parts=2)} == {"1-2", "3-3"}
    assert {r.steps for r in rows_by_domain(folder, parts=1)} == {"1-3"}
    assert {r.steps for r in rows_by_domain(folder, parts=99)} == {"1-1", "2-2", "3-3"}


def test_a_run_is_found_by_folder_file_or_log_name(tmp_path: Path) -> None:
    folder = run(tmp_path / "logs" / "train_m_1")
    other = run(tmp_path / "logs" / "train_m_2")
    (folder / "train.log").write_text("said")
    assert runs_of([folder]) == runs_of([folder / "train.log"]) == [folder]
    assert runs_of([folder / "rollouts.jsonl", folder]) == [folder]
    assert runs_of([tmp_path / "logs" / "train_m_1.log"]) == [folder]
    assert runs_of([tmp_path / "logs" / "train_*.log"]) == [folder, other]
    for nothing in (tmp_path, tmp_path / "none", tmp_path / "no_*.log"):
        with pytest.raises(DataError, match=r"no run there \(no rollouts\.jsonl\)"):
            runs_of([nothing])
    (folder / "rollouts.jsonl").write_text("")
    with pytest.raises(DataError, match="no rollout in it"):
        rows_by_domain(folder)


def test_the_tables_are_whole_on_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[..., tuple[int, str, str]]
) -> None:
    def shown(*arguments: str) -> str:
        """What the documented script prints."""
        status, out, err = start("analyze_by_domain.py", *arguments)
        assert status == 0, err
        return out

    monkeypatch.chdir(tmp_path)
    of = problem(0)
    names = ("AnswerGenerate", "SelfConsistencyEnsemble", "Programmer")
    one = rollout(of, program=Program("a", "a", names, hash="a"))
    many = [replace(of, id=f"gsm8k/train/{number}") for number in range(1000)]
    log = RunLog(tmp_path / "logs" / "train_qwen25-coder-0.5b_20261121-102910")
    log.groups(110, [Group(each, (replace(one, problem_id=each.id),)) for each in many])
    (log.folder / "metrics.jsonl").touch()
    out = shown()
    assert max(map(len, out.splitlines())) <= 80
    for part in ("100 [100, 100]", "SelfConsistencyEnsemble 100%", "110-110"):
        assert part in out
    assert "…" not in out
    assert "| 110-110 | math | 1000 | 100% |" in shown("logs/train_*.log", "--markdown")
    assert json.loads(shown("--json"))[0]["domain"] == "math"
