"""A bank's lessons: its best programs, by data set or by problem, by their priced reward."""

from __future__ import annotations

import math
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
IDS = {program.key: (n + 10,) for n, program in enumerate(PROGRAMS)}


def bank_of(folder: Path, *cells: tuple[int, int, int, float | None, float]) -> Bank:
    """Cells of (program, problem, draw, right, cost)."""
    with Bank.writing(folder, {}) as bank:
        for program in PROGRAMS:
            bank.add_program(program)
        for problem in PROBLEMS:
            bank.add_problem(problem)
        for j, p, draw, right, cost in cells:
            bank.add(RunRecord(PROGRAMS[j].key, PROBLEMS[p].id, draw, right, cost, 1, 1, "ok"))
    return bank


def taught(bank: Bank, price: float = 0.1) -> dict[str, dict[int, float]]:
    """Problem -> program -> weight."""
    cells = taught_cells(bank, PROBLEMS, "here")
    found = imitation_targets(bank, PROBLEMS, cells, price, lambda program: IDS[program.key])
    return {one.problem.id: weights(one) for one in found}


def weights(lesson: ImitationTarget) -> dict[int, float]:
    return {
        ids[0] - 10: round(weight, 4)
        for ids, weight in zip(lesson.programs_K, lesson.weights_K, strict=True)
    }


def test_equal_rewards_weigh_the_same_and_a_better_one_more(tmp_path: Path) -> None:
    same = bank_of(tmp_path / "same", (0, 0, 0, 1.0, 50), (1, 0, 0, 1.0, 50))
    assert taught(same) == {PROBLEMS[0].id: {0: 0.5, 1: 0.5}}
    dearer = bank_of(tmp_path / "dearer", (0, 0, 0, 1.0, 50), (1, 0, 0, 1.0, 550))
    found = taught(dearer)[PROBLEMS[0].id]
    assert found[0] == pytest.approx(1 / (1 + math.exp(-0.05 / TEMPERATURE)), abs=1e-4)
    assert taught(dearer, price=0.0) == {PROBLEMS[0].id: {0: 0.5, 1: 0.5}}


def test_what_was_never_right_or_not_graded_teaches_nothing(tmp_path: Path) -> None:
    bank = bank_of(
        tmp_path,
        (0, 0, 0, 0.0, 5),
        (1, 0, 0, 0.0, 50),
        (0, 1, 0, None, 5),
        (0, 2, 0, 0.0, 0),
        (1, 2, 0, 1.0, 5000),
    )
    assert taught(bank) == {PROBLEMS[2].id: {1: 1.0}}


def test_draws_are_averaged_and_small_weights_are_left_out(tmp_path: Path) -> None:
    cells = [(0, 0, draw, 1.0, 0.0) for draw in range(4)]
    cells += [(1, 0, draw, 1.0, 800.0 * (draw > 2)) for draw in range(4)]
    cells += [(2, 0, draw, 1.0, 5000.0) for draw in range(4)]
    found = taught(bank_of(tmp_path, *cells))[PROBLEMS[0].id]
    assert list(found) == [0, 1]
    assert found[1] / found[0] == pytest.approx(math.exp(-0.02 / TEMPERATURE), abs=1e-3)
    assert min(found.values()) >= LEAST_WEIGHT
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-3)


def test_one_lucky_draw_teaches_less_than_what_is_right_on_the_whole_set(tmp_path: Path) -> None:
    lucky = [(0, 0, 0, 1.0, 5.0), *((0, p, draw, 0.0, 5.0) for p in (1, 2) for draw in range(4))]
    steady = [(1, p, draw, float(draw < 3), 5.0) for p in range(3) for draw in range(4)]
    found = taught(bank_of(tmp_path, *lucky, *steady))[PROBLEMS[0].id]
    assert found[1] > found[0]


def test_a_program_that_did_not_run_on_a_problem_is_judged_by_its_data_set(tmp_path: Path) -> None:
    single = [(0, p, draw, float(draw < 2), 5.0) for p in range(3) for draw in range(4)]
    better = [(1, p, draw, 1.0, 5.0) for p in (0, 1) for draw in range(4)]
    found = taught(bank_of(tmp_path, *single, *better))[PROBLEMS[2].id]
    assert found[1] > found[0]


