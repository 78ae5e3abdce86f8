"""Sources of made examples: problems without their options, and replies of an evaluation."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labeled_rows import rows
from llm_as_judge.audit.attacks import Case
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import DataError
from llm_as_judge.judge.cascade import EXACT_MATCH
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import RunTable
from llm_as_judge.training.judge.examples import free_examples
from llm_as_judge.training.judge.questions import questions_of
from llm_as_judge.training.judge.rows import (
    read_training_rows,
)
from llm_as_judge.training.judge.sources import BARE, without_options
from llm_as_judge.types import Completion, Execution, Problem, Program, Rollout, Verdict

CHOICE = Problem(
    "commonsenseqa/train/1",
    "commonsenseqa",
    "qa",
    "Where would one keep a kettle?",
    ("B",),
    options=("attic", "kitchen", "garden"),
)


def test_a_multiple_choice_is_asked_without_its_options_which_are_near_misses() -> None:
    cases = [Case(CHOICE, "", False, BARE, BARE)]
    rng = random.Random(0)
    (question,) = questions_of(cases, rng)
    assert (question.problem.answers, question.problem.options) == (("kitchen",), ())
    assert set(question.options) == {"attic", "garden"}
    made = free_examples([question], rng)
    options = [one for one in made if one.category == "option"]
    assert len(options) == 2
    assert all("kitchen" not in one.candidate and not one.correct for one in options)
    assert {one.correct for one in made} == {True, False}


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Which of the following is a kitchen tool?"},
        {"options": ("attic", "kitchen", "all of these")},
        {"options": ("attic", "kitchen", "A and B")},
        {"options": ("attic", "kitchen" * 20, "garden")},
        {"options": ("Kitchen", "kitchen")},
    ],
)
def test_a_question_that_says_nothing_without_its_options_is_left_out(
    change: dict[str, Any],
) -> None:
    assert without_options(replace(CHOICE, **change)) is None


def test_files_of_problems_and_labeled_rows_are_told_apart(tmp_path: Path) -> None:
    write_problems(tmp_path / "mine_train.jsonl", [CHOICE])
    labeled = rows(tmp_path / "labeled.jsonl", 0, 2)
    people, bare = read_training_rows([tmp_path / "mine_train.jsonl", labeled])
    assert (len(people), [case.problem for case in bare]) == (4, [CHOICE])


def evaluation(folder: Path) -> Path:
    """One reply for each word of the rules, and one of a judge."""
    sums = Problem("m/1", "math", "math", "6 * 7?", ("42",))
    lake = Problem("q/1", "open", "qa", "Which lake?", ("Venn",))
    table = RunTable(folder)
    replies = [
        (sums, "42", Verdict(True, "math", "number.equal", "")),
        (sums, "41", Verdict(False, "math", "number.different", "")),
        (lake, "It is Venn", Verdict(True, "qa", "qa.equal", "")),
        (lake, "Mora", Verdict(False, "qa", EXACT_MATCH, "")),
        (lake, "the Venn", Verdict(True, "llm", "score.right", "")),
        (lake, "perhaps", Verdict(None, "qa", "qa.unequal", "")),
    ]
    for problem in (sums, lake):
        table.add_problem(problem)
    for at, (problem, reply, verdict) in enumerate(replies):
        nobody = Completion((), (), (), "", "stop")
        run = Rollout(problem.id, at, nobody, Program("", ""), Execution("ok", reply), verdict)
        table.add(RunRecord.of("direct", run, 2))
    return folder


def test_of_an_evaluation_only_what_the_rules_are_sure_of_is_learned(tmp_path: Path) -> None:
    _, bare = read_training_rows([evaluation(tmp_path)])
    assert {(case.candidate, case.correct) for case in bare} == {
        ("42", True),
        ("41", False),
        ("It is Venn", True),
    }
    (question,) = questions_of([c for c in bare if c.problem.domain == "qa"], random.Random(0))
    assert question.right == ("It is Venn",)


def test_a_folder_without_replies_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no runs\.jsonl; wanted JSONL of labeled rows") as error:
        read_training_rows([tmp_path])
    assert "\n" not in str(error.value)
