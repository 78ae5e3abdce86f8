"""The interval of a share: what the judge's audit, evaluation and the pages of a run show beside it."""

from __future__ import annotations

import math


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
    # scipy, under it, takes a second to load: most verbs show no interval
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(successes, trials, alpha=1 - confidence, method="wilson")
    # Results are compared byte for byte, and the last bits depend on the library's build. With 12
    # digits the ends, 0 of n and n of n, are exact too.
    return round(float(low), 12), round(float(high), 12)


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
