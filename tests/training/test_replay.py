"""A recorded training run, repeated without its endpoint: the same programs, rewards, figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fault_endpoint import FaultEndpoint
from llm_as_judge.assembly.trainer import GRPOTrainer, TrainingResult
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import BudgetError
from llm_as_judge.types import Problem
from own_config import with_only_model

PROBLEMS = [
    Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
    for n in range(6)
]
STEPS, GROUPS, SAMPLES = 3, 2, 4


@pytest.fixture
def place(
    tmp_path: Path, fluent_weights: Path, audited: None, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(with_only_model(tmp_path, fluent_weights)))
    monkeypatch.chdir(tmp_path)
    write_problems(tmp_path / "train.jsonl", PROBLEMS)
    return tmp_path


def serve(place: Path, url: str) -> None:
    endpoint = {"base_url": url, "api_key": "none"}
    text = yaml.safe_dump({"models": {"served": endpoint}})
    (place / "config" / "aflow_llm.yaml").write_text(text)


async def train(place: Path, name: str, *, resume: bool = False, **sections: Any) -> TrainingResult:
    config = Config.model_validate(
        {
            "policy": {"name": "tiny", "device": "cpu", "dtype": "float32", "lora_rank": 4},
            "sampling": {
                "temperature": 1.0,
                "max_new_tokens": 60,
                "form": "body",
                "prompt_style": "short",
                "examples": False,  # the tiny policy knows short prompts
            },
            "executor": {"model": "served", "retries": 1, "timeout_s": 10.0},
            "judge": {"model": "none"},
            "training": {
                "steps": STEPS,
                "problems_per_step": GROUPS,
                "samples_per_problem": SAMPLES,
                "learning_rate": 1e-3,
                "max_failed_fraction": 1.0,
            },
            "data": {"train_file": place / "train.jsonl"},
            "output": {
                "checkpoints": place / f"checkpoints_{name}",
                "cache": place / "cache",
                "results": place / "results",
            },
            **sections,
        }
    )
    trainer = GRPOTrainer(config=config, run_dir=place / f"run_{name}", resume=resume)
    return await trainer.train()


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
    replays = [
        await train(place, name, calls={**calls, "mode": "replay"}) for name in ("one", "two")
    ]
    for name in ("rollouts.jsonl", "metrics.jsonl"):
        wanted = (recorded.run_dir / name).read_bytes()
        assert [(replay.run_dir / name).read_bytes() for replay in replays] == [wanted, wanted]
    sums = [
        json.loads((run.run_dir / "ledger.json").read_text())["total"]
        for run in (recorded, *replays)
    ]
    for name in ("calls", "attempts", "failed_attempts", "prompt_tokens", "completion_tokens"):
        assert len({entry[name] for entry in sums}) == 1, name


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
    for name in ("rollouts.jsonl", "metrics.jsonl"):
        assert (mended.run_dir / name).read_bytes() == (whole.run_dir / name).read_bytes()
    total = json.loads((mended.run_dir / "ledger.json").read_text())["total"]
    served = sum(server.met.values()) - asked
    assert total["attempts"] == served, "the bill holds both parts of the broken run"
