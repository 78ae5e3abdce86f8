"""Intervals and tests against figures worked by hand."""

from __future__ import annotations

import itertools
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.accuracy import Right
from llm_as_judge.statistics import (
    bootstrap,
    detectable,
    difference_interval,
    even_precision,
    holm,
    mcnemar,
    paired,
    paired_p,
    pass_at_k,
    share_interval,
    wilson,
)


# --------------------------------------------------------------------------------------- bootstrap
def test_the_bootstrap_of_two_values_knows_three_means() -> None:
    # of {0, 1} the mean is 0, 1/2 or 1 with chance 1/4, 1/2, 1/4: the ends of 95 % are 0 and 1
    assert bootstrap([0.0, 1.0]) == (0.0, 1.0)
    # and the middle 40 % lie on 1/2
    assert bootstrap([0.0, 1.0], confidence=0.4) == (0.5, 0.5)


def test_the_bootstrap_is_near_the_normal_interval_of_many_values() -> None:
    # 400 values, half 0 and half 1: deviation of the mean 0.5 / 20, times 1.96 = 0.049
    low, high = bootstrap([0.0, 1.0] * 200)
    assert low == pytest.approx(0.451, abs=0.01)
    assert high == pytest.approx(0.549, abs=0.01)


def test_the_bootstrap_is_seeded() -> None:
    values = [0.1, 0.4, 0.9, 0.2]
    assert bootstrap(values) == bootstrap(values)
    assert bootstrap(values, seed=1, resamples=50) != bootstrap(values, seed=2, resamples=50)


def test_equal_values_have_no_width_and_none_no_interval() -> None:
    assert bootstrap([0.25] * 5) == (0.25, 0.25)
    with pytest.raises(ValueError, match="no values"):
        bootstrap([])


# ------------------------------------------------------------------------------ score intervals
def test_equal_shares_have_a_width_and_a_single_yes_or_no_is_wilsons() -> None:
    assert share_interval([1.0] * 9) == wilson(9, 9)
    assert share_interval([1.0, 0.0, 1.0]) == wilson(2, 3)
    assert share_interval([0.5, 0.5]) == wilson(1, 2)
    assert share_interval([]) == (0.0, 1.0)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_the_interval_of_shares_holds_their_mean(values: list[float]) -> None:
    low, high = share_interval(values)
    assert 0 <= low <= sum(values) / len(values) + 1e-12
    assert sum(values) / len(values) - 1e-12 <= high <= 1


def test_the_paired_interval_is_the_published_one() -> None:
    # Fagerland, Lydersen, Laake 2014: 1 and 7 discordant of 21 pairs
    published = difference_interval([1.0] * 1 + [-1.0] * 7 + [0.0] * 13)
    assert published == pytest.approx((-0.517, -0.026), abs=5e-4)
    # PropCIs::scoreci.mp(25, 28, 618, 0.9)
    other = difference_interval([1.0] * 28 + [-1.0] * 25 + [0.0] * 565, 0.9)
    assert other == pytest.approx((-0.0148, 0.0247), abs=5e-5)


@pytest.mark.parametrize("pairs", [1, 4, 30])
def test_pairs_that_are_all_alike_are_no_certainty(pairs: int) -> None:
    _, most = wilson(0, pairs)
    assert difference_interval([0.0] * pairs) == pytest.approx((-most, most), abs=1e-8)
    # all one way: z^2 (1 + d) = n (1 - d)
    low, high = difference_interval([1.0] * pairs)
    assert (low, high) == pytest.approx(
        ((pairs - 1.959964**2) / (pairs + 1.959964**2), 1), abs=1e-6
    )


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_the_paired_interval_leaves_out_0_where_mcnemars_chi_square_does(
    first: int, second: int, same: int
) -> None:
    if not first + second + same:
        return
    low, high = difference_interval([1.0] * first + [-1.0] * second + [0.0] * same)
    square = (first - second) ** 2 / max(1, first + second)
    assert (low > 0 or high < 0) == (square > 1.959964**2)
    assert -1 <= low <= high <= 1


def test_the_paired_interval_of_few_problems_covers_the_truth() -> None:
    draw = np.random.default_rng(0)
    inside = 0
    for _ in range(1000):
        low, high = difference_interval(list(draw.choice([1.0, -1.0, 0.0], 20, p=[0.2, 0.1, 0.7])))
        inside += low <= 0.1 <= high
    assert inside / 1000 == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize(("problems", "samples"), [(10, 5), (65, 2), (200, 5)])
def test_the_paired_interval_of_several_samples_covers_the_truth_and_is_no_wider_than_it_must(
    problems: int, samples: int
) -> None:
    draw = np.random.default_rng(0)
    inside, widths, spread = 0, [], []
    for _ in range(500):
        hard = draw.normal(0, 2, (2, problems)) / 2**0.5 + draw.normal(0, 2, problems) / 2**0.5
        right = draw.binomial(samples, 1 / (1 + np.exp(-hard))) / samples
        differences = right[0] - right[1]
        low, high = difference_interval(list(differences))
        inside += low <= 0 <= high
        widths.append(high - low)
        spread.append(differences.mean())
    assert inside / 500 == pytest.approx(0.955, abs=0.03)
    assert np.mean(widths) < 1.3 * 2 * 1.96 * np.std(spread)


def test_an_interval_of_no_differences_is_refused() -> None:
    with pytest.raises(ValueError, match="no differences"):
        difference_interval([])


