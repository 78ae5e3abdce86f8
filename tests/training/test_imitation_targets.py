"""A bank's lessons: its best programs, by data set or by problem, by their priced reward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from llm_as_judge.errors import DataError
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.training.imitation_targets import (
    LEAST_PROBLEMS,
    LEAST_WEIGHT,
    MOST_PROGRAMS,
    TEMPERATURE,
    ImitationTarget,
    Write,
    form_targets,
    imitation_targets,
    taught_cells,
)
from llm_as_judge.types import Problem

PROBLEMS = [
    Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
    for n in range(3)
]
PROGRAMS = [BankProgram("math", f"{n:02}", f"p{n}", "given", f"return '{n}'") for n in range(8)]


Cell = tuple[int, int, Sequence[float | None], float]
"""Program, problem, right at each draw, cost."""


def bank_of(folder: Path, *cells: Cell, problems: Sequence[Problem] = PROBLEMS) -> Bank:
    with Bank.writing(folder, {}) as bank:
        for program in PROGRAMS:
            bank.add_program(program)
        for problem in problems:
            bank.add_problem(problem)
        for j, p, verdicts, cost in cells:
            for draw, right in enumerate(verdicts):
                mark, key = None if right is None else float(right), PROGRAMS[j].key
                bank.add(RunRecord(key, problems[p].id, draw, mark, cost, 1, 1, "ok"))
    return bank


def taught(
    bank: Bank, price: float = 0.1, problems: Sequence[Problem] = PROBLEMS, *, unwritten: int = -1
) -> dict[str, dict[int, float]]:
    """Problem -> program -> weight.

    Args:
        unwritten: a program that the policy cannot write.
    """
    cells, write = taught_cells(bank, problems, "here"), writer(unwritten)
    found = imitation_targets(bank, problems, cells, price, write)
    return {one.problem.id: weights(one) for one in found}


def writer(unwritten: int) -> Write:
    ids = {program.key: (n + 10,) for n, program in enumerate(PROGRAMS) if n != unwritten}
    return lambda program: ids.get(program.key)


def weights(lesson: ImitationTarget) -> dict[int, float]:
    return {
        ids[0] - 10: round(weight, 4)
        for ids, weight in zip(lesson.programs_K, lesson.weights_K, strict=True)
    }


def test_equal_rewards_weigh_the_same_and_a_better_one_more(tmp_path: Path) -> None:
    same = bank_of(tmp_path / "same", (0, 0, [1], 50), (1, 0, [1], 50))
    assert taught(same) == {PROBLEMS[0].id: {0: 0.5, 1: 0.5}}
    dearer = bank_of(tmp_path / "dearer", (0, 0, [1], 50), (1, 0, [1], 550))
    found = taught(dearer)[PROBLEMS[0].id]
    assert found[0] == pytest.approx(1 / (1 + math.exp(-0.05 / TEMPERATURE)), abs=1e-4)
    assert taught(dearer, price=0.0) == {PROBLEMS[0].id: {0: 0.5, 1: 0.5}}


def test_what_was_never_right_or_not_graded_teaches_nothing(tmp_path: Path) -> None:
    wrong: list[Cell] = [(0, 0, [0], 5), (1, 0, [0], 50), (0, 1, [None], 5), (0, 2, [0], 0)]
    bank = bank_of(tmp_path, *wrong, (1, 2, [1], 5000))
    assert taught(bank) == {PROBLEMS[2].id: {1: 1.0}}


def test_draws_are_averaged_and_small_weights_are_left_out(tmp_path: Path) -> None:
    bank_of(tmp_path, (0, 0, [1] * 4, 0), (1, 0, [1] * 3, 0), (2, 0, [1] * 4, 5000))
    with Bank.writing(tmp_path, {}) as more:
        more.add(RunRecord(PROGRAMS[1].key, PROBLEMS[0].id, 3, 1.0, 800.0, 1, 1, "ok"))
    found = taught(Bank(tmp_path))[PROBLEMS[0].id]
    assert list(found) == [0, 1]
    assert found[1] / found[0] == pytest.approx(math.exp(-0.02 / TEMPERATURE), abs=1e-3)
    assert min(found.values()) >= LEAST_WEIGHT
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-3)


def test_one_lucky_draw_teaches_less_than_what_is_right_on_the_whole_set(tmp_path: Path) -> None:
    lucky: list[Cell] = [(0, 0, [1], 5), (0, 1, [0] * 4, 5), (0, 2, [0] * 4, 5)]
    steady: list[Cell] = [(1, p, [1, 1, 1, 0], 5) for p in range(3)]
    found = taught(bank_of(tmp_path, *lucky, *steady))[PROBLEMS[0].id]
    assert found[1] > found[0]


def test_a_program_that_did_not_run_on_a_problem_is_judged_by_its_data_set(tmp_path: Path) -> None:
    single: list[Cell] = [(0, p, [1, 1, 0, 0], 5) for p in range(3)]
    better: list[Cell] = [(1, p, [1] * 4, 5) for p in (0, 1)]
    found = taught(bank_of(tmp_path, *single, *better))[PROBLEMS[2].id]
    assert found[1] > found[0]


def test_a_program_that_ran_on_the_easy_problems_alone_is_not_taught_for_that(
    tmp_path: Path,
) -> None:
    """As a search leaves them: those that it dropped have seen its first problems only."""
    rows = [replace(PROBLEMS[0], id=str(n), question=f"What is {n} plus 2?") for n in range(40)]
    easy: list[Cell] = [(j, n, [1, 1, 1, 0], 5) for j in range(2) for n in range(10)]
    hard: list[Cell] = [(0, n, [1, 0, 0, 0], 5) for n in range(10, 40)]
    found = taught(bank_of(tmp_path, *easy, *hard, problems=rows), problems=rows)
    assert [one[0] for one in found.values()] == pytest.approx([0.5] * 40)


def test_a_dear_problem_makes_no_program_dear(tmp_path: Path) -> None:
    alike: list[Cell] = [(j, 1, [1] * 4, 100) for j in range(2)]
    found = taught(bank_of(tmp_path, (0, 0, [1] * 4, 1000), *alike))
    assert found[PROBLEMS[1].id] == {0: 0.5, 1: 0.5}
    assert found[PROBLEMS[0].id] == pytest.approx({0: 0.5, 1: 0.5}, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "taught_first"), [(1, 0), (500, 1)])
def test_a_set_must_show_much_to_be_taught_other_programs_than_its_domain(
    tmp_path: Path, draws: int, taught_first: int
) -> None:
    other = [replace(p, id=f"math/train/{n}", dataset="math") for n, p in enumerate(PROBLEMS)]
    rows = [*PROBLEMS, *other]
    better, worse = [1, 1, 1, 0], [1, 1, 0, 0]  # of four draws; in a small set, and in the domain
    cells: list[Cell] = []
    for p, problem in enumerate(rows):
        small = problem.dataset == "math"
        for j in range(2):
            cells.append((j, p, (better if j == small else worse) * (draws if small else 100), 5))
    of_math = taught(bank_of(tmp_path, *cells, problems=rows), problems=rows)[other[0].id]
    assert of_math[taught_first] == max(of_math.values())


def test_a_program_that_was_wrong_at_every_draw_is_not_taught_there(tmp_path: Path) -> None:
    good: list[Cell] = [(0, p, [p < 2] * 4, 5) for p in range(3)]
    assert taught(bank_of(tmp_path, *good, (1, 2, [1, 0, 0, 0], 5)))[PROBLEMS[2].id] == {1: 1.0}


MANY = [
    replace(PROBLEMS[0], id=f"gsm8k/train/{n}", question=f"What is {n} plus 2?")
    for n in range(LEAST_PROBLEMS + 4)
]


def first_of_many(folder: Path, *cells: Cell, price: float) -> list[int | None]:
    """The program that weighs most on each of ``MANY``; None where nothing is taught."""
    found = taught(bank_of(folder, *cells, problems=MANY), price, MANY)
    first = {id_: max(of, key=of.__getitem__) for id_, of in found.items()}
    return [first.get(problem.id) for problem in MANY]


def test_where_no_problem_wants_another_program_all_teach_the_same(tmp_path: Path) -> None:
    """Also those that nothing solves: there the dear program costs most."""
    cells: list[Cell] = []
    for p in range(len(MANY)):
        solved = p % 2 == 0
        cells.append((0, p, [solved] * 4, 100))
        cells.append((1, p, [solved, solved, 0, 0], 20 if solved else 10))
    assert first_of_many(tmp_path / "a", *cells, price=0.03) == [0] * len(MANY)
    assert first_of_many(tmp_path / "b", *cells, price=4.0) == [1] * len(MANY)


def test_where_problems_want_other_programs_each_teaches_its_own(tmp_path: Path) -> None:
    asked = range(2, len(MANY))  # and two that nothing has run on
    cells: list[Cell] = [(j, p, [p % 2 == j] * 4, 10) for p in asked for j in range(2)]
    found = first_of_many(tmp_path, *cells, price=0.1)
    assert found == [None, None, *(p % 2 for p in asked)]


def test_luck_on_single_draws_is_no_reason_to_teach_by_problem(tmp_path: Path) -> None:
    """What is right at the even draws of a problem is wrong at the odd ones."""
    cells: list[Cell] = [
        (j, p, [(draw + p + j) % 2 for draw in range(4)], 10 + j)
        for p in range(len(MANY))
        for j in range(2)
    ]
    assert len(set(first_of_many(tmp_path, *cells, price=0.1))) == 1


def test_too_few_problems_do_not_tell_that_all_want_the_same(tmp_path: Path) -> None:
    cells: list[Cell] = [(j, p, [j == 0] * 2, 10) for p in range(LEAST_PROBLEMS) for j in range(2)]
    for name, some, last in (("many", cells, 0), ("few", cells[2:], None)):
        unsolved: Cell = (0, LEAST_PROBLEMS + 1, [0, 0], 10)
        found = first_of_many(tmp_path / name, *some, unsolved, price=0.1)
        assert found[LEAST_PROBLEMS + 1] == last


def test_a_problem_has_a_few_programs_and_of_equal_ones_always_the_same(tmp_path: Path) -> None:
    bank = bank_of(tmp_path, *((j, 0, [1], 5) for j in reversed(range(8))))
    assert taught(bank) == {PROBLEMS[0].id: dict.fromkeys(range(MOST_PROGRAMS), 0.25)}


def test_a_program_that_cannot_be_written_gives_its_place_to_others(tmp_path: Path) -> None:
    bank = bank_of(tmp_path, (0, 0, [1], 5), (1, 0, [1], 500))
    assert taught(bank, unwritten=0) == {PROBLEMS[0].id: {1: 1.0}}


def taught_alike(bank: Bank, unwritten: int = -1) -> dict[str, dict[int, float]]:
    """Problem -> program -> weight, where the form is taught."""
    found = form_targets(bank, PROBLEMS, taught_cells(bank, PROBLEMS, "here"), writer(unwritten))
    return {one.problem.id: weights(one) for one in found}


def test_the_form_is_taught_alike_whatever_was_right_there(tmp_path: Path) -> None:
    cells: list[Cell] = [(j, p, [p == j], 10 + j) for p in (0, 1) for j in range(2)]
    found = taught_alike(bank_of(tmp_path, *cells, (1, 2, [0], 5)))
    assert found == {problem.id: {0: 0.5, 1: 0.5} for problem in PROBLEMS}


def test_the_form_of_the_front_comes_before_what_lies_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_as_judge.training.imitation_targets.FORM_PROGRAMS", 3)
    of_program = {0: (0.2, 10.0), 1: (0.9, 90.0), 2: (0.1, 50.0), 3: (0.8, 95.0), 4: (0.0, 99.0)}
    bank = bank_of(tmp_path, *((j, 0, [right], cost) for j, (right, cost) in of_program.items()))
    (found,) = taught_alike(bank).values()
    assert set(found) == {0, 1, 2, 3}  # 2 and 3 are the front of what is left
    (found,) = taught_alike(bank, 0).values()
    assert set(found) == {1, 2, 3}


def test_a_bank_of_other_problems_is_one_line(tmp_path: Path) -> None:
    bank = bank_of(tmp_path, (0, 0, [1], 5))
    others = [replace(problem, question="What is it?") for problem in PROBLEMS]
    with pytest.raises(
        DataError,
        match=r"^training.warm_start: FOLDER: none of its 3 problems is one of the 3 training "
        r"problems; fill one on these: llm-as-judge headroom FILE, or search --split train$",
    ):
        taught_cells(bank, others, "training.warm_start: FOLDER")
