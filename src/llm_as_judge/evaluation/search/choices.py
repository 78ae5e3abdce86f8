"""The best fixed program for each domain and for each data set, at each budget.

In-sample, on the rows of the choice, a figure is too high: of many programs that are equally
good one is lucky on those rows. So every figure stands twice: in-sample, and cross-validated: the whole
search is done again without a fifth of the problems, and what it then chooses is scored on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from llm_as_judge.accuracy import Right, accuracy
from llm_as_judge.evaluation.program_runs import BankRunner, all_runs
from llm_as_judge.evaluation.search.halving import (
    mean_of_draws,
    mean_of_problems,
    mixed_order,
    values_of,
)
from llm_as_judge.reward import PRICES, priced
from llm_as_judge.runs.record import RunKey
from llm_as_judge.runs.table import Array, Bank, BankProgram, Table
from llm_as_judge.types import Budget, Domain, Problem

FOLDS = 5
DOMAIN, SET = "domain", "data set"
SCOPES = (DOMAIN, SET)

Finalists = Callable[[BankRunner, Domain, Sequence[Problem]], Awaitable[Sequence[BankProgram]]]
"""The programs that a search keeps when it sees these problems alone; they have run on all of them."""


class Outcome(NamedTuple):
    """Of one problem, a mean of its draws."""

    verdict: Right
    cost: float
    """In written tokens."""


@dataclass(frozen=True, slots=True)
class Score:
    """Means over problems."""

    right: float
    """Open ones not right."""
    most: float
    """Were all open ones right."""
    low: float
    high: float
    """95 % interval over problems, whatever the open ones are."""
    cost: float
    """In written tokens."""
    problems: int

    def value(self, budget: Budget) -> float:
        """Reward ``priced``."""
        return priced(self.right, self.cost, PRICES[budget])


@dataclass(frozen=True, slots=True)
class Choice:
    """The program chosen for a scope at a budget."""

    scope: str
    of: str
    """A domain or a data set."""
    budget: Budget
    program: BankProgram
    in_sample: Score
    """On the problems that it was chosen on."""
    cross_validated: Score
    """Of what the same search chooses without them."""

    @property
    def name(self) -> str:
        return self.program.name


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found."""

    choices: tuple[Choice, ...]
    finalists: Mapping[Domain, tuple[BankProgram, ...]]
    chosen_on: tuple[str, ...]
    """Ids of the problems."""
    search_cost: float
    """In written tokens of the runs that the search asked for, kept ones too."""
    search_runs: int
    cross_validated: Mapping[tuple[str, Budget], Mapping[str, Outcome]]
    """By scope and budget the cross-validated outcome of each problem."""
    measuring_cost: float
    """The same of what cross-validation needed besides."""
    measuring_runs: int
    """Runs that were made for cross-validation; what else they needed was there."""
    not_graded: Mapping[str, int]
    """By data set, the runs asked for whose answers were left open."""

    def chosen(self, scope: str, of: str, budget: Budget) -> Choice:
        return next(c for c in self.choices if (c.scope, c.of, c.budget) == (scope, of, budget))


async def search_choices(
    runner: BankRunner,
    problems: Mapping[Domain, Sequence[Problem]],
    finalists: Finalists,
    *,
    draws: int,
    seed: int,
) -> SearchResult:
    """
    Args:
        finalists: the search of one domain; called once for all its problems, and once for those
            outside of each fold.
    Raises:
        BudgetError, EndpointError: see :meth:`BankRunner.fill`.
    """
    whole = {d: list(await finalists(runner, d, rows)) for d, rows in problems.items()}
    tables = {d: _table(runner, whole[d], rows, draws) for d, rows in problems.items()}
    chosen = _choose(tables)
    in_sample = _outcomes(tables, chosen)
    cross_validated: dict[tuple[str, Budget], dict[str, Outcome]] = {key: {} for key in in_sample}
    measuring, made = 0.0, 0
    for fold in range(FOLDS):
        inside, outside = _split(problems, fold, seed)
        if not any(outside.values()):
            continue
        again = runner.fresh()
        kept = {d: list(await finalists(again, d, rows)) for d, rows in inside.items() if rows}
        picked = _choose({d: _table(again, kept[d], inside[d], draws) for d in kept})
        held = {d: rows for d, rows in outside.items() if rows and d in kept}
        for d, rows in held.items():
            needed = {one.key: one for one in picked.values() if one.domain == d}
            await again.fill(all_runs(needed.values(), rows, draws))
        scored = {d: _table(again, kept[d], rows, draws) for d, rows in held.items()}
        for key, outcomes in _outcomes(scored, picked).items():
            cross_validated[key].update(outcomes)
        measuring += again.cost
        made += again.ran
    return SearchResult(
        tuple(_as_choices(tables, chosen, in_sample, cross_validated)),
        {d: tuple(found) for d, found in whole.items()},
        tuple(problem.id for rows in problems.values() for problem in rows),
        runner.cost,
        len(runner.asked),
        cross_validated,
        measuring,
        made,
        not_graded_by_set(runner.bank, runner.asked),
    )


