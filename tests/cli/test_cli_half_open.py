"""The own-task example, half of its policy questions answered in sentences, which the rules leave open: what
`evaluate` and `compare` print, word for word, here and in docs/grading.md."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from called_verbs import Verbs
from evaluation_values import rollout

from documented import ROOT
from llm_as_judge.assembly import program_options
from llm_as_judge.cli.evaluating import show
from llm_as_judge.config import Config
from llm_as_judge.data.files import read_problems
from llm_as_judge.data.selection import EvaluatedSet
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.evaluation.records import EvaluationRecord, make_plan
from llm_as_judge.evaluation.results import write_results
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Execution, Problem, Rollout
from llm_as_judge.views.console import console
from llm_as_judge.views.open_answers import POINTER, REACH


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
    for answered in asyncio.run(graded(rows, right)):
        record.add(answered)
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
    compared = printed(verb("compare", str(perfect), str(half), "--against", "half")[1])
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
