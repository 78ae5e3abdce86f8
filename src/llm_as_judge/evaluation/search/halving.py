"""Scheduler of successive halving: each round keeps the better half of the programs and doubles the problems.

Poor programs cost little: with n programs, P problems and f finalists about f * P * log2(n / f) runs in
place of n * P, before the finalists run at every draw. Which half is better is asked for every budget
and data set in turn, so that a cheap program, and one for one set alone, stay in the race.
Source: Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter
Optimization", arXiv:1502.07943.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from llm_as_judge.data.mix import named_rng
from llm_as_judge.evaluation.program_runs import BankRunner, all_runs
from llm_as_judge.reward import PRICES, priced
from llm_as_judge.runs.table import Array, BankProgram, Table
from llm_as_judge.types import Problem

FINALISTS = 8
"""Programs that run on every problem at every draw."""
FEWEST_PROBLEMS = 6
"""Of the first halving_round; fewer tell nothing apart."""
ALWAYS_KEPT = ("direct", "cot")
"""What everybody compares with runs to the end."""


@dataclass(frozen=True, slots=True)
class HalvingRound:
    """One round of a halving."""

    programs: int
    problems: int
    draws: int


def halving_rounds(
    programs: int, problems: int, draws: int, finalists: int = FINALISTS
) -> list[HalvingRound]:
    """How many programs run on how many problems, round by round; the last is of the finalists."""
    rounds = max(0, math.ceil(math.log2(programs / finalists))) if programs > finalists else 0
    found = [
        HalvingRound(
            math.ceil(programs / 2**r),
            min(problems, max(FEWEST_PROBLEMS, math.ceil(problems / 2 ** (rounds - r)))),
            1,
        )
        for r in range(rounds)
    ]
    return [*found, HalvingRound(min(programs, finalists), problems, draws)]


async def halve(
    runner: BankRunner,
    programs: Sequence[BankProgram],
    problems: Sequence[Problem],
    *,
    draws: int,
    seed: int,
    on_round: Callable[[HalvingRound], None] | None = None,
) -> list[BankProgram]:
    """The finalists of one domain, which have run on all ``problems`` at every draw.

    Raises:
        BudgetError, EndpointError: see :meth:`BankRunner.fill`.
    """
    ordered = mixed_order(problems, seed)
    racing, seen = list(programs), ordered[:0]
    for taking in halving_rounds(len(racing), len(ordered), draws):
        if seen and len(racing) > taking.programs:
            racing = _best(runner, racing, seen, taking.programs)
        seen = ordered[: taking.problems]
        if on_round is not None:
            on_round(taking)
        await runner.fill(all_runs(racing, seen, taking.draws))
    return racing


def mixed_order(problems: Sequence[Problem], seed: int) -> list[Problem]:
    """The problems in a seeded order in which the data sets take turns."""
    by_set: dict[str, list[Problem]] = {}
    for problem in problems:
        by_set.setdefault(problem.dataset, []).append(problem)
    for name, members in by_set.items():
        members.sort(key=lambda problem: problem.id)
        named_rng(seed, "search", name).shuffle(members)
    turns = zip_longest(*(by_set[name] for name in sorted(by_set)))
    return [problem for turn in turns for problem in turn if problem is not None]


def values_of(table: Table, price: float) -> Array:
    """(J, P) reward ``priced`` of each program on each problem, the mean of its draws; NaN where
    nothing is graded.

    Args:
        price: what 1,000 written tokens take away.
    """
    return mean_of_draws(priced(table.right_JPD, table.cost_JPD, price))


def mean_of_draws(values_JPD: Array) -> Array:
    """(J, P), over the draws that are there; NaN where none is."""
    return _mean_of_last(values_JPD, np.nan)


def mean_of_problems(values_JP: Array) -> Array:
    """(J,), over the problems that are there; -inf where none is."""
    return _mean_of_last(values_JP, -np.inf)


def _mean_of_last(values: Array, empty: float) -> Array:
    there = ~np.isnan(values)
    sums, counts = np.where(there, values, 0.0).sum(axis=-1), there.sum(axis=-1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), empty)


def _best(
    runner: BankRunner, programs: Sequence[BankProgram], seen: Sequence[Problem], count: int
) -> list[BankProgram]:
    """``count`` of the programs, by every budget and set in turn; those always kept come first."""
    # draw 0 alone: what other searches left in the bank must not decide
    table = runner.bank.table([p.key for p in programs], [p.id for p in seen], 1)
    chosen = dict.fromkeys(j for j, p in enumerate(programs) if p.name in ALWAYS_KEPT)
    for j in _in_turn(table):
        if len(chosen) >= max(count, 1):
            break
        chosen.setdefault(j)
    return [programs[j] for j in sorted(chosen)]


def _in_turn(table: Table) -> Iterator[int]:
    """Positions of programs: the best by each ranking, then the second by each ..."""
    rankings = []
    for price in PRICES.values():
        values = values_of(table, price)
        for name in (None, *sorted(set(table.sets))):
            columns = [p for p, of in enumerate(table.sets) if name in (None, of)]
            rankings.append(np.argsort(-mean_of_problems(values[:, columns]), kind="stable"))
    for place in zip(*rankings, strict=True):
        yield from map(int, place)
