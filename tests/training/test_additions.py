"""Reward functions, graders, operators and rows given to a trainer in Python."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_runs import run_config, run_settings

from llm_as_judge.assembly.trainer import GRPOTrainer
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.grading.graders import GRADERS
from llm_as_judge.reward import REWARD_PARTS, reward_part
from llm_as_judge.runs.runlog import read_rollouts, read_steps
from llm_as_judge.types import Problem, Rollout
from own_config import only_models
from restored import restored

ROWS = [{"problem": f"What is {n} plus 2?", "answer": n + 2, "type": "math"} for n in range(4)]


def shortness(rollout: Rollout, group: Sequence[Rollout]) -> float:
    return 10.0 if len(rollout.program.source) < 100 else -10.0


def integers(problem: Problem, answer: str) -> bool | None:
    """Tells plain integers apart, and says nothing of anything else."""
    said, gold = answer.strip(), " ".join(problem.answers)
    return int(said) == int(gold) if said.isdecimal() and gold.isdecimal() else None


@pytest.fixture
def place(place: Path, fluent_weights: Path) -> Path:
    only_models(place / "config", tiny=fluent_weights)
    return place


def config(place: Path, **sections: Any) -> Config:
    return run_config(place, "here", training={"max_staleness": 0}, **sections)


@pytest.mark.slow
async def test_a_step_is_trained_with_what_is_given_and_the_next_trainer_has_none_of_it(
    place: Path,
) -> None:
    trainer = GRPOTrainer(
        config=config(place),
        run_dir=place / "run",
        reward_funcs=[shortness],
        graders=[integers],
        train_dataset=ROWS,
    )
    assert "shortness" not in REWARD_PARTS.all()
    assert "integers" not in GRADERS.all()
    result = await trainer.train(num_steps=1)
    assert "shortness" not in REWARD_PARTS.all()
    (step,) = read_steps(result.run_dir)
    assert -10.0 <= step["reward/shortness"] <= 10.0
    rollouts = [rollout for _, _, rollout in read_rollouts(result.run_dir)]
    assert {r.problem_id.rpartition("/")[0] for r in rollouts} == {"rows_math/custom"}
    decided = [r.verdict.rule for r in rollouts if r.verdict and r.verdict.stage == "grader"]
    assert set(decided) & {"integers.right", "integers.wrong"}
    facts = json.loads((result.run_dir / "run.json").read_text())
    assert list(facts["plugins"]) == [__name__]
    saved = yaml.safe_load((result.run_dir / "config.yaml").read_text())
    assert saved["reward"]["weights"]["shortness"] == 1.0

    later = GRPOTrainer(config=config(place), run_dir=place / "other", train_dataset=ROWS)
    assert "shortness" not in later.config.reward.weights


def test_the_weight_of_a_given_function_is_the_configuration_s(place: Path) -> None:
    path = place / "run.yaml"
    path.write_text(
        yaml.safe_dump(run_settings(place, "here", reward={"weights": {"shortness": 0.2}}))
    )
    trainer = GRPOTrainer(path, run_dir=place / "run", reward_funcs=[shortness], train_dataset=ROWS)
    assert trainer.config.reward.weights["shortness"] == 0.2
    with pytest.raises(ConfigError, match="no reward part 'shortness'"):
        GRPOTrainer(path, train_dataset=ROWS)


def test_a_plugin_of_the_configuration_file_stays_known_to_the_trainer_that_read_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(place)
    (place / "own_part.py").write_text(
        "from llm_as_judge.reward import reward_part\n\n\n"
        "@reward_part('few', weight=0.1)\n"
        "def few(rollout, group):\n    return 1.0\n"
    )
    path = place / "run.yaml"
    path.write_text(yaml.safe_dump(run_settings(place, "here") | {"plugins": ["own_part"]}))
    with restored(REWARD_PARTS):
        trainer = GRPOTrainer(
            path, run_dir=place / "run", reward_funcs=[shortness], train_dataset=ROWS
        )
        assert trainer.config.reward.weights["few"] == 0.1
        assert "few" in REWARD_PARTS.all(), "the module is imported once"
        assert "shortness" not in REWARD_PARTS.all()


def test_a_decorated_function_keeps_its_name_and_weight(place: Path) -> None:
    with restored(REWARD_PARTS):
        marked = reward_part("brief", weight=0.1)(shortness)
        trainer = GRPOTrainer(
            config=config(place),
            run_dir=place / "run",
            reward_funcs=[marked],
            train_dataset=ROWS,
        )
        assert trainer.config.reward.weights["brief"] == 0.1
        assert "shortness" not in trainer.config.reward.weights


def test_rows_may_be_problems_and_equal_rows_are_one_file(place: Path) -> None:
    problems = [Problem("own/1", "own", "math", "What is 1 plus 1?", ("2",))]
    first, second = (
        GRPOTrainer(config=config(place), run_dir=place / "run", train_dataset=rows)
        for rows in (problems, iter(problems))
    )
    assert first.config.data.train_file == second.config.data.train_file
    assert "own/1" in first.config.data.train_file.read_text()


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"reward_funcs": [lambda r, g: 0.0]}, ConfigError, "has no name to be logged by"),
        ({"reward_funcs": shortness}, ConfigError, "reward_funcs=: found <function shortness"),
        ({"reward_funcs": [len]}, ConfigError, "len is called with (rollout, group): too many"),
        (
            {"graders": [str.replace]},
            ConfigError,
            "replace is called with (problem, answer): missing",
        ),
        ({"operators": [Problem]}, ConfigError, "wanted a subclass of Operator"),
        ({"train_dataset": [{"problem": object()}]}, DataError, "train_dataset: row 1: "),
        ({"train_dataset": ["text"]}, DataError, "train_dataset: row 1: "),
    ],
)
def test_what_cannot_be_used_is_one_line(
    place: Path, given: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as refused:
        GRPOTrainer(config=config(place), run_dir=place / "run", **given)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_workers_of_a_cluster_have_no_objects_of_this_process(place: Path) -> None:
    with pytest.raises(ConfigError, match="put them into a module and name it in `plugins`"):
        GRPOTrainer(
            config=config(place, workers={"backend": "ray"}),
            graders=[integers],
            train_dataset=ROWS,
        )
