"""Thresholds keep the precision that was asked for, or there are none."""

import math
import random
from dataclasses import replace

import pytest

from llm_as_judge.judge.calibration import (
    MADE_ACCEPTED,
    Scored,
    Thresholds,
    calibrated,
    platt,
    probability,
)
from llm_as_judge.judge.parts import HOLDING, OTHER_NUMBER
from llm_as_judge.statistics import even_precision, wilson


def noisy(n: int, flipped: float, seed: int = 0) -> list[Scored]:
    """Answers whose label the sign of the log-odds tells, but for a share of flipped labels."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        log_odds = rng.uniform(-4, 4)
        correct = (log_odds > 0) is not (rng.random() < flipped)
        rows.append(Scored("qa", correct, None, log_odds))
    return rows


def accepted(rows: list[Scored], thresholds: Thresholds) -> list[bool]:
    return [r.correct for r in rows if r.log_odds is not None and thresholds.verdict(r.log_odds)]


def test_acceptances_and_rejections_keep_the_lower_bound() -> None:
    rows = noisy(1500, 0.01)
    limits = calibrated(rows, 0.97)["qa"]
    right = accepted(rows, limits)
    assert wilson(sum(right), len(right))[0] >= 0.97
    wrong = [not r.correct for r in rows if r.log_odds and limits.verdict(r.log_odds) is False]
    assert wilson(sum(wrong), len(wrong))[0] >= 0.97
    assert len(right) > 600
    assert len(wrong) > 600


def test_between_the_thresholds_it_abstains() -> None:
    limits = Thresholds(accept=1.0, reject=-2.0, scale=1.0, offset=0.0, rows=9)
    assert [limits.verdict(x) for x in (1.0, 0.99, -1.99, -2.0)] == [True, None, None, False]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(noisy(1500, 0.10), id="a tenth of the labels is flipped"),
        pytest.param(noisy(60, 0.0), id="too few rows to promise anything"),
        pytest.param([Scored("qa", True, True)] * 3, id="nothing reached the judge"),
    ],
)
def test_a_promise_that_cannot_be_kept_gives_no_threshold(rows: list[Scored]) -> None:
    limits = calibrated(rows, 0.97)["qa"]
    assert (limits.accept, limits.reject) == (None, None)
    assert limits.verdict(4.0) is None


def test_what_the_rules_decide_counts_among_acceptances() -> None:
    rows = noisy(60, 0.0)
    alone = calibrated(rows, 0.97)["qa"]
    ruled = [*[Scored("qa", True, True)] * 400, *[Scored("qa", False, False)] * 400]
    beside = calibrated([*rows, *ruled], 0.97)["qa"]
    assert alone.accept is None
    assert beside.accept is not None
    spoiled = calibrated([*rows, *ruled, *[Scored("qa", False, True)] * 40], 0.97)["qa"]
    assert spoiled.accept is None


@pytest.mark.slow
def test_rows_that_are_mostly_right_do_not_make_a_blind_judge_precise() -> None:
    """It says the same of all: among 98 % right answers its acceptances would look precise."""
    rng = random.Random(0)
    blind = [Scored("qa", at % 50 > 0, None, rng.uniform(-4, 4)) for at in range(4000)]
    taken = [row.correct for row in blind]
    assert wilson(sum(taken), len(taken))[0] >= 0.97
    assert calibrated(blind, 0.97)["qa"].accept is None
    turned = [Scored("qa", not row.correct, None, row.log_odds) for row in blind]
    assert calibrated(turned, 0.97)["qa"].reject is None


@pytest.mark.slow
def test_more_right_rows_of_the_same_scores_move_the_threshold_little() -> None:
    rows = noisy(3000, 0.02)
    more = [*rows, *[row for row in rows if row.correct] * 9]
    few, many = calibrated(rows, 0.95)["qa"].accept, calibrated(more, 0.95)["qa"].accept
    assert few is not None
    assert many is not None
    assert abs(few - many) < 0.25


def test_each_domain_has_its_own_thresholds() -> None:
    mathematics = [
        Scored("math", row.correct, None, -row.log_odds) for row in noisy(900, 0.0) if row.log_odds
    ]
    found = calibrated([*noisy(900, 0.0), *mathematics], 0.97)
    assert set(found) == {"math", "qa"}
    assert found["qa"].accept is not None
    assert found["math"].accept is None


def questions(holding: int, other: int, wrong_holding: int, wrong_other: int) -> list[Scored]:
    """Right replies that hold the gold and score low, near misses that score high."""
    rng = random.Random(1)
    parts = (
        (HOLDING, holding, True, (-2, 2)),
        ("", other, True, (-2, 4)),
        (HOLDING, wrong_holding, False, (-4, -3)),
        ("", wrong_other, False, (-4, 2)),
    )
    return [
        Scored("qa" + part, correct, None, rng.uniform(*scores))
        for part, n, correct, scores in parts
        for _ in range(n)
    ]


@pytest.mark.slow
def test_a_reply_that_holds_the_gold_needs_less_than_one_that_does_not() -> None:
    rows = questions(600, 300, 200, 400)
    found = calibrated(rows, 0.95)
    holding, other = found["qa" + HOLDING].accept, found["qa"].accept
    assert holding is not None
    assert other is not None
    assert holding < -1 < 1 < other
    together = calibrated([replace(row, domain="qa") for row in rows], 0.95)["qa"].accept
    assert together is not None
    assert holding < together


@pytest.mark.slow
def test_both_parts_together_keep_the_promise() -> None:
    rows = questions(600, 300, 200, 400)
    found = calibrated(rows, 0.95)
    taken = [row for row in rows if row.log_odds and found[row.domain].verdict(row.log_odds)]
    right, wrong = (sum(row.correct is label for row in taken) for label in (True, False))
    assert even_precision(right, 900, wrong, 600) >= 0.95


def test_answers_made_wrong_bound_the_threshold_and_count_for_nothing_else() -> None:
    rows = noisy(1500, 0.0)
    made = [Scored("qa", False, None, 1.0 + at / 1000, made=True) for at in range(1000)]
    plain, bound = calibrated(rows, 0.97)["qa"], calibrated([*rows, *made], 0.97)["qa"]
    assert plain.accept is not None
    assert bound.accept is not None
    assert plain.accept < 1.0 < bound.accept
    accepted_of_made = sum(row.log_odds >= bound.accept for row in made if row.log_odds)
    assert wilson(accepted_of_made, 1000)[1] <= MADE_ACCEPTED
    assert accepted_of_made > 5
    assert (plain.scale, plain.offset, plain.rows) == (bound.scale, bound.offset, bound.rows)


def test_few_made_answers_are_all_kept_out() -> None:
    made = [Scored("qa", False, None, at / 10, made=True) for at in range(30)]
    accept = calibrated([*noisy(1500, 0.0), *made], 0.97)["qa"].accept
    assert accept is not None
    assert accept > 2.9


def test_a_reply_with_another_number_is_never_accepted_and_may_be_rejected() -> None:
    rows = noisy(1500, 0.0)
    others = [replace(row, domain="qa" + OTHER_NUMBER) for row in noisy(900, 0.0, seed=1)]
    found = calibrated([*rows, *others], 0.97)
    assert found["qa" + OTHER_NUMBER].accept is None
    assert found["qa" + OTHER_NUMBER].reject is not None
    assert found["qa"].accept is not None
    alone = calibrated(others, 0.97)
    assert alone["qa" + OTHER_NUMBER].accept is None


def test_the_curve_through_the_labels_is_finite_and_rises() -> None:
    scale, offset = platt([(x, x > 1) for x in (-3.0, -1.0, 0.0, 2.0, 3.0)])
    assert 0 < scale < math.inf
    assert math.isfinite(offset)
    limits = Thresholds(None, None, scale, offset, 5)
    assert probability(-900.0, limits) < 0.5 < probability(900.0, limits)


def test_equal_scores_are_all_accepted_or_none() -> None:
    rows = [Scored("qa", at % 2 == 0, None, 1.0) for at in range(400)]
    assert calibrated(rows, 0.97)["qa"].accept is None
