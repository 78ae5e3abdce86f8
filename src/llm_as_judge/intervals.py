"""The interval of a share: what the judge's audit, evaluation and the pages of a run show beside it."""

from __future__ import annotations

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
    # scipy, under it, takes a second to load: most verbs show no interval
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(successes, trials, alpha=1 - confidence, method="wilson")
    # Results are compared byte for byte, and the last bits depend on the library's build. With 12
    # digits the ends, 0 of n and n of n, are exact too.
    return round(float(low), 12), round(float(high), 12)
