"""Intervals of means and tests of differences, one value a problem.

One problem is the unit everywhere: several samples of one problem are averaged first, because
they are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

import numpy as np

from llm_as_judge.accuracy import Right
from llm_as_judge.intervals import wilson

RESAMPLES = 5_000
"""Of a bootstrap: the ends of a 95 % interval then stand on 125 resamples each."""
_Z_POWER_80 = 1.959964 + 0.841621
"""Normal quantiles of 97.5 % (two-sided 5 %) and 80 %."""
_VALUES_AT_ONCE = 4_000_000


def bootstrap(
    values: Sequence[float], *, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of ``values``, one value a problem.

    Of values that are all equal it has no width, and reads as certainty where there is none: what
    is shown to a person is :func:`share_interval`, with this beside it. Source: Efron 1979,
    https://doi.org/10.1214/aos/1176344552.
    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("an interval of no values")
    data = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(seed)
    at_once = max(1, _VALUES_AT_ONCE // len(data))
    means: list[float] = []
    while len(means) < resamples:
        rows = min(at_once, resamples - len(means))
        means.extend(data[random.integers(0, len(data), (rows, len(data)))].mean(axis=1))
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def share_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % Wilson interval of the mean of ``values``, each in 0..1; (0, 1) of none.

    Of several samples or seeds a problem it is wider than it need be, never narrower, and it has
    a width where all values are equal.
    """
    return wilson(math.fsum(values), len(values))


def difference_interval(
    differences: Sequence[float], confidence: float = 0.95
) -> tuple[float, float]:
    """Score interval of the mean of paired ``differences``, each in -1..1.

    With -1, 0 and 1 alone it is Tango's: it leaves out 0 exactly where McNemar's chi-square is
    beyond its quantile, and where nothing differs its ends are those of Wilson's interval of 0 in
    n, both ways. Parts of a difference (several samples or seeds) vary less: the interval is then
    Tango's of as many pairs as would have their variance, and holds the true difference in 93 to 97 of 100
    repetitions at 10 to 400 problems of 2 or 5 samples (a test repeats a part of it). Sources: Tango 1998, Statistics in
    Medicine 17:891; effective sample size: Korn & Graubard 1998, Survey Methodology 24:193.
    Raises:
        ValueError: no differences.
    """
    if not differences:
        raise ValueError("an interval of no differences")
    whole = math.fsum(map(abs, differences))
    less = math.fsum(d * d for d in differences) / whole if whole else 1.0
    pairs = len(differences) / less
    first = math.fsum(max(d, 0.0) for d in differences) / less
    second = math.fsum(max(-d, 0.0) for d in differences) / less
    square = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    upper = _score_bound(first, second, pairs, square)
    return -_score_bound(second, first, pairs, square), upper


def _score_bound(first: float, second: float, pairs: float, square: float) -> float:
    """The largest true difference that the score test does not reject, by bisection."""

    def rejected(true: float) -> bool:
        b = -first - second + (2 * pairs - first + second) * true
        c = -second * true * (1 - true)
        other = (math.sqrt(max(0.0, b * b - 8 * pairs * c)) - b) / (4 * pairs)
        variance = pairs * (2 * other + true * (1 - true))
        return (first - second - pairs * true) ** 2 > square * variance

    low, high = (first - second) / pairs, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if rejected(middle) else (middle, high)
    return high


