"""The learned stop on held-out rows: beside a vote as dear it has more right where some problems are hopeless."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from learned_stop import agreeing, at_cost, cost_for, curve, report
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.stop_learning import Draw, StopProblem, paths_of
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Problem

WAY = BankProgram("math", "0", "cot", "shipped", "")


def filled(folder: Path, part: str, problems: int) -> Bank:
    """Five draws each: a third of the problems easy, a third hopeless and long, the rest right in three of five."""
    folder.mkdir()
    bank = Bank(folder)
    bank.add_program(WAY)
    for n in range(problems):
        kind = n % 3
        bank.add_problem(Problem(f"gsm8k/{part}/{n}", "gsm8k", "math", f"What is {n} + 1?", ("1",)))
        for draw in range(5):
            right = kind == 0 or (kind == 2 and (draw + n) % 5 < 3)
            answer = "" if kind == 1 else str(right or draw)
            cost = 500.0 if kind == 1 else 100.0
            run = RunRecord(
                WAY.key, f"gsm8k/{part}/{n}", draw, float(right), cost, 160, 1, "ok", answer
            )
            bank.add(run)
    return bank


def test_the_table_says_what_was_learned_from_which_and_what_stands_beside(tmp_path: Path) -> None:
    bank, held = filled(tmp_path / "a", "train", 45), filled(tmp_path / "b", "test", 36)
    sentences = {
        name: [float(n % 3 == kind) for kind in range(3)]
        for one in (bank, held)
        for n, name in enumerate(one.problems)
    }
    lines = report(bank, held, 5, sentences).splitlines()
    assert "math: learned from 45 problems, 36 held out" in lines[2]
    cells = {line.split(" | ")[1]: line.strip("| ").split(" | ")[2:] for line in lines[3:]}
    assert {
        "cot",
        "vote of 3",
        "vote of 4",
        "vote of 5",
        "router by words, ridge, low",
    } <= cells.keys()
    assert any(name.startswith("until") for name in cells)
    right, cost, gain, ratio = cells["vote of 5"]
    assert right == "66.7"  # the easy and the mixed ones, whose majority is right
    assert float(cost) > 1000  # five draws, where most go to hopeless problems
    assert float(gain.split(" ")[0]) >= 0
    assert float(ratio.removeprefix("x ").split(" ")[0]) < 0.7
    router = cells["router by sentences, neighbors, low"]  # its vectors say what kind a problem is
    assert float(router[1]) < float(cost)


def test_rows_that_were_learned_from_are_not_held_out(tmp_path: Path) -> None:
    bank = filled(tmp_path / "a", "train", 33)
    with pytest.raises(DataError, match=r"gsm8k/train/0 is in .*; name held-out rows"):
        report(bank, bank, 5)


def test_too_few_held_out_problems_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="3 problems have every draw of cot; 30 are wanted"):
        report(filled(tmp_path / "a", "train", 33), filled(tmp_path / "b", "test", 3), 5)


def test_between_two_prices_the_stop_is_a_mixture() -> None:
    right, cost = np.array([0.6, 0.4]), np.array([300.0, 100.0])
    assert at_cost(right, cost, 200) == pytest.approx(0.5)
    assert at_cost(right, cost, 900) == pytest.approx(0.6)
    assert np.isnan(at_cost(right, cost, 50))
    assert cost_for(right, cost, 0.45) == pytest.approx(150)
    assert cost_for(right, cost, 0.3) == pytest.approx(100)
    assert np.isnan(cost_for(right, cost, 0.7))


def test_agreement_ends_at_the_draw_at_which_so_many_are_equal() -> None:
    draws = tuple(Draw(answer, answer == 1, 10, 10) for answer in (1, 1, 1, 1))
    paths = paths_of([StopProblem("p", "made", 9, (draws,))], 4, ["made"], each=3)
    assert agreeing(paths, 2, 4, tested=False).cost_P.tolist() == [20]
    assert agreeing(paths, 3, 4, tested=False).cost_P.tolist() == [30]
    assert agreeing(paths, 1, 3, tested=True).cost_P.tolist() == [30]  # nothing passes


def test_the_curve_has_a_line_for_each_number_of_problems_and_one_for_all(tmp_path: Path) -> None:
    bank, held = filled(tmp_path / "a", "train", 45), filled(tmp_path / "b", "test", 36)
    lines = curve(bank, held, 5, [30, 90]).splitlines()[2:]
    cells = [line.strip("| ").split(" | ") for line in lines]
    assert [(domain, count) for domain, count, *_ in cells] == [("math", "30"), ("math", "45")]
    for _, _, gain, worst, ratio in cells:
        assert float(gain) >= float(worst) >= 0
        assert float(ratio.removeprefix("x ")) <= 1
