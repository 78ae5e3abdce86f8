"""examples/extend adds a reward part, a grader, an operator and a data set, and trains with them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from llm_as_judge.runs.runlog import read_rollouts, read_steps
from own_config import with_only_model

EXAMPLE = Path(__file__).parents[1] / "examples" / "extend" / "clocks.py"
PROGRAM = """
short = await restate(problem=problem)
told = await custom(input=short["restated"], instruction="Answer.")
return told["response"]
"""
USED_BY_CONFIGURATION = f"""
import asyncio
from llm_as_judge.assembly import open_workbench
from llm_as_judge.config import load_config
from llm_as_judge.types import Problem

config = load_config("run.yaml", overrides=["plugins=[clocks]"])
problem = Problem("t/1", "t", "qa", "When does it end?", ("14:15",))

async def main():
    async with open_workbench(config) as bench:
        program = bench.parse({PROGRAM!r}, problem)
        execution = await bench.run(program, problem, bench.executor)
        right = await bench.judge.grade(problem, "It ends at 2:15 pm.")
        print(program.strictly_valid, execution.status, [c.operator for c in execution.calls])
        print(right.correct, right.rule, config.reward.weights["brevity"])

asyncio.run(main())
"""


@pytest.fixture
def place(tmp_path: Path, fluent_weights: Path) -> Path:
    """A folder with a configuration whose only model is the tiny policy, and the example."""
    with_only_model(tmp_path, fluent_weights)
    settings = {
        "policy": {"name": "tiny", "device": "cpu", "dtype": "float32", "lora_rank": 4},
        "sampling": {"max_new_tokens": 60, "form": "body", "prompt_style": "short"},
        "executor": {"model": "scripted"},
        "judge": {"model": "none"},
        "training": {"problems_per_step": 2, "samples_per_problem": 4, "max_staleness": 0},
        "output": {key: str(tmp_path / key) for key in ("checkpoints", "cache", "results", "logs")},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(settings))
    for file in (EXAMPLE, EXAMPLE.with_name("Restate.yaml")):
        shutil.copy(file, tmp_path)
    return tmp_path


def python(place: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=place,
        env={"LLM_AS_JUDGE_CONFIG": str(place / "config"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_one_file_of_eighty_lines() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 80


@pytest.mark.slow
def test_a_step_is_trained_with_all_four(place: Path) -> None:
    printed = float(python(place, "clocks.py", "run.yaml"))
    (run,) = (place / "logs").iterdir()
    (step,) = read_steps(run)
    assert step["reward/brevity"] == printed
    rollouts = [rollout for _, _, rollout in read_rollouts(run)]
    assert len(rollouts) == 8
    assert {rollout.problem_id.rpartition("/")[0] for rollout in rollouts} == {"rows_qa/custom"}
    ran = [r for r in rollouts if r.execution and r.execution.status == "ok"]
    assert ran
    assert {r.verdict.stage for r in ran if r.verdict} == {"grader"}
    for rollout in rollouts:
        assert rollout.reward is not None
        assert rollout.reward.parts["brevity"].weight == 0.05
    facts = json.loads((run / "run.json").read_text())
    assert list(facts["plugins"]) == ["__main__"]
    assert list(facts["own_operators"]) == ["Restate"]


@pytest.mark.slow
def test_a_configuration_names_it_as_a_plugin(place: Path) -> None:
    assert python(place, "-c", USED_BY_CONFIGURATION).splitlines() == [
        "True ok ['Restate', 'Custom']",
        "True clock.right 0.05",
    ]
