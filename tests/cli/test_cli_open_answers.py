"""A person is told what was left open, why, and where to read on; answers are untrusted text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from called_verbs import OPTIONS, Verbs
from evaluation_values import RIGHT, answered, group, problem, rollout
from planted import problems, programs

from documented import ROOT
from llm_as_judge.assembly import program_options
from llm_as_judge.cli.evaluating import show
from llm_as_judge.config import Config
from llm_as_judge.data.files import read_problems
from llm_as_judge.data.selection import EvaluatedSet
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.evaluation.program_runs import all_runs
from llm_as_judge.evaluation.records import EvaluationRecord, make_plan
from llm_as_judge.evaluation.results import write_results
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank
from llm_as_judge.types import Execution, Problem, Rollout, Verdict
from llm_as_judge.views.console import console
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


# ------------------------------------------------------------------------------ half of them open
def evaluated(folder: Path, name: str, right: int) -> tuple[EvaluationRecord, Path]:
    """Twelve policy questions, of which the first ``right`` are answered by the reference alone."""
    rows = [
        row
        for row in read_problems(ROOT / "examples" / "own_task.jsonl")
        if row.domain == "qa" and row.answers
    ]
    config = Config.model_validate(
        {
            "executor": {"model": "scripted"},
            "judge": {"model": "none"},
            "output": {"results": folder, "cache": folder / "cache"},
        }
    )
    sets = [EvaluatedSet("own_task_qa", tuple(rows), len(rows))]
    plan = make_plan(config, name, find_system("direct", program_options(config)), sets)
    record = EvaluationRecord.begin(folder / "evaluation" / name / plan.hash, plan, config, rows)
    for one in asyncio.run(graded(rows, right)):
        record.add(one)
    return record, write_results(record, folder / "evaluation")


async def graded(rows: Sequence[Problem], right: int) -> list[Rollout]:
    """Rollouts with the verdicts that the rules give."""
    judge = Judge(workers=1)
    answers = [
        row.answers[0] if number < right else f"The rules say {row.answers[0]}, for everyone here."
        for number, row in enumerate(rows)
    ]
    rollouts = [
        rollout(row, Execution("ok", answer), await judge.grade(row, answer))
        for row, answer in zip(rows, answers, strict=True)
    ]
    await judge.aclose()
    return rollouts


def printed(text: str) -> list[str]:
    """Its lines as words with single blanks, without the frame of a table."""
    plain = text.translate({ord(mark): " " for mark in "┏┳┓┡╇┩└┴┘├┼┤━─│┃"})
    return [" ".join(line.split()) for line in plain.splitlines() if line.split()]


def test_half_open_is_half_right_and_no_difference_rests_on_it(
    verb: Verbs, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_width", 200)  # sentences stay whole
    record, half = evaluated(folder, "half", 6)
    _, perfect = evaluated(folder, "perfect", 12)
    show(record, half, False)
    shown = printed(capsys.readouterr().out)
    compared = printed(
        verb("compare", str(perfect), str(half), "--against", "half", "--details")[1]
    )
    said = shown[-2].partition(" Example: ")[0]
    block = [*shown[2:5], said, *compared]
    wanted = (
        "data set half",
        "own_task_qa 50% to 100% [25%, 100%]",
        "overall 50% to 100% [25%, 100%]",
        f"open: 6 answers (own_task_qa 6), by rule qa.sentence 6. {REACH}",
        "perfect* half",
        "own_task_qa 100 [76, 100] 50 to 100 [25, 100]",
        "open answers 0 6",
        "difference, points +50.0 [-24.2, +74.6]",
        "wins : losses 6 : 0",
        "p 0.031",
        "by open answers, points +0.0 to +50.0",
        "p at most (Holm) 1.000",
        f"open answers: half 6 (own_task_qa 6). {REACH} What to do: {POINTER}",
        (
            "perfect: open answers on 6 problems count as not right; whatever they are, the difference is +0.0 to +50.0 "
            "points, p at most 1.000."
        ),
    )
    assert [line for line in wanted if line not in block] == []
    page = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
    documented = printed(page.partition("<!-- half open -->")[2].partition("<!-- end -->")[0])
    assert [line for line in wanted if line not in documented] == []
