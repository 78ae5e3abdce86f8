"""Agreement of verdicts with labels: proportions and kappa, each with its interval."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from llm_as_judge.intervals import wilson

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
    return _kappa(Counter(pairs))


def _kappa(cells: Counter[Pair]) -> float | None:
    n = cells.total()
    if n == 0:
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
        if (kappa := _kappa(Counter(rng.choices(kinds, weights, k=len(pairs))))) is not None
    )
    low = resampled[int(0.025 * (len(resampled) - 1))]
    high = resampled[int(0.975 * (len(resampled) - 1))]
    return Interval(value, low, high, len(pairs))
