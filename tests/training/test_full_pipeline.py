"""scripts/run_full_pipeline.sh with the keys of config/training.yaml, from the audit to the report.

The policy is a few thousand weights; executor and judge are one model behind HTTP, as in
aflow_llm.yaml.example. How well the policy learns in its one step is not looked at.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from killable_runs import Endpoint, in_fields, serving

from judge_oracle import Oracle, asks_a_judge, audited_cases
from llm_as_judge.config import shipped_dir

pytestmark = pytest.mark.chaos

SCRIPT = Path(__file__).parents[2] / "scripts" / "run_full_pipeline.sh"
SETS = ["gsm8k", "squad2", "mbpp"]
"""One of each domain, of which the built-in sample has rows."""
SMALL = {
    "strategy_model": "tiny",
    "max_steps": 1,
    "sampling": {"form": "body", "prompt_style": "short", "max_new_tokens": 60},
    "data": {"sets": SETS},
}
"""What is changed in config/training.yaml: the tiny policy knows one short program."""


@dataclass
class JudgeAndExecutor(Endpoint):
    """Grades by ``oracle`` what a judge is asked; answers everything else with 4."""

    oracle: Oracle = field(default_factory=lambda: Oracle(audited_cases()))
    requests: Counter[str] = field(default_factory=Counter)

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["messages"][-1]["content"]
        role = "judge" if asks_a_judge(body) else "executor"
        self.requests[role] += 1
        said = self.oracle.reply(asked) if role == "judge" else in_fields(json.dumps(asked), "4")
        return {
            "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(asked) // 4, "completion_tokens": len(said) // 4},
        }


@dataclass
class Place:
    """A folder like a checkout, whose only endpoint is ``served``."""

    folder: Path
    served: JudgeAndExecutor

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """The script's whole life; its output and errors are one text."""
        return subprocess.run(
            [self.folder / "scripts" / SCRIPT.name, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "HF_"))},
                "LLM_AS_JUDGE_CONFIG": str(self.folder / "config"),
                "LLM_AS_JUDGE_CACHE": str(self.folder / "cache"),
                "HF_HUB_OFFLINE": "1",
                "OMP_NUM_THREADS": "1",
                "OMP_WAIT_POLICY": "passive",
                "COLUMNS": "200",
            },
        )


@contextmanager
def prepared(folder: Path, weights: Path, encoder: Path) -> Iterator[Place]:
    shutil.copytree(shipped_dir(), folder / "config")
    (folder / "scripts").mkdir()
    shutil.copy(SCRIPT, folder / "scripts")
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    models = {
        name: {"format": "safetensors", "sources": [{"path": str(path)}]}
        for name, path in (("tiny", weights), ("all-minilm-l6-v2", encoder))
    }
    (folder / "config" / "models.yaml").write_text(yaml.safe_dump({"models": models}))
    shipped = yaml.safe_load((folder / "config" / "training.yaml").read_text())
    (folder / "config" / "training.yaml").write_text(yaml.safe_dump(shipped | SMALL))
    with serving(JudgeAndExecutor()) as served:
        example = yaml.safe_load((folder / "config" / "aflow_llm.yaml.example").read_text())
        example["models"]["gpt-oss-120b"]["base_url"] = served.url
        (folder / "config" / "aflow_llm.yaml").write_text(yaml.safe_dump(example))
        assert isinstance(served, JudgeAndExecutor)
        yield Place(folder, served)


@pytest.fixture
def place(tmp_path: Path, fluent_weights: Path, tiny_encoder: Path) -> Iterator[Place]:
    with prepared(tmp_path, fluent_weights, tiny_encoder) as found:
        yield found


def test_a_good_judge_and_the_shipped_keys_come_to_the_end(place: Place) -> None:
    sample = str(resources.files("llm_as_judge.data") / "sample")
    done = place.run("--source", sample, "--limit", "2", "--device", "cpu")
    assert done.returncode == 0, done.stdout
    assert "judge (model): audit passed" in done.stdout
    (report,) = (place.folder / "results" / "audit").iterdir()
    found = json.loads(report.read_text())
    assert found["passed"]
    assert found["by_model"]["shipped open questions"]["right"] > 0
    for name in ("tiny_untrained", "tiny"):
        results = place.folder / "results" / "evaluation" / f"{name}_results.json"
        assert {one["dataset"] for one in json.loads(results.read_text())["datasets"]} >= set(SETS)
    assert "at most 2 rows of each set" in done.stdout
    assert place.served.requests["executor"] > 0
    run = next((place.folder / "logs").glob("train_*"))
    (judge,) = json.loads((run / "run.json").read_text())["judges"]
    assert (judge["audit"], judge["forced"]) == ("passed", False)
    assert (place.folder / "checkpoints" / "tiny" / "grpo_mixed" / "step_1").is_dir()
