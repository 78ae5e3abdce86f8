"""scripts/run_full_pipeline.sh with the keys of config/training.yaml, from the audit to the report.

The policy is a few thousand weights; executor and judge are one model behind HTTP, as in
aflow_llm.yaml.example. How well the policy learns in its one step is not looked at.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from killable_runs import Endpoint, in_fields, serving

from judge_oracle import Oracle, asks_a_judge, audited_cases
from llm_as_judge.cli import main
from llm_as_judge.config import shipped_dir
from own_config import only_models

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


@pytest.fixture
def served(
    tmp_path: Path, fluent_weights: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[JudgeAndExecutor]:
    """The only endpoint of the working folder, which is like a checkout."""
    config = tmp_path / "config"
    shutil.copytree(shipped_dir(), config)
    only_models(config, **{"tiny": fluent_weights, "all-minilm-l6-v2": tiny_encoder})
    shipped = yaml.safe_load((config / "training.yaml").read_text())
    (config / "training.yaml").write_text(yaml.safe_dump(shipped | SMALL))
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(config))
    monkeypatch.setenv("LLM_AS_JUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with serving(JudgeAndExecutor()) as found:
        example = yaml.safe_load((config / "aflow_llm.yaml.example").read_text())
        example["models"]["gpt-oss-120b"]["base_url"] = found.url
        (config / "aflow_llm.yaml").write_text(yaml.safe_dump(example))
        yield found


def verbs_of(folder: Path, *options: str) -> list[list[str]]:
    """What the script calls, by a program in place of python that writes it down."""
    (folder / "scripts").mkdir()
    script = shutil.copy(SCRIPT, folder / "scripts")
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nshift 2\necho "$@" >> verbs\n')
    python.chmod(0o755)
    subprocess.run([script, *options], check=True, stdout=subprocess.DEVNULL)
    return [line.split() for line in (folder / "verbs").read_text().splitlines()]


def test_a_good_judge_and_the_shipped_keys_come_to_the_end(
    tmp_path: Path, served: JudgeAndExecutor, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its verbs run in this process: each would load what it needs for seconds."""
    sample = str(resources.files("llm_as_judge.data") / "sample")
    for verb in verbs_of(tmp_path, "--source", sample, "--limit", "2", "--device", "cpu"):
        with pytest.raises(SystemExit) as ended:
            main(verb)
        assert ended.value.code == 0, verb
    said = " ".join("".join(capsys.readouterr()).split())
    assert "judge (model): audit passed" in said
    assert "at most 2 rows of each set" in said
    (report,) = (tmp_path / "results" / "audit").iterdir()
    found = json.loads(report.read_text())
    assert found["passed"]
    assert found["by_model"]["shipped open questions"]["right"] > 0
    for name in ("tiny_untrained", "tiny"):
        results = tmp_path / "results" / "evaluation" / f"{name}_results.json"
        assert {one["dataset"] for one in json.loads(results.read_text())["datasets"]} >= set(SETS)
    assert served.requests["executor"] > 0
    run = next((tmp_path / "logs").glob("train_*"))
    (judge,) = json.loads((run / "run.json").read_text())["judges"]
    assert (judge["audit"], judge["forced"]) == ("passed", False)
    assert (tmp_path / "checkpoints" / "tiny" / "grpo_mixed" / "step_1").is_dir()
