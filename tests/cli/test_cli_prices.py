"""Draws, prices, budgets and executors that cannot be: one line, exit 2, nothing is started."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from called_verbs import Verbs, written

RUN = ("run", "p.py", "--problem", "2 + 2?", "--domain", "math", "--set")
SERVED = (
    "models: {{served: {{base_url: 'http://localhost:1/v1', usd_per_million_{}_tokens: -0.5}}}}"
)


@pytest.fixture(autouse=True)
def program(folder: Path) -> None:
    written("p.py", 'r = await custom(input=problem, instruction="Go.")\nreturn r["response"]\n')


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
        ("executors.small={model: gone, price: 1}", "executors.small.model: no 'gone' (known: "),
    ],
)
def test_a_setting_that_cannot_be_is_one_line(verb: Verbs, setting: str, said: str) -> None:
    assert said in verb.refused(*RUN, setting, "--executor", "scripted")


@pytest.mark.parametrize("kind", ["prompt", "completion", "cached"])
def test_a_negative_price_is_one_line(verb: Verbs, kind: str) -> None:
    Path("config").mkdir()
    written("config/aflow_llm.yaml", SERVED.format(kind))
    line = verb.refused(*RUN[:-1], "--executor", "served")
    assert f"models.served: usd_per_million_{kind}_tokens: found -0.5" in line


@pytest.mark.slow
def test_several_runs_of_a_greedy_program_are_one_line(verb: Verbs) -> None:
    written("rows.jsonl", '{"problem": "2 + 2?", "answer": "4", "type": "math"}\n' * 8)
    same = ("--set", "executor.temperature=0", "--set", "workflow.draws=2")
    rows = ("--set", "data.train_file=rows.jsonl")
    line = verb.refused("train", "--config", "smoke", *same, *rows, "--executor", "scripted")
    assert "workflow.draws: 2 runs of one program with a greedy executor" in line


def test_an_executor_that_a_program_makes_up_is_one_line_that_says_what_to_do(verb: Verbs) -> None:
    written("p.py", Path("p.py").read_text().replace('"Go."', '"Go.", executor="tiny"'))
    asked = ("evaluate", "--policy", "p.py", "--executor", "scripted")
    line = verb.refused(*asked, "--set", "executors.small={model: scripted, price: 1}")
    assert "there is no such executor: 'tiny' (known: default, small)" in line
    assert "or add the name to `executors` of the configuration" in line
    assert re.search("p.py:1: |line 1: ", line)
    assert "llm-as-judge check" in line


def test_an_offset_beyond_the_pool_is_one_line(verb: Verbs) -> None:
    asked = (*RUN, "executor.temperature=0.7", "--executor", "scripted", "--set")
    assert verb(*asked, "calls.mode=cache")[0] == 0
    assert verb(*asked, "calls.mode=replay")[0] == 0
    line = verb.refused(*asked, "calls.mode=replay", "--set", "executor.draw_offset=5")
    assert "pool.sqlite: a run begins at draw 5 (executor.draw_offset, workflow.draws)" in line
    assert "there are draws 0 to 0 of what it asks; fill the pool for it" in line