def not_graded_by_set(bank: Bank, keys: Iterable[RunKey]) -> dict[str, int]:
    """Of these runs of a bank those whose answers were not graded."""
    open_ = [key.problem for key in keys if bank.runs[key].right is None]
    return dict(Counter(bank.problems[id_].dataset for id_ in sorted(open_)))


# ----------------------------------------------------------------------------------------- choosing
Chosen = Mapping[tuple[str, str, Budget], BankProgram]
"""By scope, what of it (``gsm8k``) and budget."""


def _table(
    runner: BankRunner, programs: Sequence[BankProgram], rows: Sequence[Problem], draws: int
) -> Table:
    return runner.bank.table([p.key for p in programs], [p.id for p in rows], draws)


def _choose(tables: Mapping[Domain, Table]) -> Chosen:
    found: dict[tuple[str, str, Budget], BankProgram] = {}
    for budget, price in PRICES.items():
        for domain, table in tables.items():
            values = values_of(table, price)
            found[DOMAIN, domain, budget] = _best(table, values)
            for name in sorted(set(table.sets)):
                columns = [p for p, of in enumerate(table.sets) if of == name]
                found[SET, name, budget] = _best(table, values[:, columns])
    return found


def _best(table: Table, values_JP: Array) -> BankProgram:
    """The first of the best."""
    return table.programs[int(np.argmax(mean_of_problems(values_JP)))]


def _split(
    problems: Mapping[Domain, Sequence[Problem]], fold: int, seed: int
) -> tuple[dict[Domain, list[Problem]], dict[Domain, list[Problem]]]:
    """(the problems outside of the fold, those in it); every data set is spread over the folds."""
    inside: dict[Domain, list[Problem]] = {}
    outside: dict[Domain, list[Problem]] = {}
    for domain, rows in problems.items():
        seen: dict[str, int] = {}
        for problem in mixed_order(rows, seed + 1):
            number = seen[problem.dataset] = seen.get(problem.dataset, -1) + 1
            part = outside if number % FOLDS == fold else inside
            part.setdefault(domain, []).append(problem)
    return inside, outside


# ------------------------------------------------------------------------------------------ scoring
def _outcomes(
    tables: Mapping[Domain, Table], chosen: Chosen
) -> dict[tuple[str, Budget], dict[str, Outcome]]:
    """By scope and budget, the outcome of each problem under the program chosen for it. A set of
    which nothing was seen when programs were chosen has that of its domain."""
    found: dict[tuple[str, Budget], dict[str, Outcome]] = {}
    for budget in PRICES:
        for scope in SCOPES:
            for domain, table in tables.items():
                right, cost = mean_of_draws(table.right_JPD), mean_of_draws(table.cost_JPD)
                left = mean_of_draws(table.open_JPD)
                at = {program.key: j for j, program in enumerate(table.programs)}
                for p, problem in enumerate(table.problems):
                    of = _what(problem, scope)
                    by = chosen.get((scope, of, budget)) or chosen[DOMAIN, domain, budget]
                    j = at[by.key]
                    if not np.isnan(right[j, p]):
                        outcome = Outcome(
                            Right(float(right[j, p]), float(left[j, p])), float(cost[j, p])
                        )
                        found.setdefault((scope, budget), {})[problem.id] = outcome
    return found


def _what(problem: Problem, scope: str) -> str:
    return problem.domain if scope == DOMAIN else problem.dataset


def _score(outcomes: Sequence[Outcome]) -> Score:
    found = accuracy([one.verdict for one in outcomes])
    if found is None:
        return Score(float("nan"), float("nan"), 0.0, 1.0, float("nan"), 0)
    cost = fmean(one.cost for one in outcomes)
    return Score(found.value, found.most, found.low, found.high, cost, found.problems)


def _as_choices(
    tables: Mapping[Domain, Table],
    chosen: Chosen,
    in_sample: Mapping[tuple[str, Budget], Mapping[str, Outcome]],
    cross_validated: Mapping[tuple[str, Budget], Mapping[str, Outcome]],
) -> list[Choice]:
    problems = [problem for table in tables.values() for problem in table.problems]
    found = []
    for (scope, of, budget), program in chosen.items():
        ids = {problem.id for problem in problems if _what(problem, scope) == of}
        scores = [
            _score([one for id_, one in outcomes[scope, budget].items() if id_ in ids])
            for outcomes in (in_sample, cross_validated)
        ]
        found.append(Choice(scope, of, budget, program, *scores))
    return found