def detectable(differences: Sequence[float]) -> float | None:
    """Smallest true mean difference that a paired test of as many problems finds in 80 of 100
    repetitions (two-sided, 5 %): 2.8 times the standard error, were the mean difference 0.

    An approximation by the normal distribution; the exact test of few problems needs more. None
    where no problem differs: nothing is then known of how much they do; and where it would be above
    1: so few problems cannot show any. Source: Connor 1987,
    Biometrics 43:207, without its second order term.
    Raises:
        ValueError: no differences.
    """
    if not differences:
        raise ValueError("the power of no problems")
    square = sum(value * value for value in differences) / len(differences)
    found = _Z_POWER_80 * math.sqrt(square / len(differences))
    return found if 0 < found <= 1 else None


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided exact p of McNemar's test, from the problems that only one of two got right.

    Source: McNemar 1947, https://doi.org/10.1007/BF02295996; exact binomial form.
    Raises:
        ValueError: a negative count.
    """
    if min(only_first, only_second) < 0:
        raise ValueError(f"counts {only_first} and {only_second}")
    from scipy.special import bdtr  # a third of a second to load

    differing = only_first + only_second
    return min(1.0, 2 * float(bdtr(min(only_first, only_second), differing, 0.5)))


def paired_p(differences: Sequence[float]) -> float:
    """Two-sided p of paired ``differences``, each in -1..1, were each as likely to have the other sign.

    With -1, 0 and 1 alone that is McNemar's exact p. Parts of a difference (several samples or seeds) get it from
    9,999 seeded changes of signs, so that it is never below 0.0002. Source: Fisher 1935; scipy's permutation_test.
    Raises:
        ValueError: no differences.
    """
    if not differences:
        raise ValueError("the test of no differences")
    data = np.asarray(differences, dtype=np.float64)
    if np.isin(data, (-1.0, 0.0, 1.0)).all():
        return mcnemar(int((data > 0).sum()), int((data < 0).sum()))
    from scipy.stats import permutation_test  # a second to load

    found = permutation_test(
        (data,), lambda each, axis: each.mean(axis=axis), permutation_type="samples", rng=0
    )
    return float(found.pvalue)


@dataclass(frozen=True, slots=True)
class Paired:
    """The first of two against the second, on the same problems."""

    difference: float
    """Of the accuracies, open answers not right on both sides."""
    least: float
    most: float
    """The difference were open answers as bad, or as good, as can be for the first."""
    low: float
    high: float
    """95 % interval: from the lower end of ``least``'s to the upper end of ``most``'s."""
    p: float
    """Of ``difference``."""
    p_most: float
    """Greatest p, whatever the open answers are; 1 where they could turn the difference round."""
    detectable: float | None


def paired(first: Sequence[Right], second: Sequence[Right]) -> Paired:
    """
    Args:
        first, second: of the same problems, in the same order.
    Raises:
        ValueError: no problems.
    """
    both = list(zip(first, second, strict=True))
    known = [a.right - b.right for a, b in both]
    least, most = [a.right - b.most for a, b in both], [a.most - b.right for a, b in both]
    p = paired_p(known)
    if known == least == most:
        low, high = difference_interval(known)
        p_most = p
    else:
        low, high = difference_interval(least)[0], difference_interval(most)[1]
        # every other filling of the open answers has more that differ the same way, or fewer the other way
        nearest = least if math.fsum(least) > 0 else most if math.fsum(most) < 0 else None
        p_most = 1.0 if nearest is None else paired_p(nearest)
    count = len(both)
    return Paired(
        fmean(a.right for a, _ in both) - fmean(b.right for _, b in both),
        math.fsum(least) / count,
        math.fsum(most) / count,
        low,
        high,
        p,
        max(p, p_most),
        detectable(known),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p adjusted for there being several tests, in the given order.

    Source: Holm 1979, https://www.jstor.org/stable/4615733.
    """
    adjusted, at_least = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        at_least = max(at_least, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = at_least
    return adjusted


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """Unbiased chance that at least one of ``k`` samples is right, from ``samples`` of them.

    ``1 - C(samples - correct, k) / C(samples, k)``. Source: Chen et al., arXiv:2107.03374,
    equation 1.
    Raises:
        ValueError: not ``1 <= k <= samples`` or not ``0 <= correct <= samples``.
    """
    if not (1 <= k <= samples and 0 <= correct <= samples):
        raise ValueError(f"pass@{k} of {correct} right in {samples}")
    return 1 - math.comb(samples - correct, k) / math.comb(samples, k)
