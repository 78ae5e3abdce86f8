"""Learning when to stop: where the best rule is known, it is found; who learns does not see whom it is held against."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.stop_learning import (
    Draw,
    StopProblem,
    after,
    cross_validated,
    learn_domain,
    learn_rule,
    paths_of,
    stop_problems,
    stopped,
)
from llm_as_judge.operators.stopping import FEATURES, StopState
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Problem


def problem(name: str, *answers: tuple[int | None, bool], cost: float = 100.0) -> StopProblem:
    draws = tuple(Draw(answer, right, cost, cost - 20) for answer, right in answers)
    return StopProblem(name, "made", 80, (draws,))


EASY = [(0, True)] * 4
HOPELESS: list[tuple[int | None, bool]] = [(None, False)] * 4
MIXED: list[tuple[int | None, bool]] = [(0, True), (0, True), (0, True), (1, False)]


def made(count: int) -> list[StopProblem]:
    kinds = (EASY, HOPELESS, MIXED)
    return [problem(f"p{n}", *kinds[n % 3]) for n in range(count)]


def test_a_prompt_counts_once() -> None:
    paths = paths_of([problem("p", *EASY)], 4, ["made"], each=1)
    assert paths.spent_ND.tolist() == [[100.0, 180.0, 260.0, 340.0]]


def test_the_leader_of_equals_is_the_first_drawn() -> None:
    paths = paths_of([problem("p", (0, True), (1, False))], 2, ["made"], each=40)
    assert 0 < paths.right_ND[:, 1].sum() < 40
    assert (paths.right_ND[:, 0] == paths.right_ND[:, 1]).all()


def test_of_equals_whose_replies_are_known_the_likelier_leads() -> None:
    draws = (Draw(0, True, 9, 9, likely=(("w", 0.4),)), Draw(1, False, 9, 9, likely=(("w", 0.7),)))
    paths = paths_of([StopProblem("p", "made", 80, (draws,))], 2, ["made"], each=40)
    assert not paths.right_ND[:, 1].any()


def test_code_that_passes_is_one_class_and_then_the_rest_has_no_vote() -> None:
    fails, passes = Draw(0, False, 9, 9), [Draw(n, True, 9, 9, passed=True) for n in (1, 2)]
    code = StopProblem("p", "made", 80, ((fails, fails, *passes),))
    paths = paths_of([code], 4, ["made"], each=40)
    column = {name: 1 + FEATURES.index(name) for name in FEATURES}
    assert paths.right_ND[:, -1].all()  # two that pass outvote two that are alike
    last = paths.inputs_NDF[:, -1]
    assert (last[:, column["leader"]] == 0.5).all()
    assert (last[:, column["empty"]] == 0.5).all()
    assert (last[:, column["passed"]] == 1).all()
    assert 0 < paths.inputs_NDF[:, 0, column["passed"]].sum() < 40


@pytest.mark.parametrize("passed", [True, None])
def test_of_code_only_problems_count_whose_runs_say_what_passed(
    tmp_path: Path, passed: bool | None
) -> None:
    bank, way = Bank(tmp_path), BankProgram("code", "0", "direct", "shipped", "")
    row = Problem("mbpp/1", "mbpp", "code", "Add.", visible_tests=("assert add(1, 2) == 3",))
    bank.add_problem(row)
    for draw in range(2):
        bank.add(RunRecord(way.key, row.id, draw, 1.0, 9.0, 9, 1, "ok", "a", passed=passed))
    found = stop_problems(Bank(tmp_path), [way], 0.25)
    assert [[draw.passed for draw in one.draws_W[0]] for one in found] == [[True] * 2] * bool(
        passed
    )


def test_it_stops_at_once_on_what_more_draws_cannot_change() -> None:
    paths = paths_of(made(60), 4, ["made"])
    found, vote = stopped(paths, learn_rule(paths, 0.1, ["made"])), after(paths, 4)
    assert found.cost_P.mean() < 0.6 * vote.cost_P.mean()
    assert found.cost_P[1::3].max() == pytest.approx(100.0)
    assert found.right_P.mean() > vote.right_P.mean() - 0.1


def test_a_price_that_is_nothing_draws_on_and_one_that_is_high_does_not() -> None:
    paths = paths_of(made(60), 4, ["made"])
    spent = [
        float(stopped(paths, learn_rule(paths, price, ["made"])).cost_P.mean())
        for price in (1e-9, 0.3, 50.0)
    ]
    assert spent[0] > spent[1] >= spent[2] == pytest.approx(100.0)


def test_noise_is_not_learned_across_problems() -> None:
    chance = random.Random(0)
    problems = [
        problem(f"p{n}", *[(chance.randrange(3), False) for _ in range(4)]) for n in range(60)
    ]
    found = cross_validated(paths_of(problems, 4, ["made"]), 0.05, ["made"])
    assert found.cost_P.mean() < 150
    assert not found.right_P.any()


def test_a_rule_and_the_table_of_its_paths_stop_at_the_same_draw() -> None:
    problems = made(30)
    paths = paths_of(problems, 4, ["made"])
    rule = learn_rule(paths, 0.1, ["made"])
    for n in range(0, len(paths.draws_N), 7):
        state = StopState((1,), 0, 100.0, 80, "made")
        row = (1.0, *state.features(), 1.0)
        seen = paths.inputs_NDF[n, 0]
        if np.allclose(seen, row):
            gain = rule.gain(state)
            assert gain == pytest.approx(float(seen @ np.array(rule.weights_DF[0])))


def test_the_same_seed_gives_the_same_rule() -> None:
    one, other = (paths_of(made(12), 4, ["made"], seed=3) for _ in range(2))
    assert (one.inputs_NDF == other.inputs_NDF).all()
    assert learn_rule(one, 0.1, ["made"]) == learn_rule(other, 0.1, ["made"])


def test_too_few_problems_are_refused_with_what_to_do() -> None:
    with pytest.raises(DataError, match=r"29 problems.*30 are wanted.*pool fill"):
        learn_domain("math", ["cot"], made(29), 4)


def test_figures_of_a_domain_are_cross_validated_and_beside_votes() -> None:
    rules, learned = learn_domain("math", ["cot"], made(60), 4)
    assert set(rules) == {"0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1"}
    assert len(learned.votes) == 4
    costs = [one.cost for one in learned.prices]
    assert costs == sorted(costs, reverse=True)
    (middle,) = (one for one in learned.prices if one.price == 0.1)
    assert middle.cost < learned.votes[3][1]
