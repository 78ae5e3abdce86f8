"""The interval of a share, against figures worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.statistics import even_precision, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "wanted"),
    [
        # z = 1.959964, z^2 = 3.841459; the center is 1/2 by symmetry;
        # half = 1.959964 * sqrt(0.25/4 + 3.841459/64) / (1 + 3.841459/4) = 0.349964
        (2, 4, (0.150036, 0.849964)),
        # denominator 1.384146; center (0.8 + 0.192073) / 1.384146 = 0.716740;
        # half = 1.959964 * sqrt(0.016 + 0.009604) / 1.384146 = 0.226577
        (8, 10, (0.490162, 0.943318)),
        # none of n: 0 .. z^2 / (n + z^2) = 3.841459 / 13.841459; all of n mirrors it
        (0, 10, (0.0, 0.277533)),
        (10, 10, (0.722467, 1.0)),
        (0, 0, (0.0, 1.0)),
    ],
)
def test_intervals_by_hand(successes: int, trials: int, wanted: tuple[float, float]) -> None:
    assert wilson(successes, trials) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (0, -1)])
def test_more_successes_than_trials_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="successes of"):
        wilson(successes, trials)


def test_more_confidence_is_a_wider_interval() -> None:
    low, high = wilson(5, 9)
    wider_low, wider_high = wilson(5, 9, confidence=0.99)
    assert wider_low < low < high < wider_high


@given(st.integers(1, 10_000), st.data())
def test_the_share_lies_inside_and_failures_mirror_successes(
    trials: int, data: st.DataObject
) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials <= high <= 1
    other_low, other_high = wilson(trials - successes, trials)
    assert (1 - other_high, 1 - other_low) == pytest.approx((low, high))


def test_an_even_precision_is_below_the_share_and_reaches_it_with_many_rows() -> None:
    for n in (20, 200, 2000, 200_000):
        assert even_precision(n * 9 // 10, n, n // 10, n) < 0.9
    assert even_precision(180_000, 200_000, 20_000, 200_000) == pytest.approx(0.9, abs=0.002)


def test_an_even_precision_does_not_gain_by_more_right_rows_alone() -> None:
    few = even_precision(900, 1000, 5, 100)
    assert even_precision(9_000_000, 10_000_000, 5, 100) == pytest.approx(few, abs=0.003)
    assert even_precision(900, 1000, 50, 1000) > few, "more wrong rows say more"


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [((0, 50, 0, 50), 0.0), ((0, 0, 0, 0), 0.0), ((50, 50, 0, 0), 0.5), ((50, 50, 50, 50), 0.5)],
)
def test_an_even_precision_promises_nothing_without_rows_that_could_show_it(
    counts: tuple[int, int, int, int], wanted: float
) -> None:
    assert even_precision(*counts) <= wanted


def test_an_even_precision_rises_with_right_and_falls_with_wrong_answers() -> None:
    assert even_precision(60, 100, 3, 100) < even_precision(80, 100, 3, 100)
    assert even_precision(80, 100, 4, 100) < even_precision(80, 100, 3, 100)
