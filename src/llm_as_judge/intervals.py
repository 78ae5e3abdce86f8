"""The interval of a share: what the judge's audit, evaluation and the pages of a run show beside it."""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL = NormalDist()


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
