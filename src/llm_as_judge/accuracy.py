"""Accuracy of all rows: an answer left open is not right, and how far it could change the figure stands
beside it. Everything that shows an accuracy takes it from here.

A run that failed by our fault (a rollout with a ``Failure``) says nothing of the answer: it takes no part.
Several runs of one problem are averaged first, since the problem is the unit of every interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llm_as_judge.statistics import Right as Right
from llm_as_judge.statistics import wilson
from llm_as_judge.types import Verdict


def right_of(runs: Iterable[bool | float | None]) -> Right | None:
    """Of the runs of one problem; None where there is none.

    Args:
        runs: right or not, or the share of right; None = open.
    """
    known = list(runs)
    if not known:
        return None
    left = sum(run is None for run in known)
    return Right(math.fsum(run or 0.0 for run in known) / len(known), left / len(known))


def runs_of(verdict: Verdict | None) -> tuple[bool | None, ...]:
    """Right, wrong or open of each run that a verdict is of; none where grading failed."""
    if verdict is None:
        return ()
    return tuple(one.correct for one in (verdict, *verdict.again))


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Of some problems, each weighing the same."""

    value: float
    """Right of all, open ones not right: what is known to be right."""
    most: float
    """Were all open ones right."""
    low: float
    high: float
    """95 % interval over problems: from the lower end of ``value``'s to the upper end of ``most``'s."""
    problems: int
    open: int = 0
    """Problems with an open run."""

    def text(self, form: str = "{:.0%}") -> str:
        """``50% [25%, 75%]``; with open ones ``50% to 100% [25%, 100%]``."""
        return interval_text(self.value, self.most, self.low, self.high, form)


def interval_text(value: float, most: float, low: float, high: float, form: str) -> str:
    """An accuracy with its interval; where ``most`` is more, how far open answers reach."""
    reach = f" to {form.format(most)}" if most > value else ""
    return f"{form.format(value)}{reach} [{form.format(low)}, {form.format(high)}]"


def accuracy(problems: Sequence[Right]) -> Accuracy | None:
    """None without problems. Source of the interval: Wilson, see :func:`wilson`."""
    if not problems:
        return None
    least, most = math.fsum(p.right for p in problems), math.fsum(p.most for p in problems)
    count = len(problems)
    return Accuracy(
        least / count,
        most / count,
        wilson(least, count)[0],
        wilson(min(most, count), count)[1],
        count,
        sum(p.open > 0 for p in problems),
    )


def balanced_accuracy(sets: Iterable[Sequence[Right]]) -> Accuracy | None:
    """Mean of the sets' accuracies, each set weighing the same; None without sets.

    The sets' intervals are joined: the distances of their ends from the means are added in squares.
    Source: MOVER, Zou & Donner 2008, https://doi.org/10.1002/sim.3095.
    """
    found = [one for one in map(accuracy, sets) if one is not None]
    if not found:
        return None
    count = len(found)
    value = math.fsum(one.value for one in found) / count
    most = math.fsum(one.most for one in found) / count
    down = math.hypot(*(one.value - one.low for one in found)) / count
    up = math.hypot(*(one.high - one.most for one in found)) / count
    return Accuracy(
        value,
        most,
        max(0.0, value - down),
        min(1.0, most + up),
        sum(one.problems for one in found),
        sum(one.open for one in found),
    )
