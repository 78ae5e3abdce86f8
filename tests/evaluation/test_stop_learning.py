"""Learning when to stop: where the best rule is known, it is found; who learns does not see whom it is held against."""

from __future__ import annotations

import random

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
    stopped,
)
from llm_as_judge.operators.stopping import StopState


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
    assert set(rules) == {"0.01", "0.03", "0.1", "0.3", "1"}
    assert len(learned.votes) == 4
    costs = [one.cost for one in learned.prices]
    assert costs == sorted(costs, reverse=True)
    middle = learned.prices[2]
    assert middle.cost < learned.votes[3][1]
