"""A run with a real embedded model, recorded once, repeated here without weights or server."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from record_embedded import CALLS, STEPS, config

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.pool import Pool
from llm_as_judge.types import Problem
from written_programs import PROGRAMS, written_run

FILES = ("rollouts.jsonl", "metrics.jsonl")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the recording; no weights are anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_AS_JUDGE_CACHE", str(tmp_path / "no_weights_here"))
    folder = tmp_path / "calls"
    folder.mkdir()
    shutil.copy(CALLS, folder / "embedded.jsonl")
    return folder


async def test_a_recorded_run_of_an_embedded_model_is_the_same_twice(
    calls: Path, tmp_path: Path
) -> None:
    runs = []
    for name in ("one", "two"):
        groups, ledger = await written_run(config(calls, "replay"), STEPS, tmp_path / name)
        runs.append([(tmp_path / name / file).read_bytes() for file in FILES])
        assert ledger["total"]["attempts"] == len(Pool(calls, lines=True))
    assert runs[0] == runs[1]
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    assert len(rollouts) == 4 * len(PROGRAMS)
    assert not [r.failure for r in rollouts if r.failure]
    verdicts = {r.verdict.correct for r in rollouts if r.verdict}
    assert verdicts == {True, False}
    assert len({r.reward.total for r in rollouts if r.reward}) > 2
    assert not (tmp_path / "no_weights_here").exists()


async def test_a_call_that_was_not_recorded_ends_the_replay_with_one_line(calls: Path) -> None:
    other = Problem("own/train/9", "gsm8k", "math", "Never asked before.", ("1",))
    with pytest.raises(ModelError, match=r"replay: qwen25-coder-0\.5b was not asked this"):
        await written_run(config(calls, "replay"), [[other]])
