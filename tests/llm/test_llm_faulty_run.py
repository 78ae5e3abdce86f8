"""Whole groups of programs on an endpoint that misbehaves: nothing wrong is rewarded."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from fault_endpoint import FAULTS, KIND_OF_FAULT, MOSTLY_QUICK, FaultEndpoint
from llm_as_judge.config import Config, shipped_dir
from llm_as_judge.training.step_metrics import group_metrics
from llm_as_judge.types import Execution, Group, Problem, Rollout
from written_programs import PROGRAMS, written_run

PROBLEMS = [
    Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
    for n in range(20)
]


def adds(asked: str) -> str:
    """Right for even numbers, wrong for odd ones; the form that the operators ask for."""
    number = int(re.findall(r"What is (\d+) plus 2", asked)[-1])
    answer = number + 2 + number % 2
    return f"Thought: easy.\nAnswer: {answer}" if "Answer:" in asked else str(answer)


def config(folder: Path, url: str) -> Config:
    endpoint = {
        "base_url": url,
        "usd_per_million_prompt_tokens": 1.0,
        "usd_per_million_completion_tokens": 2.0,
    }
    (folder / "aflow_llm.yaml").write_text(yaml.safe_dump({"models": {"faulty": endpoint}}))
    return Config.model_validate(
        {
            "executor": {"model": "faulty", "timeout_s": 5.0, "retries": 2},
            "judge": {"model": "none"},
            "sampling": {"form": "body", "prompt_style": "short"},
            "training": {"samples_per_problem": len(PROGRAMS)},
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(shipped_dir(), tmp_path / "config")
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config"


def told(rollout: Rollout) -> tuple[Execution | None, object]:
    """What is not a matter of the clock, or of which sibling asked first."""
    execution = rollout.execution
    if execution is not None:
        calls = tuple(replace(call, seconds=0.0, cached=0) for call in execution.calls)
        execution = replace(execution, seconds=0.0, calls=calls)
    return execution, rollout.verdict


def by_place(groups: list[Group]) -> dict[tuple[str, int], Rollout]:
    return {(r.problem_id, r.index): r for group in groups for r in group.rollouts}


@pytest.mark.slow
async def test_with_three_in_ten_replies_broken_every_reward_is_that_of_a_sound_endpoint(
    folder: Path,
) -> None:
    async with FaultEndpoint(share=0.0, answer=adds) as sound:
        wanted, _ = await written_run(config(folder, sound.url), [PROBLEMS])
    async with FaultEndpoint(share=0.3, seed=3, faults=MOSTLY_QUICK, answer=adds) as server:
        found, ledger = await written_run(config(folder, server.url), [PROBLEMS])

    verdicts = Counter(r.verdict.correct for r in by_place(wanted).values() if r.verdict)
    assert verdicts == {True: 10 * 4, False: 10 * 4 + 20}
    failed = 0
    for place, rollout in by_place(found).items():
        if rollout.failure is None:
            assert told(rollout) == told(by_place(wanted)[place])
            assert rollout.reward is not None
        else:
            failed += 1
            assert rollout.failure.kind == "EndpointError"
            assert rollout.reward is None
    assert failed > 0
    share = group_metrics(found)["rollout/failed/execute_EndpointError"]
    assert share * len(PROBLEMS) * len(PROGRAMS) == pytest.approx(failed)

    met: Counter[str] = Counter()
    for fault in FAULTS:
        met[KIND_OF_FAULT[fault]] += server.met[fault]
    total, failures = ledger["total"], Counter(ledger["failures"])
    assert not met - failures, "a failure was not counted"
    assert sum((failures - met).values()) <= 5  # attempts that broke before the server read them
    assert total["prompt_tokens"] == server.billed["prompt"]
    assert total["completion_tokens"] == server.billed["completion"]
    assert total["priced_usd"] == pytest.approx(
        (server.billed["prompt"] + 2.0 * server.billed["completion"]) / 1e6
    )
    for table in ("by_role", "by_operator", "by_attempt"):
        sums = ledger[table].values()
        assert sum(entry["prompt_tokens"] for entry in sums) == server.billed["prompt"], table
    assert ledger["by_attempt"]["2"]["attempts"] > ledger["by_attempt"]["3"]["attempts"] > 0
