"""The interval of a share: what the judge's audit, evaluation and the pages of a run show beside it."""

from __future__ import annotations

from statistics import NormalDist

__all__ = ["wilson"]


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
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    denominator = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / denominator
    half = z * (share * (1 - share) / trials + z * z / (4 * trials * trials)) ** 0.5 / denominator
    # at the ends the bound is exact; rounding must not push it past 0 or 1
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high