def test_a_program_that_ran_on_the_easy_problems_alone_is_not_taught_for_that(
    tmp_path: Path,
) -> None:
    """As a search leaves them: those that it dropped have seen its first problems only."""
    rows = [replace(PROBLEMS[0], id=str(n), question=f"What is {n} plus 2?") for n in range(40)]
    with Bank.writing(tmp_path, {}) as bank:
        for program in PROGRAMS[:2]:
            bank.add_program(program)
        for n, problem in enumerate(rows):
            bank.add_problem(problem)
            easy = n < 10
            for program in PROGRAMS[: 2 if easy else 1]:
                for draw in range(4):
                    verdict = float(draw < (3 if easy else 1))
                    bank.add(RunRecord(program.key, problem.id, draw, verdict, 5.0, 1, 1, "ok"))
    cells = taught_cells(bank, rows, "here")
    found = imitation_targets(bank, rows, cells, 0.1, lambda program: IDS[program.key])
    assert all(weights(one)[0] == pytest.approx(0.5) for one in found)


def test_a_dear_problem_makes_no_program_dear(tmp_path: Path) -> None:
    cells = [(0, 0, draw, 1.0, 1000.0) for draw in range(4)]
    cells += [(j, 1, draw, 1.0, 100.0) for j in range(2) for draw in range(4)]
    found = taught(bank_of(tmp_path, *cells))
    assert found[PROBLEMS[1].id] == {0: 0.5, 1: 0.5}
    assert found[PROBLEMS[0].id] == pytest.approx({0: 0.5, 1: 0.5}, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "taught_first"), [(4, 0), (2000, 1)])
def test_a_set_must_show_much_to_be_taught_other_programs_than_its_domain(
    tmp_path: Path, draws: int, taught_first: int
) -> None:
    other = [replace(p, id=f"math/train/{n}", dataset="math") for n, p in enumerate(PROBLEMS)]
    with Bank.writing(tmp_path, {}) as bank:
        for program in PROGRAMS[:2]:
            bank.add_program(program)
        for problem in (*PROBLEMS, *other):
            bank.add_problem(problem)
            best = int(problem.dataset == "math")  # of a small set; the other speaks for the domain
            for j in range(2):
                number = draws if problem.dataset == "math" else 400
                for draw in range(number):
                    right = float(draw % 4 < 2 + (j == best))
                    bank.add(RunRecord(PROGRAMS[j].key, problem.id, draw, right, 5.0, 1, 1, "ok"))
    rows = [*PROBLEMS, *other]
    cells = taught_cells(bank, rows, "here")
    found = imitation_targets(bank, rows, cells, 0.1, lambda program: IDS[program.key])
    (of_math, *_) = [one for one in found if one.problem.dataset == "math"]
    assert weights(of_math)[taught_first] == max(weights(of_math).values())


def test_a_program_that_was_wrong_at_every_draw_is_not_taught_there(tmp_path: Path) -> None:
    good = [(0, p, draw, float(p < 2), 5.0) for p in range(3) for draw in range(4)]
    other = [(1, 2, draw, float(draw < 1), 5.0) for draw in range(4)]
    assert taught(bank_of(tmp_path, *good, *other))[PROBLEMS[2].id] == {1: 1.0}


MANY = [
    replace(PROBLEMS[0], id=f"gsm8k/train/{n}", question=f"What is {n} plus 2?")
    for n in range(LEAST_PROBLEMS + 4)
]


def of_many(folder: Path, *rows: tuple[int, int, tuple[float, ...], float]) -> Bank:
    """Rows of (program, problem of ``MANY``, right at each draw, cost)."""
    with Bank.writing(folder, {}) as bank:
        for program in PROGRAMS:
            bank.add_program(program)
        for problem in MANY:
            bank.add_problem(problem)
        for j, p, verdicts, cost in rows:
            for draw, right in enumerate(verdicts):
                bank.add(RunRecord(PROGRAMS[j].key, MANY[p].id, draw, right, cost, 1, 1, "ok"))
    return bank


def first_of_many(bank: Bank, price: float) -> list[int | None]:
    """The program that weighs most on each of ``MANY``; None where nothing is taught."""
    cells = taught_cells(bank, MANY, "here")
    lessons = imitation_targets(bank, MANY, cells, price, lambda program: IDS[program.key])
    found = {one.problem.id: max(w := weights(one), key=w.__getitem__) for one in lessons}
    return [found.get(problem.id) for problem in MANY]


def test_where_no_problem_wants_another_program_all_teach_the_same(tmp_path: Path) -> None:
    """Also those that nothing solves: there the dear program costs most."""
    rows = []
    for p in range(len(MANY)):
        solved = p % 2 == 0
        rows.append((0, p, (float(solved),) * 4, 100.0))
        rows.append((1, p, (float(solved), float(solved), 0.0, 0.0), 20.0 if solved else 10.0))
    bank = of_many(tmp_path, *rows)
    assert first_of_many(bank, price=0.03) == [0] * len(MANY)
    assert first_of_many(bank, price=4.0) == [1] * len(MANY)


