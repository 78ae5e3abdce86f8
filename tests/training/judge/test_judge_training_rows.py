"""Rows of a judge: questions apart, nothing twice, labels that hold, broken files refused."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from lake_cases import LAKES, case, many
from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import DataError
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.training.judge.rows import (
    Graded,
    Sets,
    is_for_calibration,
    question_key,
    read_training_rows,
    require_learnable,
    source_name,
    split_sets,
    without_duplicates,
)
from llm_as_judge.training.judge.sources import BARE
from llm_as_judge.types import Problem


async def sets_of(rules: Judge, seed: int = 0, limit: int | None = None) -> Sets:
    return await split_sets(many(), [], rules, seed=seed, limit=limit)


def asked_of(side: Iterable[Graded]) -> set[str]:
    return {question_key(one.case) for one in side}


@pytest.mark.slow
async def test_thresholds_are_chosen_on_peoples_labels_of_other_questions(rules: Judge) -> None:
    sets = await sets_of(rules)
    labeled = [g for g in sets.calibrate if g.case.category == "labeled"]
    made = [g for g in sets.calibrate if g.case.category != "labeled"]
    assert {g.case.correct for g in labeled} == {True, False}
    assert made  # they bound the thresholds: wrong, and left open by the rules
    assert all(g.open and not g.case.correct for g in made)
    assert sets.learn
    assert not asked_of(sets.learn) & asked_of(sets.calibrate)
    assert 2 * sum(g.case.correct for g in sets.learn) == len(sets.learn)


@pytest.mark.slow
async def test_the_same_seed_gives_the_same_examples_and_another_seed_others(rules: Judge) -> None:
    first, again, other = [await sets_of(rules, seed, limit=40) for seed in (1, 1, 2)]
    assert first == again
    assert first.learn != other.learn
    assert 2 * sum(g.case.correct for g in first.learn) == len(first.learn) <= 40


def test_a_longer_file_keeps_each_question_on_its_side() -> None:
    spelled = case(3, "x", True)
    shouted = Case(
        Problem("other", "open", "qa", spelled.problem.question.upper() + "!", ("g",)),
        "x",
        True,
        "",
    )
    assert is_for_calibration(spelled, 5) is is_for_calibration(shouted, 5)
    assert {is_for_calibration(case(n, "x", True), 5) for n in range(40)} == {True, False}


def test_the_same_answer_counts_once_and_one_with_two_labels_not_at_all() -> None:
    rows = [case(1, "a", True), case(1, "a", True), case(1, "b", True), case(1, "b", False)]
    kept, again, torn = without_duplicates(rows)
    assert [one.candidate for one in kept] == ["a"]
    assert (again, torn) == (1, 2)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([case(n, "x", True) for n in range(5)], "5 labeled rows, wanted 40 or more"),
        ([case(n, "x", True) for n in range(60)], "no answer is labeled wrong"),
        ([case(n, "x", False) for n in range(60)], "no answer is labeled right"),
    ],
)
def test_rows_that_nothing_can_be_learned_from_are_refused(rows: list[Case], said: str) -> None:
    with pytest.raises(DataError, match=said) as error:
        require_learnable(rows, "rows.jsonl")
    assert str(error.value).startswith("rows.jsonl: ")
    assert "\n" not in str(error.value)


ROW = {"id": "1", "domain": "qa", "question": "Which?", "reference": "Venn"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {**ROW, "candidate": "Venn"},
            "no 'correct'; a labeled row has 'candidate' and 'correct', a question alone",
        ),
        ({**ROW, "correct": True}, "no 'candidate'"),
        ({**ROW, "candidate": "Venn", "correct": "yes"}, "'correct' must be true or false"),
        (
            {
                "id": "1",
                "domain": "code",
                "tests": ["assert f()"],
                "candidate": "x",
                "correct": True,
            },
            "a code row: .*leave code rows out",
        ),
    ],
)
def test_a_broken_row_is_told_with_its_line(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=said) as error:
        read_training_rows([path])
    assert str(error.value).startswith(f"{path}:1: ")


def test_a_row_of_question_and_reference_gives_made_answers_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    labeled, bare = read_training_rows([path])
    assert (labeled, len(bare)) == ([], 1)


@pytest.mark.slow
async def test_every_source_gives_as_many_right_as_wrong_examples_and_none_drowns_another(
    rules: Judge,
) -> None:
    colors = [
        Problem(f"c/{n}", "colors", "qa", f"Which color has flag {n}?", (f"{LAKES[n % 8]} red",))
        for n in range(80)
    ]
    bare = [Case(problem, "", False, BARE, BARE) for problem in colors]
    said: list[tuple[int, int]] = []
    sets = await split_sets(
        many(40), bare, rules, seed=0, limit=120, told=lambda *at: said.append(at)
    )
    assert said == sorted(said)
    assert said[-1] == (120, 120)
    found = Counter((source_name(g.case), g.case.correct) for g in sets.learn)
    for source in ("labeled, open", "made, open", "made, colors"):
        assert found[source, True] == found[source, False] > 0
    assert found["made, open", True] == pytest.approx(found["made, colors", True], abs=1)
    assert sum(found.values()) <= 120
