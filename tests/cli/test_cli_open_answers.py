"""A person is told what was left open, why, and where to read on; answers are untrusted text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from called_verbs import OPTIONS, Verbs
from evaluation_values import RIGHT, answered, group, problem
from planted import problems, programs

from llm_as_judge.evaluation.program_runs import all_runs
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank
from llm_as_judge.types import Verdict
from llm_as_judge.views.open_answers import POINTER, REACH, open_answers, open_runs

NOBODY = "undecided by the rules, and there is no judge model to ask"


def left_open(f1: str) -> Verdict:
    return Verdict(None, "qa", "qa.partial", f"official F1 {f1}; {NOBODY}", float(f1))


def test_the_line_has_how_many_of_which_sets_why_an_example_and_where_to_read() -> None:
    groups = [
        group(problem(0), RIGHT),
        answered(problem(1, "own_qa", "qa"), "in two weeks", left_open("0.40")),
        answered(problem(2, "own_qa", "qa"), "in a week", left_open("0.33")),
        answered(problem(3), "x", Verdict(None, "math", "math.form", "not in the form asked for")),
    ]
    assert open_answers(groups, Path("run/rollouts.jsonl")) == (
        f"open: 3 answers (own_qa 2, gsm8k 1), by rule qa.partial 2, math.form 1. {REACH} "
        f'Example: "Question 1?" -> "in two weeks" (official F1 0.40; {NOBODY}). '
        f'All: the lines with "correct": null in run/rollouts.jsonl. What to do: {POINTER}'
    )
    assert open_answers(groups[:1], Path("run")) == ""


def test_an_answer_is_shown_on_one_line_cut_short_and_without_control_characters() -> None:
    told = open_answers(
        [answered(problem(1), "\x1b[31mred\nand\u202e more" + " words" * 100, left_open("0.1"))],
        Path("f"),
    )
    assert told.isprintable()
    assert '-> "[31mred and more words' in told
    assert len(told) < 400


def test_runs_of_a_bank_are_counted_by_set() -> None:
    assert open_runs({}, 9) == ""
    assert open_runs({"a": 1, "b": 2}, 9).startswith("open: 3 of 9 runs (b 2, a 1). ")


@pytest.mark.usefixtures("direct")
def test_evaluate_says_below_its_table_what_was_left_open(verb: Verbs, folder: Path) -> None:
    direct = ("evaluate", *OPTIONS, "--policy", "direct")
    out, _ = verb.done(*direct)
    assert "open:" not in out
    (file,) = (folder / "results" / "evaluation" / "direct").glob("*/runs.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[0]["rollout"]["verdict"] |= {"correct": None, "explanation": NOBODY}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, out, _ = verb(*direct)
    (line,) = (line for line in out.splitlines() if line.startswith("open: "))
    rule = rows[0]["rollout"]["verdict"]["rule"]
    assert line.startswith(f"open: 1 answer (gsm8k 1), by rule {rule} 1. {REACH} Example: ")
    assert f"({NOBODY})" in line
    assert str(file.relative_to(folder)) in line
    assert '"correct": null' in file.read_text()
    assert line.endswith(POINTER)


def test_headroom_says_how_many_runs_were_left_open_and_what_they_could_change(
    verb: Verbs, folder: Path
) -> None:
    rows, taking = problems(6), programs(3)
    with Bank.writing(folder / "bank", {}) as bank:
        for one in taking:
            bank.add_program(one)
        for row in rows:
            bank.add_problem(row)
        for program, row, draw in all_runs(taking, rows, 1):
            cell = RunRecord(program.key, row.id, draw, 1.0, 9.0, 20, 1, "ok")
            bank.add(replace(cell, right=None) if row is rows[0] else cell)
    out, _ = verb.done("headroom", "bank", *OPTIONS[:2])
    assert "open: 3 of 18 runs (gsm8k 3). Every share counts them as not right." in out
    assert "Were all open answers right: one program for each domain 100.0% right instead of" in out
    assert POINTER in out


def test_what_the_line_points_to_is_there() -> None:
    page, _, heading = POINTER.partition("#")
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    assert f"## {heading.replace('-', ' ').capitalize()}" in text
