"""From sums by step to the points of a chart, with 95 % intervals.

Many steps are pooled into bins: a share of twelve programs says little, and five hundred points are
no curve. Every chart says how many steps a point holds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from llm_as_judge.accuracy import Right
from llm_as_judge.accuracy import accuracy as of_problems
from llm_as_judge.runs.rundir import finite
from llm_as_judge.statistics import share_interval
from llm_as_judge.types import DOMAINS
from llm_as_judge.views.report.rollouts import StepSums

MAX_BINS = 40
_Z = 1.96
MAX_OPERATORS = 9
"""Named in the chart of operators; what is rarer is summed as `other`."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a step; ``low`` and ``high`` are its 95 % interval where there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    n: int = 0


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Bin:
    first: int
    last: int
    sums: StepSums

    @property
    def x(self) -> float:
        return (self.first + self.last) / 2


def pool(sums: Mapping[int, StepSums], max_bins: int = MAX_BINS) -> list[Bin]:
    """Consecutive steps summed into at most ``max_bins`` bins of equal width."""
    steps = sorted(sums)
    width = max(1, math.ceil(len(steps) / max_bins))
    bins = []
    for start in range(0, len(steps), width):
        part = steps[start : start + width]
        whole = StepSums()
        for step in part:
            whole.add(sums[step])
        bins.append(Bin(part[0], part[-1], whole))
    return bins


def right_shares(sums: StepSums, domain: str = "all") -> list[Right]:
    """Of each problem that has a verdict."""
    return [
        Right(problem.correct / problem.judged, problem.open / problem.judged)
        for problem in sums.problems.values()
        if problem.judged and domain in ("all", problem.domain)
    ]


def accuracy(bins: Sequence[Bin], domain: str = "all") -> Series:
    """Share of right answers, open ones not right, each problem weighing the same."""
    points = []
    for item in bins:
        if found := of_problems(right_shares(item.sums, domain)):
            points.append(Point(item.x, found.value, found.low, found.high, found.problems))
    return Series("all domains" if domain == "all" else domain, tuple(points))


def accuracy_by_domain(bins: Sequence[Bin]) -> list[Series]:
    known = {name for item in bins for name in item.sums.judged} - {"all"}
    ordered = [name for name in DOMAINS if name in known] + sorted(known - set(DOMAINS))
    return [accuracy(bins, name) for name in ordered]


def program_shares(bins: Sequence[Bin]) -> list[Series]:
    """Shares of all rollouts; an interval on the first only, four bands hide each other."""
    full = [item for item in bins if item.sums.count]
    valid = [[p.valid / p.count for p in item.sums.problems.values()] for item in full]
    shares = {
        "strictly valid": [
            Point(item.x, fmean(values), *share_interval(values), len(values))
            for item, values in zip(full, valid, strict=True)
        ]
    }
    for name in ("executed", "not graded", "failed"):
        counts = [(b.x, getattr(b.sums, name.replace(" ", "_")), b.sums.count) for b in full]
        shares[name] = [Point(x, count / of, n=of) for x, count, of in counts]
    return [Series(name, tuple(points)) for name, points in shares.items()]


def reward_mean(bins: Sequence[Bin]) -> Series:
    """Mean total reward, each graded program weighing the same, as in ``reward/mean`` and in the parts; interval
    of the normal approximation over problems, for two or more: programs of one problem go together."""
    points = []
    for item in bins:
        problems = [p.rewards for p in item.sums.problems.values() if p.rewards]
        if not problems:
            continue
        programs, count = sum(map(len, problems)), len(problems)
        mean = sum(map(sum, problems)) / programs
        if count == 1:
            points.append(Point(item.x, mean, n=1))
            continue
        apart = sum((sum(rewards) - len(rewards) * mean) ** 2 for rewards in problems)
        half = _Z * math.sqrt(apart * count / (count - 1)) / programs
        points.append(Point(item.x, mean, mean - half, mean + half, count))
    return Series("total reward", tuple(points))


def reward_parts(bins: Sequence[Bin]) -> list[Series]:
    names = dict.fromkeys(name for item in bins for name in item.sums.parts)
    series = []
    for name in names:
        scores = [(item.x, part) for item in bins if (part := item.sums.parts.get(name))]
        series.append(Series(name, tuple(Point(x, fmean(part), n=len(part)) for x, part in scores)))
    return series


def operator_mix(bins: Sequence[Bin]) -> list[Series]:
    """Share of all operator calls, the most called operator first; sums to 1 in each bin."""
    total = sum((item.sums.operators for item in bins), Counter[str]())
    ranked = sorted(total, key=lambda name: (-total[name], name))
    named, rest = ranked[:MAX_OPERATORS], set(ranked[MAX_OPERATORS:])
    series = []
    for name in [*named, "other"] if rest else named:
        points = []
        for item in bins:
            by_operator = item.sums.operators
            if whole := sum(by_operator.values()):
                parts = rest if name == "other" else {name}
                points.append(Point(item.x, sum(by_operator[o] for o in parts) / whole, n=whole))
        series.append(Series(name, tuple(points)))
    return series


def logged(
    steps: Sequence[Mapping[str, float]], names: Mapping[str, str], max_bins: int = MAX_BINS
) -> list[Series]:
    """Metrics of the log by their names in the chart, averaged over bins of steps; those never there are left out."""
    width = max(1, math.ceil(len(steps) / max_bins))
    series = []
    for key, name in names.items():
        points = []
        for start in range(0, len(steps), width):
            part = steps[start : start + width]
            values = [v for row in part if (v := finite(row.get(key))) is not None]
            if values:
                middle = (part[0]["step"] + part[-1]["step"]) / 2
                points.append(Point(middle, fmean(values), n=len(values)))
        if points:
            series.append(Series(name, tuple(points)))
    return series


def pareto(costs_and_gains: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points that no other beats in both, cheapest first."""
    order = sorted(
        range(len(costs_and_gains)), key=lambda i: (costs_and_gains[i][0], -costs_and_gains[i][1])
    )
    front, best = [], -math.inf
    for index in order:
        if costs_and_gains[index][1] > best:
            best = costs_and_gains[index][1]
            front.append(index)
    return front
