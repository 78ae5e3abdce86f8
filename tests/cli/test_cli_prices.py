"""Draws, prices, budgets and executors that cannot be: one line, exit 2, nothing is started."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from called_verbs import Verbs

RUN = ("run", "p.py", "--problem", "2 + 2?", "--domain", "math")


def program(folder: Path) -> None:
    (folder / "p.py").write_text(
        'r = await custom(input=problem, instruction="Go.")\nreturn r["response"]\n'
    )


def endpoint(folder: Path, **keys: object) -> None:
    (folder / "config").mkdir()
    entry = {"base_url": "http://localhost:1/v1", **keys}
    text = yaml.safe_dump({"models": {"served": entry}})
    (folder / "config" / "aflow_llm.yaml").write_text(text)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("executor.seed=-1", "executor.seed: found -1"),
        ("executor.draw_offset=-1", "executor.draw_offset: found -1"),
        ("executor.draws_at_once=0", "executor.draws_at_once: found 0"),
        ("executor.max_tokens_of={math: 0}", "executor.max_tokens_of.math: found 0"),
        ("reward.budget=medium", "reward.budget: found 'medium'"),
        ("budget.cost=-5", "budget.cost: found -5"),
        ("workflow.max_calls=0", "workflow.max_calls: found 0"),
        ("workflow.draws=0", "workflow.draws: found 0"),
    ],
    ids=lambda value: value.partition("=")[0],
)
def test_a_setting_that_cannot_be_is_one_line(
    verb: Verbs, folder: Path, setting: str, said: str
) -> None:
    program(folder)
    assert said in verb.refused(*RUN, "--config", "embedded", "--set", setting)


@pytest.mark.parametrize("kind", ["prompt", "completion", "cached"])
def test_a_negative_price_is_one_line(verb: Verbs, folder: Path, kind: str) -> None:
    program(folder)
    prices = {f"usd_per_million_{name}_tokens": 1.0 for name in ("prompt", "completion", "cached")}
    endpoint(folder, **{**prices, f"usd_per_million_{kind}_tokens": -0.5})
    line = verb.refused(*RUN, "--executor", "served")
    assert f"models.served: usd_per_million_{kind}_tokens: found -0.5" in line


@pytest.mark.slow
def test_several_runs_of_a_greedy_program_are_one_line(verb: Verbs, folder: Path) -> None:
    (folder / "rows.jsonl").write_text('{"problem": "2 + 2?", "answer": "4", "type": "math"}\n' * 8)
    same = ("--set", "executor.temperature=0", "--set", "workflow.draws=2")
    rows = ("--set", "data.train_file=rows.jsonl")
    line = verb.refused("train", "--config", "smoke", *same, *rows, "--executor", "scripted")
    assert "workflow.draws: 2 runs of one program with a greedy executor" in line


def test_an_executor_that_cannot_be_is_one_line(verb: Verbs, folder: Path) -> None:
    program(folder)
    named = ("--set", "executors.small={model: gone, price: 1}")
    said = r"executors.small.model: no 'gone' \(known: .*\); write "
    assert re.search(said, verb.refused(*RUN, "--executor", "scripted", *named))


NAMES = (
    'r = await custom(input=problem, instruction="Go.", executor="tiny")\nreturn r["response"]\n'
)


def test_an_executor_that_a_program_makes_up_is_one_line_that_says_what_to_do(
    verb: Verbs, folder: Path
) -> None:
    (folder / "p.py").write_text(NAMES)
    asked = ("evaluate", "--policy", "p.py", "--executor", "scripted")
    line = verb.refused(*asked, "--set", "executors.small={model: scripted, price: 1}")
    assert "there is no such executor: 'tiny' (known: default, small)" in line
    assert "or add the name to `executors` of the configuration" in line
    assert "p.py:1: " in line or "line 1: " in line
    assert "llm-as-judge check" in line


def test_an_offset_beyond_the_pool_is_one_line(verb: Verbs, folder: Path) -> None:
    program(folder)
    asked = (*RUN, "--executor", "scripted", "--set", "executor.temperature=0.7")
    assert verb(*asked, "--set", "calls.mode=cache")[0] == 0
    replay = (*asked, "--set", "calls.mode=replay")
    assert verb(*replay)[0] == 0
    line = verb.refused(*replay, "--set", "executor.draw_offset=5")
    assert "pool.sqlite: a run begins at draw 5 (executor.draw_offset, workflow.draws)" in line
    assert "there are draws 0 to 0 of what it asks; fill the pool for it" in line
