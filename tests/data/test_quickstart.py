"""The task of the quickstart: its rows, their gold answers, and what the held-out ones share."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from llm_as_judge.data.quickstart import KINDS, SIZES, quickstart_problems, write_quickstart
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem, Split

SPLITS: tuple[Split, ...] = ("train", "val", "test")
SEEDS = range(5)


def text(problem: Problem) -> str:
    return problem.statement()


def test_one_seed_gives_the_same_rows_and_another_gives_others() -> None:
    assert quickstart_problems(3, "test") == quickstart_problems(3, "test")
    assert quickstart_problems(3, "test") != quickstart_problems(4, "test")


def test_there_are_rows_enough_of_every_kind() -> None:
    rows = {split: quickstart_problems(0, split) for split in SPLITS}
    assert sum(map(len, rows.values())) >= 80
    assert len(rows["test"]) >= 36
    for split in SPLITS:
        for kind in KINDS:
            found = sum(problem.dataset == kind for problem in rows[split])
            assert found == SIZES[kind][split]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_rows_are_equal_in_whatever_split(seed: int) -> None:
    everything = [p for split in SPLITS for p in quickstart_problems(seed, split)]
    assert len({text(p) for p in everything}) == len(everything)
    assert len({p.id for p in everything}) == len(everything)


@pytest.mark.parametrize("seed", SEEDS)
def test_held_out_rows_share_no_name_thing_or_large_number_with_the_others(seed: int) -> None:
    """Tests of functions have sums in them, which may be equal by chance."""

    def particular(split: Split) -> set[str]:
        found: set[str] = set()
        for problem in quickstart_problems(seed, split):
            asked = text(problem)
            if problem.domain == "math":
                found |= {n for n in re.findall(r"\d+", asked) if int(n) > 60}
            if problem.dataset == "lookups":
                found |= set(re.findall(r"[A-Z][a-z]+", problem.context))
            if problem.dataset == "puzzles":
                found |= set(re.findall(r"holds \d+ \w+ (\w+) and", asked))
        return found

    parts = {split: particular(split) for split in SPLITS}
    assert all(parts.values())
    assert not parts["test"] & (parts["train"] | parts["val"])


@pytest.mark.parametrize("seed", SEEDS)
def test_gold_answers_are_what_a_reader_computes(seed: int) -> None:
    for split in SPLITS:
        for problem in quickstart_problems(seed, split):
            asked = text(problem)
            if problem.dataset == "arithmetic":
                a, b, c, d = map(int, re.findall(r"\d+", asked))
                assert problem.answers == (str(a * b - c * d),)
            elif problem.dataset == "puzzles":
                asked_color, thing = re.findall(r"has an? (\w+) (\w+)\?", asked)[0]
                said = re.findall(r"A (\w+) (\w+) costs \d+ euros and weighs (\d+) grams", asked)
                assert said == [(asked_color, thing, *problem.answers)]
            elif problem.dataset == "lookups":
                (person,) = re.findall(r"does (\w+) live", asked)
                (town,) = re.findall(rf"{person} is a \w+ and lives in (\w+)\.", asked)
                assert problem.answers == (town,)


SOLUTIONS = {
    "sum_above": "def sum_above(numbers):\n    return sum(n for n in numbers if n > {k})",
    "count_multiples": "def count_multiples(numbers):\n    return len([n for n in numbers if n % {k} == 0])",
    "shifted": "def shifted(numbers):\n    return [{k} + n for n in numbers]",
    "limited": "def limited(numbers):\n    return [{k} if n > {k} else n for n in numbers]",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_tests_of_functions_accept_a_right_solution_and_refuse_a_wrong_number(seed: int) -> None:
    seen = set()
    for split in SPLITS:
        for problem in quickstart_problems(seed, split):
            if problem.domain != "code":
                continue
            seen.add(problem.entry_point)
            k = int(re.findall(r"\d+", problem.question.partition("It must")[0])[0])
            passes(problem, k)
            with pytest.raises(AssertionError):
                passes(problem, k - 1)
    assert seen <= set(SOLUTIONS)


def passes(problem: Problem, k: int) -> None:
    names: dict[str, object] = {}
    exec(SOLUTIONS[problem.entry_point].format(k=k), names)
    for test in problem.hidden_tests:
        exec(test, names)


async def test_gold_grades_as_right_and_the_product_of_a_puzzles_numbers_as_wrong() -> None:
    grader = Judge()
    try:
        for problem in quickstart_problems(0, "test"):
            if problem.domain == "code":
                continue
            verdict = await grader.grade(problem, problem.answers[0])
            assert verdict.correct is True, problem.id
        puzzle = next(p for p in quickstart_problems(0, "test") if p.dataset == "puzzles")
        numbers = [int(n) for n in re.findall(r"\d+", puzzle.question)]
        for one, other in combinations(numbers, 2):
            assert (await grader.grade(puzzle, str(one * other))).correct is False
    finally:
        await grader.aclose()


def test_files_stand_where_train_and_evaluate_look_for_them(tmp_path: Path) -> None:
    write_quickstart(tmp_path, 0)
    assert {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.jsonl")} == {
        "mixed/train_mixed.jsonl",
        "mixed/val_mixed.jsonl",
        *(f"test/{kind}_test.jsonl" for kind in KINDS),
    }