def test_where_problems_want_other_programs_each_teaches_its_own(tmp_path: Path) -> None:
    rows = [
        (j, p, (float(p % 2 == j),) * 4, 10.0)
        for p in range(len(MANY))
        for j in range(2)
        if p > 1  # and two that nothing has run on
    ]
    found = first_of_many(of_many(tmp_path, *rows), price=0.1)
    assert found == [None, None, *(p % 2 for p in range(2, len(MANY)))]


def test_luck_on_single_draws_is_no_reason_to_teach_by_problem(tmp_path: Path) -> None:
    """What is right at the even draws of a problem is wrong at the odd ones."""
    rows = [
        (j, p, tuple(float((draw + p + j) % 2) for draw in range(4)), 10.0 + j)
        for p in range(len(MANY))
        for j in range(2)
    ]
    assert len(set(first_of_many(of_many(tmp_path, *rows), price=0.1))) == 1


def test_too_few_problems_do_not_tell_that_all_want_the_same(tmp_path: Path) -> None:
    rows = [(j, p, (float(j == 0),) * 2, 10.0) for p in range(LEAST_PROBLEMS) for j in range(2)]
    few = [row for row in rows if row[1] > 0]
    for name, some, last in (("many", rows, 0), ("few", few, None)):
        more = (0, LEAST_PROBLEMS + 1, (0.0, 0.0), 10.0)  # nothing solves this one
        found = first_of_many(of_many(tmp_path / name, *some, more), price=0.1)
        assert found[LEAST_PROBLEMS + 1] == last


def test_a_problem_has_a_few_programs_and_of_equal_ones_always_the_same(tmp_path: Path) -> None:
    bank = bank_of(tmp_path, *((j, 0, 0, 1.0, 5.0) for j in reversed(range(8))))
    assert taught(bank) == {PROBLEMS[0].id: dict.fromkeys(range(MOST_PROGRAMS), 0.25)}


def test_a_program_that_cannot_be_written_gives_its_place_to_others(tmp_path: Path) -> None:
    bank = bank_of(tmp_path, (0, 0, 0, 1.0, 5), (1, 0, 0, 1.0, 500))
    cells = taught_cells(bank, PROBLEMS, "here")
    write = lambda program: None if program.key == PROGRAMS[0].key else IDS[program.key]  # noqa: E731
    (only,) = imitation_targets(bank, PROBLEMS, cells, 0.1, write)
    assert weights(only) == {1: 1.0}


def taught_alike(bank: Bank, *unwritten: int) -> dict[str, dict[int, float]]:
    """Problem -> program -> weight, where the form is taught."""
    cells = taught_cells(bank, PROBLEMS, "here")
    none = {PROGRAMS[n].key for n in unwritten}
    write = lambda program: None if program.key in none else IDS[program.key]  # noqa: E731
    return {one.problem.id: weights(one) for one in form_targets(bank, PROBLEMS, cells, write)}


def test_the_form_is_taught_alike_whatever_was_right_there(tmp_path: Path) -> None:
    rows = [(j, p, 0, float(p == j), 10.0 + j) for p in (0, 1) for j in range(2)]
    found = taught_alike(bank_of(tmp_path, *rows, (1, 2, 0, 0.0, 5.0)))
    assert found == {problem.id: {0: 0.5, 1: 0.5} for problem in PROBLEMS}


def test_the_form_of_the_front_comes_before_what_lies_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_as_judge.training.imitation_targets.FORM_PROGRAMS", 3)
    of_program = {0: (0.2, 10.0), 1: (0.9, 90.0), 2: (0.1, 50.0), 3: (0.8, 95.0), 4: (0.0, 99.0)}
    bank = bank_of(tmp_path, *((j, 0, 0, right, cost) for j, (right, cost) in of_program.items()))
    (found,) = taught_alike(bank).values()
    assert set(found) == {0, 1, 2, 3}  # 2 and 3 are the front of what is left
    (found,) = taught_alike(bank, 0).values()
    assert set(found) == {1, 2, 3}


def test_a_bank_of_other_problems_is_one_line(tmp_path: Path) -> None:
    bank = bank_of(tmp_path, (0, 0, 0, 1.0, 5))
    others = [replace(problem, question="What is it?") for problem in PROBLEMS]
    with pytest.raises(
        DataError,
        match=r"^training.warm_start: FOLDER: none of its 3 problems is one of the 3 training "
        r"problems; fill one on these: llm-as-judge headroom FILE, or search --split train$",
    ):
        taught_cells(bank, others, "training.warm_start: FOLDER")
