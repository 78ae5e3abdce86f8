"""pool fill as a person calls it; the executor is scripted."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from called_verbs import Verbs

from llm_as_judge.data.files import write_problems
from llm_as_judge.llm.pool import Pool
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.runs.table import Bank
from llm_as_judge.types import ChatRequest, Problem, from_json

ROWS = [
    Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} + 1?", ("none",)) for n in range(4)
]
TESTED = [replace(row, id=row.id.replace("train", "test")) for row in ROWS]
CONFIG = ("--config", "embedded", "--executor", "scripted", "--set", "judge.kind=llm")
FILL = ("pool", "fill", *CONFIG, "--draws", "3", "--limit", "all")


def train_rows(folder: Path, rows: list[Problem]) -> Path:
    path = folder / "data" / "mixed" / "train_mixed.jsonl"
    write_problems(path, rows)
    return path


def first_answer_of_direct(pool: Pool, row: Problem) -> str:
    asked = [from_json(ChatRequest, one["request"]) for one in pool.asked()]
    (first,) = (
        one
        for one in asked
        if row.question in one.messages[-1].content
        and "Give the final answer alone" in one.messages[-1].content
        and one.draw == 0
    )
    return rehearsed_reply(first).removeprefix("Solution: ")


@pytest.mark.slow
def test_a_pool_is_filled_once_and_replayed_into_a_bank(verb: Verbs, folder: Path) -> None:
    train_rows(folder, ROWS)
    _, err = verb.done(*FILL)
    assert "4 problems (train), 3 draws of each way; what is missing is at most:" in err
    assert "estimate: 36 programs (" in err
    assert "about 36 of the executor" in err
    assert "asked now: requests 24, " in err  # all are wrong: two draws of three ways of four
    assert "24 draws made. 4 problems got no further draws, since the first share a verdict" in err
    replay = (*FILL, "--set", "calls.mode=replay", "--bank", "replayed", "--all")
    _, err = verb.done(*replay)
    assert "12 draws are left out: logs/calls lacks their replies" in err
    assert "asked now" not in err
    assert len(Bank(Path("replayed")).runs) == 24

    with closing(Pool(folder / "logs" / "calls")) as pool:
        gold = first_answer_of_direct(pool, ROWS[2])
    train_rows(folder, [*ROWS[:2], replace(ROWS[2], answers=(gold,)), ROWS[3], ROWS[0]])
    assert "gsm8k/train/2 is not the same problem as before; name another --bank" in verb.refused(
        *FILL
    )
    other = ("--bank", "other")
    _, err = verb.done(*FILL, *other)
    assert "asked now: requests 3, " in err  # its third draws: the others are there


@pytest.mark.slow
def test_what_the_pool_holds_of_each_executor_is_asked_nowhere_else_by_evaluate_and_replay(
    verb: Verbs, folder: Path
) -> None:
    write_problems(folder / "data" / "test" / "gsm8k_test.jsonl", TESTED)
    two = ("--set", "executors={small: {model: scripted, price: 0.1}}")
    options = (*two, "--set", "data.sets=[gsm8k]", "--limit", "all")
    _, err = verb.done(*FILL, *options, "--split", "test", "--all")
    assert "72 draws made" in err  # three ways of two executors, three draws on four problems
    run = ("evaluate", *CONFIG, *options, "--draws", "3", "--policy")
    out, err = verb.done(*run, "cot", "--set", "calls.mode=cache", "--name", "cached", "--json")
    assert "nothing was asked now" in err
    replay = ("--set", "calls.mode=replay", "--name", "replayed", "--json")
    for policy in ("small_first", "cot"):
        again, _ = verb.done(*run, policy, *replay)
    cached, replayed = (json.loads(text)["overall"]["accuracy"] for text in (out, again))
    assert cached == replayed
    for policy in ("small_first", "cot"):
        line = verb.refused(*run, policy, *replay[:2], "--name", "beyond", "--draws", "4")
        assert "a run begins at draw 3" in line
        assert "draws 0 to 2" in line


def test_what_cannot_be_filled_is_one_line(verb: Verbs, folder: Path) -> None:
    assert "train_mixed.jsonl: no such file" in verb.refused(*FILL)
    path = train_rows(folder, ROWS)
    greedy = verb.refused(*FILL, "--set", "executor.temperature=0")
    assert "all draws of a greedy executor are the same" in greedy
    assert "--way 'vote_of_5': wanted some of direct" in verb.refused(*FILL, "--way", "vote_of_5")
    qa = [replace(ROWS[0], domain="qa", dataset="squad2")]
    write_problems(path, qa)
    assert "no problem of math to fill with" in verb.refused(*FILL, "--way", "program_of_thought")


@pytest.mark.slow
def test_search_headroom_and_training_read_what_the_pool_was_filled_with(
    verb: Verbs, folder: Path
) -> None:
    train_rows(folder, ROWS)
    assert verb(*FILL, "--all")[0] == 0
    cells = (folder / "results" / "bank" / "runs.jsonl").read_text().splitlines()
    assert len(cells) == 36
    assert "3 programs, 3 draws" in verb("headroom", "results/bank", *CONFIG)[1]
    search = ("search", *CONFIG, "--split", "train", "--rows", "4", "--draws", "3", "--count", "1")
    verb.done(*search)
    after = (folder / "results" / "bank" / "runs.jsonl").read_text().splitlines()
    assert after[:36] == cells
    ran = [(one["program"], one["problem"], one["draw"]) for one in map(json.loads, after)]
    assert len(set(ran)) == len(ran) > 36  # the other shipped programs; no run is made twice