# ----------------------------------------------------------------------------------- paired tests
def test_what_is_called_detectable_is_found_in_four_of_five_repetitions() -> None:
    problems, discordant = 400, 0.3
    draw = np.random.default_rng(0)
    pairs = draw.choice([1.0, -1.0, 0.0], problems * 50, p=[0.15, 0.15, 0.7])
    gap = detectable(list(pairs))
    assert gap is not None
    gap *= 50**0.5  # of as many problems as one repetition has
    shares = [(discordant + gap) / 2, (discordant - gap) / 2]
    counts = draw.multinomial(problems, [*shares, 1 - discordant], 1000)
    found = sum(mcnemar(int(a), int(b)) < 0.05 for a, b, _ in counts) / 1000
    assert found == pytest.approx(0.8, abs=0.05)


def test_nothing_is_known_of_pairs_that_never_differ() -> None:
    assert detectable([0.0] * 9) is None


def test_problems_too_few_to_show_any_difference_have_no_power() -> None:
    assert detectable([1.0, -1.0, 0.0]) is None
    assert detectable([1.0, *[0.0] * 8]) == pytest.approx(2.8016 / 9, abs=1e-3)
    with pytest.raises(ValueError, match="no problems"):
        detectable([])


def test_mcnemar_by_hand() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(1, 0) == 1.0
    # 6 of 6 one way: 2 / 2^6
    assert mcnemar(6, 0) == mcnemar(0, 6) == pytest.approx(2 / 64)
    # 8 : 2 of 10: 2 (1 + 10 + 45) / 1024
    assert mcnemar(8, 2) == pytest.approx(112 / 1024)


def test_the_paired_test_is_mcnemars_of_whole_differences_and_exact_of_few_parts() -> None:
    assert paired_p([1.0] * 8 + [-1.0] * 2 + [0.0] * 30) == mcnemar(8, 2)
    # 3 of 3 one way: 2 / 2^3, however large each is
    assert paired_p([0.2, 0.6, 0.4]) == pytest.approx(0.25)
    # sums as large as .7: +.5+.4-.2 and both signs of it, +++: 4 of 8
    assert paired_p([0.5, 0.4, -0.2]) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no differences"):
        paired_p([])


@pytest.mark.slow
def test_the_paired_test_of_parts_holds_its_level() -> None:
    draw = np.random.default_rng(0)
    found = [
        paired_p(list((draw.binomial(5, 0.4, 40) - draw.binomial(5, 0.4, 40)) / 5))
        for _ in range(100)
    ]
    assert sum(p < 0.05 for p in found) <= 12
    assert 0.3 < np.mean(found) < 0.7


def test_mcnemar_of_thousands_is_a_number() -> None:
    assert 0 < mcnemar(5000, 5400) < 1e-3
    with pytest.raises(ValueError, match="counts"):
        mcnemar(-1, 2)


def test_holm_by_hand() -> None:
    # sorted .01 .02 .04: times 3, 2, 1 = .03 .04 .04
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


# --------------------------------------------------------------------------------------- pass@k
def test_pass_at_k_by_hand() -> None:
    assert pass_at_k(5, 1, 1) == pytest.approx(1 / 5)
    assert pass_at_k(5, 2, 2) == pytest.approx(1 - 3 / 10)
    assert pass_at_k(4, 0, 2) == 0.0
    assert pass_at_k(4, 3, 2) == 1.0  # every pair holds a right one


@given(st.integers(1, 12), st.data())
def test_pass_at_k_is_the_share_of_subsets_with_a_right_one(n: int, data: st.DataObject) -> None:
    correct, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    subsets = list(combinations([True] * correct + [False] * (n - correct), k))
    assert pass_at_k(n, correct, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize(("samples", "correct", "k"), [(3, 1, 4), (3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_have_no_pass_at_k(samples: int, correct: int, k: int) -> None:
    with pytest.raises(ValueError, match="pass@"):
        pass_at_k(samples, correct, k)


# --------------------------------------------------------------------------------- with open answers
def test_an_open_answer_widens_the_difference_to_both_ends() -> None:
    perfect, half = [Right(1.0)] * 12, [Right(1.0)] * 6 + [Right(0.0, 1.0)] * 6
    found = paired(perfect, half)
    assert (found.difference, found.least, found.most) == (0.5, 0.0, 0.5)
    assert found.p == mcnemar(6, 0)
    assert found.p_most == 1.0
    assert (found.low, found.high) == (
        difference_interval([0.0] * 12)[0],
        difference_interval([1.0] * 6 + [0.0] * 6)[1],
    )


def test_without_open_answers_it_is_the_paired_test() -> None:
    first, second = [Right(1.0)] * 9 + [Right(0.0)], [Right(0.0)] * 8 + [Right(1.0)] * 2
    found, values = paired(first, second), [1.0] * 8 + [0.0, -1.0]
    assert (found.p, found.p_most) == (paired_p(values), paired_p(values))
    assert (found.low, found.high) == difference_interval(values)
    assert found.least == found.difference == found.most == pytest.approx(0.7)


@given(
    st.lists(
        st.tuples(*[st.sampled_from((Right(1.0), Right(0.0), Right(0.0, 1.0)))] * 2),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=40, deadline=None)
def test_no_filling_of_the_open_answers_has_a_greater_p(pairs: list[tuple[Right, Right]]) -> None:
    found = paired([a for a, _ in pairs], [b for _, b in pairs])
    flat = [one for pair in pairs for one in pair]
    for guess in itertools.product((0.0, 1.0), repeat=sum(one.open > 0 for one in flat)):
        guesses = iter(guess)
        known = [next(guesses) if one.open else one.right for one in flat]
        differences = [a - b for a, b in zip(known[::2], known[1::2], strict=True)]
        assert paired_p(differences) <= found.p_most + 1e-12
        assert found.least - 1e-9 <= sum(differences) / len(differences) <= found.most + 1e-9


# ----------------------------------------------------------------------------------------- shares
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
