"""A recorded training run, repeated without its endpoint: the same programs, rewards, figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_runs import STEPS, require_same_records, run_config
from tiny_runs import train as trained

from fault_endpoint import FaultEndpoint
from llm_as_judge.assembly.trainer import TrainingResult
from llm_as_judge.errors import BudgetError
from llm_as_judge.runs.runlog import read_steps


@pytest.fixture
def place(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


def serve(place: Path, url: str) -> None:
    endpoint = {"base_url": url, "api_key": "none"}
    text = yaml.safe_dump({"models": {"served": endpoint}})
    (place / "config" / "aflow_llm.yaml").write_text(text)


async def train(place: Path, name: str, *, resume: bool = False, **sections: Any) -> TrainingResult:
    config = run_config(
        place,
        name,
        executor={"model": "served", "retries": 1, "timeout_s": 10.0},
        sampling={"examples": False},  # the tiny policy knows short prompts
        training={"max_failed_fraction": 1.0},
        **sections,
    )
    return await trained(config, resume=resume)


def right(asked: str) -> str:
    return "Thought: t\nAnswer: 4" if "Answer:" in asked else "4"


@pytest.mark.slow
async def test_a_recorded_run_is_replayed_without_its_endpoint_byte_for_byte(place: Path) -> None:
    calls = {"folder": place / "calls"}
    quick = ["500", "empty", "truncated", "drop"]
    async with FaultEndpoint(0.6, seed=1, faults=quick, answer=right) as server:
        serve(place, server.url)
        recorded = await train(place, "recorded", calls={**calls, "mode": "record"})
        assert sum(server.met.values()) > server.met["ok"], "the endpoint never failed"
    replay = await train(place, "replay", calls={**calls, "mode": "replay"})
    require_same_records(replay.run_dir, recorded.run_dir)
    paid, again = (
        json.loads((run.run_dir / "ledger.json").read_text())["total"] for run in (recorded, replay)
    )
    for name in ("calls", "attempts", "failed_attempts", "prompt_tokens", "completion_tokens"):
        assert paid[name] == again[name], name


@pytest.mark.slow
async def test_a_spent_budget_stops_the_run_which_goes_on_with_a_greater_one(place: Path) -> None:
    async with FaultEndpoint(0.0, answer=right) as server:
        serve(place, server.url)
        whole = await train(place, "whole")
        used = json.loads((whole.run_dir / "ledger.json").read_text())["total"]["attempts"]
        asked = sum(server.met.values())
        assert asked == used > 2
        with pytest.raises(BudgetError, match=f"{used - 1} of {used - 1} calls used"):
            await train(place, "poor", budget={"calls": used - 1})
        assert sum(server.met.values()) == asked + used - 1
        mended = await train(place, "poor", resume=True, budget={"calls": 3 * used})
    assert mended.steps == STEPS
    require_same_records(mended.run_dir, whole.run_dir)
    older = [step["rollout/staleness"] for step in read_steps(whole.run_dir)]
    assert older == [0.0, 1.0, 1.0], "and this with programs of older weights"
    total = json.loads((mended.run_dir / "ledger.json").read_text())["total"]
    served = sum(server.met.values()) - asked
    assert total["attempts"] == served, "the bill holds both parts of the broken run"
