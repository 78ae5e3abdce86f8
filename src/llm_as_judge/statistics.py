"""Statistics: intervals of shares, means and differences, paired tests, agreement, pass@k.

One problem is the unit everywhere: several samples of one problem are averaged first, because
they are not independent. numpy and scipy are loaded where they are used: most verbs show no figure.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import NamedTuple

_NORMAL = NormalDist()
RESAMPLES = 5_000
"""Of a bootstrap: the ends of a 95 % interval then stand on 125 resamples each."""
_Z_POWER_80 = 1.959964 + 0.841621
"""Normal quantiles of 97.5 % (two-sided 5 %) and 80 %."""
_VALUES_AT_ONCE = 4_000_000


class Right(NamedTuple):
    """One problem: shares of its runs, 0..1."""

    right: float
    open: float = 0.0

    @property
    def most(self) -> float:
        """Share of right ones, were all open ones right."""
        return min(1.0, self.right + self.open)


# ------------------------------------------------------------------------------- shares and means
def wilson(successes: float, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a share; (0, 1) without trials.

    Args:
        successes: a whole number, or the sum of ``trials`` values in 0..1: such a value varies at
            most as much as a yes or no of the same mean, so the interval is then no narrower than
            it should be.

    Source: Wilson 1927, https://doi.org/10.1080/01621459.1927.10502953.
    Raises:
        ValueError: successes outside 0..trials.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials")
    if trials == 0:
        return 0.0, 1.0
    share, z = successes / trials, _NORMAL.inv_cdf((1 + confidence) / 2)
    center = share + z * z / (2 * trials)
    spread = z * math.sqrt((share * (1 - share) + z * z / (4 * trials)) / trials)
    whole = 1 + z * z / trials
    # With 12 digits the ends, 0 of n and n of n, are exact; "-0.0" is no end.
    return max(0.0, round((center - spread) / whole, 12)), round((center + spread) / whole, 12)


def even_precision(right: int, of_right: int, wrong: int, of_wrong: int) -> float:
    """Lower end of the 95 % interval of a precision, if right and wrong answers were equally many.

    The precision is r / (r + w), where r is the share of right answers that are taken and w that of
    wrong ones. It does not depend on how many of each there happen to be, as the usual precision does.

    Args:
        right, wrong: taken answers, of ``of_right`` and ``of_wrong``.
    Returns:
        0..1; 0 where no right one is taken.

    Source: the Wilson intervals of both shares, joined for the ratio w / r (MOVER: Donner and Zou
    2012, https://doi.org/10.1177/0962280210383082).
    """
    least, most = wilson(right, of_right)[0], wilson(wrong, of_wrong)[1]
    if least <= 0:
        return 0.0
    r, w = right / of_right, (wrong / of_wrong if of_wrong else 1.0)
    below = least * (2 * r - least)
    root = math.sqrt(max(0.0, (w * r) ** 2 - most * (2 * w - most) * below))
    return round(1 / (1 + (w * r + root) / below), 12)


def share_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % Wilson interval of the mean of ``values``, each in 0..1; (0, 1) of none.

    Of several samples or seeds a problem it is wider than it need be, never narrower, and it has
    a width where all values are equal.
    """
    return wilson(math.fsum(values), len(values))


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
    import numpy as np

    data = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    at_once = max(1, _VALUES_AT_ONCE // len(data))
    means: list[float] = []
    while len(means) < resamples:
        rows = min(at_once, resamples - len(means))
        means.extend(data[generator.integers(0, len(data), (rows, len(data)))].mean(axis=1))
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


# ------------------------------------------------------------------------------- paired differences
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
    import numpy as np

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
    """Of ``difference``, two-sided: McNemar's, exact; of shares by changed signs."""
    p_most: float
    """Greatest p, whatever the open answers are; 1 where they could turn the difference round."""
    detectable: float | None
    """True difference that so many problems would show in 80 of 100 repetitions; None where they
    are too few to show any, or it is not known."""


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


# ----------------------------------------------------------------------------------------- agreement
Pair = tuple[bool, bool]
"""(verdict, label) of one graded case."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval; ``value`` None where nothing was seen."""

    value: float | None
    low: float
    high: float
    n: int


def proportion(successes: int, n: int) -> Interval:
    """A share with its Wilson interval; (0, 1) if n is 0."""
    return Interval(successes / n if n else None, *wilson(successes, n), n)


def cohen_kappa(pairs: Sequence[Pair]) -> float | None:
    """Agreement beyond chance, -1..1; None if verdicts or labels never vary.

    Source: Cohen (1960), Educ. Psychol. Meas. 20, 37-46.
    """
    cells, n = Counter(pairs), len(pairs)
    if not pairs:
        return None
    agreed = (cells[True, True] + cells[False, False]) / n
    said = (cells[True, True] + cells[True, False]) / n
    was = (cells[True, True] + cells[False, True]) / n
    chance = said * was + (1 - said) * (1 - was)
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def kappa_interval(pairs: Sequence[Pair], seed: int = 0, draws: int = 1000) -> Interval:
    """Kappa with a percentile bootstrap interval over cases."""
    value = cohen_kappa(pairs)
    if value is None:
        return Interval(None, -1.0, 1.0, len(pairs))
    rng = random.Random(seed)
    cells = Counter(pairs)
    kinds, weights = list(cells), list(cells.values())
    resampled = sorted(
        kappa
        for _ in range(draws)
        if (kappa := cohen_kappa(rng.choices(kinds, weights, k=len(pairs)))) is not None
    )
    low = resampled[int(0.025 * (len(resampled) - 1))]
    high = resampled[int(0.975 * (len(resampled) - 1))]
    return Interval(value, low, high, len(pairs))
