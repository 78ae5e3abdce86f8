"""Learns a stop table from runs of single calls: backward induction with a ridge regression a draw.

Paths are orders in which a problem's draws could have come, the ways in turn. What a path earns when
it stops after n draws is 1 if the leader is right, less the price of what was spent. After the last draw it
has to stop; before, the regression of draw n learns how much more the path earns by going on and
stopping as the later regressions say.

Source: Longstaff and Schwartz, Review of Financial Studies 14 (2001).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, permutations

import numpy as np
import numpy.typing as npt

from llm_as_judge.errors import DataError
from llm_as_judge.operators.stopping import (
    FEATURES,
    StopRule,
    StopState,
    StopTable,
    mean_by_source,
    votes,
    winner,
)
from llm_as_judge.reward import PRICES
from llm_as_judge.runs.record import RunKey, RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Domain, Problem

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int_]
RIDGE = 1.0
"""Of standardized features: a coefficient is drawn to 0 as by one more problem's paths."""
LEAST_PROBLEMS = 30
PATHS = 24
"""Orders of a problem's draws: more say the same again."""
PRICES_LEARNED = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Of 1,000 written tokens, in right answers: the three budgets', one above, and three below, at which it
spends as much as the dearest votes."""
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Draw:
    """One run of a single call on a problem."""

    answer: int | None
    """Class of equal answers of the problem; None: no answer."""
    right: bool
    cost: float
    """Written tokens, its prompt with it."""
    repeated: float
    """The same where the prompt was asked before: without it."""
    passed: bool = False
    """Code: it passes the visible tests."""
    likely: tuple[tuple[str, float], ...] = ()
    """Its way, and the likelihood of a token of its reply; empty: not known."""


@dataclass(frozen=True, slots=True)
class StopProblem:
    """A problem with its draws."""

    id: str
    dataset: str
    question_characters: int
    draws_W: tuple[tuple[Draw, ...], ...]
    """Of each way."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Orders of problems' draws: what is seen, and what stopping is worth, after each draw.

    N paths of at most D draws; a path that is shorter repeats its last draw.
    """

    problem_N: Ints
    draws_N: Ints
    inputs_NDF: Array
    """1 and the features of the state, then 1 at its data set."""
    right_ND: Array
    spent_ND: Array
    problems: int

    def of(self, chosen_N: npt.NDArray[np.bool_]) -> Paths:
        return Paths(
            self.problem_N[chosen_N],
            self.draws_N[chosen_N],
            self.inputs_NDF[chosen_N],
            self.right_ND[chosen_N],
            self.spent_ND[chosen_N],
            self.problems,
        )

    def stopped_at(self, at_N: Ints) -> Outcome:
        """Means of each problem where its paths stop after ``at_N + 1`` draws; NaN for one without."""
        rows = np.arange(len(at_N))
        seen = np.bincount(self.problem_N, minlength=self.problems)
        with np.errstate(invalid="ignore"):
            right, cost = (
                np.bincount(self.problem_N, figure_ND[rows, at_N], self.problems) / seen
                for figure_ND in (self.right_ND, self.spent_ND)
            )
        return Outcome(right, cost)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a way of stopping gives, a problem at a time."""

    right_P: Array
    cost_P: Array


def paths_of(
    problems: Sequence[StopProblem],
    most: int,
    datasets: Sequence[str],
    each: int = PATHS,
    seed: int = 0,
) -> Paths:
    """``each`` orders of the draws of each problem, the ways in turn.

    Args:
        datasets: in the order of the inputs' last columns.
    """
    chance = random.Random(seed)
    count_N = len(problems) * each
    wide = 1 + len(FEATURES) + len(datasets)
    inputs = np.zeros((count_N, most, wide))
    right, spent = np.zeros((count_N, most)), np.zeros((count_N, most))
    draws = np.zeros(count_N, dtype=int)
    for n in range(count_N):
        problem = problems[n // each]
        known = [float(problem.dataset == name) for name in datasets]
        order = _order(problem, most, chance)
        total = 0.0
        for d in range(most):
            if d < len(order):
                total += order[d][1]
                seen = [draw for draw, _ in order[: d + 1]]
                classes = classes_of(seen)
                state = StopState(
                    votes(classes),
                    classes.count(None),
                    total,
                    problem.question_characters,
                    problem.dataset,
                    any(draw.passed for draw in seen),
                )
                inputs[n, d] = (1.0, *state.features(), *known)
            else:
                inputs[n, d] = inputs[n, d - 1]
            right[n, d], spent[n, d] = leader_is_right(seen), total
        draws[n] = len(order)
    return Paths(np.arange(count_N) // each, draws, inputs, right, spent, len(problems))


def _order(problem: StopProblem, most: int, chance: random.Random) -> list[tuple[Draw, float]]:
    """Draws with their costs: a way's prompt is paid for at its first."""
    shuffled = [chance.sample(draws, len(draws)) for draws in problem.draws_W]
    order: list[tuple[Draw, float]] = []
    for n in range(most):
        way, turn = n % len(shuffled), n // len(shuffled)
        if turn == len(shuffled[way]):
            break
        draw = shuffled[way][turn]
        order.append((draw, draw.repeated if turn else draw.cost))
    return order


def classes_of(seen: Sequence[Draw]) -> list[int | None]:
    """As ``vote`` joins them: code that passes is one class, and beside it the rest has no vote."""
    if any(draw.passed for draw in seen):
        return [0 if draw.passed else None for draw in seen]
    return [draw.answer for draw in seen]


def leader_is_right(seen: Sequence[Draw]) -> bool:
    """Whether the class is right that ``vote`` decides for; False where no draw has a vote."""
    members: dict[int, list[Draw]] = {}
    for number, draw in zip(classes_of(seen), seen, strict=True):
        if number is not None:
            members.setdefault(number, []).append(draw)
    if not members:
        return False
    equal = list(members.values())
    likely = (mean_by_source(one for draw in each for one in draw.likely) for each in equal)
    return equal[winner(list(zip(map(len, equal), likely, strict=True)))][0].right


def learn_rule(
    paths: Paths, price: float, datasets: Sequence[str], ridge: float = RIDGE
) -> StopRule:
    """The regressions of one price.

    Args:
        price: what 1,000 written tokens take from a right answer.
        datasets: in the order of the paths' columns.
    """
    worth_ND = paths.right_ND - price * paths.spent_ND / 1000
    value_N = worth_ND[:, -1].copy()
    rows: list[tuple[float, ...]] = []
    for n in range(worth_ND.shape[1] - 1, 0, -1):
        there = paths.draws_N > n
        if not there.any():
            continue
        inputs, stop = paths.inputs_NDF[there, n - 1], worth_ND[there, n - 1]
        weights = ridge_weights(inputs, value_N[there] - stop, ridge * PATHS)
        rows.append(tuple(float(w) for w in weights))
        value_N[there] = np.where(inputs @ weights <= 0, stop, value_N[there])
    return StopRule(tuple(reversed(rows)), tuple(datasets))


def ridge_weights(inputs: Array, wanted: Array, ridge: float) -> Array:
    """Weights of a ridge regression on standardized columns, for columns as they are; the first is
    constant and is not drawn to 0."""
    mean, deviation = inputs[:, 1:].mean(axis=0), inputs[:, 1:].std(axis=0)
    varies = deviation > 1e-9
    scaled = (inputs[:, 1:] - mean) / np.where(varies, deviation, 1.0) * varies
    centre = wanted.mean()
    gram = scaled.T @ scaled + ridge * np.eye(scaled.shape[1])
    slopes = np.linalg.solve(gram, scaled.T @ (wanted - centre)) * varies
    slopes /= np.where(varies, deviation, 1.0)
    return np.concatenate([[centre - slopes @ mean], slopes])


def stopped(paths: Paths, rule: StopRule) -> Outcome:
    """Each path stopped where ``rule`` says."""
    at_N = paths.draws_N - 1
    for d in range(len(rule.weights_DF), 0, -1):
        gain = paths.inputs_NDF[:, d - 1] @ np.array(rule.weights_DF[d - 1])
        at_N = np.where((gain <= 0) & (paths.draws_N >= d), d - 1, at_N)
    return paths.stopped_at(at_N)


def after(paths: Paths, draws: int) -> Outcome:
    """A vote of a fixed number of draws."""
    return paths.stopped_at(np.minimum(paths.draws_N, draws) - 1)


def cross_validated(
    paths: Paths, price: float, datasets: Sequence[str], folds: int = FOLDS, seed: int = 0
) -> Outcome:
    """Each problem under a rule that was learned without it and without the rest of its fold."""
    fold_P = np.arange(paths.problems) % folds
    np.random.default_rng(seed).shuffle(fold_P)
    fold_N = fold_P[paths.problem_N]
    right, cost = np.zeros(paths.problems), np.zeros(paths.problems)
    for fold in range(folds):
        rule = learn_rule(paths.of(fold_N != fold), price, datasets)
        found, held = stopped(paths.of(fold_N == fold), rule), fold_P == fold
        right[held], cost[held] = found.right_P[held], found.cost_P[held]
    return Outcome(right, cost)


@dataclass(frozen=True, slots=True)
class LearnedPrice:
    """Figures of a domain at one price, means over problems."""

    price: float
    right: float
    """Cross-validated: each problem under a rule that was learned without its fold."""
    cost: float
    vote: int
    """The vote of the same draws that is as right at least, by its number of draws; 0: none is."""
    vote_cost: float


@dataclass(frozen=True, slots=True)
class LearnedDomain:
    """What was learned of a domain, and how well it does."""

    domain: Domain
    ways: tuple[str, ...]
    problems: int
    votes: tuple[tuple[float, float], ...]
    """(right, cost) of a vote of 1, 2, ... draws."""
    prices: tuple[LearnedPrice, ...]

    @property
    def worth(self) -> float:
        """Mean over the budgets' prices of the share right less the price of the cost."""
        budgets = [one for one in self.prices if one.price in PRICES.values()]
        return sum(one.right - one.price * one.cost / 1000 for one in budgets) / len(budgets)


def learn_domain(
    domain: Domain,
    ways: Sequence[str],
    problems: Sequence[StopProblem],
    most: int,
    seed: int = 0,
) -> tuple[dict[str, StopRule], LearnedDomain]:
    """The rules of a domain at each price, with their cross-validated figures.

    Raises:
        DataError: fewer than :data:`LEAST_PROBLEMS` problems.
    """
    if len(problems) < LEAST_PROBLEMS:
        raise DataError(
            f"stop learn: {domain}: {len(problems)} problems have draws of {', '.join(ways)}, "
            f"{LEAST_PROBLEMS} are wanted; ask for more: llm-as-judge pool fill --split train"
        )
    datasets = sorted({problem.dataset for problem in problems})
    paths = paths_of(problems, most, datasets, seed=seed)
    votes_D = [after(paths, n) for n in range(1, most + 1)]
    shown = [(float(o.right_P.mean()), float(o.cost_P.mean())) for o in votes_D]
    rules, prices = {}, []
    for price in PRICES_LEARNED:
        rules[f"{price:g}"] = learn_rule(paths, price, datasets)
        found = cross_validated(paths, price, datasets, seed=seed)
        right, cost = float(found.right_P.mean()), float(found.cost_P.mean())
        vote = next((n for n, (r, _) in enumerate(shown, start=1) if r >= right), 0)
        vote_cost = shown[vote - 1][1] if vote else float("nan")
        prices.append(LearnedPrice(price, right, cost, vote, vote_cost))
    learned = LearnedDomain(domain, tuple(ways), len(problems), tuple(shown), tuple(prices))
    return rules, learned


def stop_problems(
    bank: Bank, ways: Sequence[BankProgram], prompt_price: float
) -> list[StopProblem]:
    """The problems on which each of these single calls was run equally often, twice at least. Of code
    with visible tests, only where it is known which runs pass them.

    Args:
        prompt_price: of a prompt token, in written ones: a prompt that is asked again costs nothing.
    """
    found = []
    for problem in bank.problems.values():
        runs_W = [_runs(bank, way, problem) for way in ways]
        draws = min(map(len, runs_W))
        known = all(run.passed is not None for runs in runs_W for run in runs[:draws])
        if draws > 1 and (known or not problem.visible_tests):
            classes: dict[str, int] = {}
            draws_W = tuple(
                tuple(_draw(run, classes, prompt_price) for run in runs[:draws]) for runs in runs_W
            )
            found.append(StopProblem(problem.id, problem.dataset, len(problem.question), draws_W))
    return found


def _runs(bank: Bank, way: BankProgram, problem: Problem) -> list[RunRecord]:
    found: list[RunRecord] = []
    for draw in count():
        run = bank.runs.get(RunKey(way.key, problem.id, draw))
        if run is None:
            break
        found.append(run)
    return found


def _draw(run: RunRecord, classes: dict[str, int], prompt_price: float) -> Draw:
    prompt = (run.tokens - run.cost) / (1 - prompt_price) if prompt_price != 1 else 0.0
    answer = classes.setdefault(run.answer, len(classes)) if run.answer else None
    written = max(run.cost - prompt * prompt_price, 0.0)
    known = len(run.logprobs) == run.calls == 1
    likely = ((run.program, run.logprobs[0].likelihood),) if known else ()
    return Draw(answer, bool(run.right), run.cost, written, bool(run.passed), likely)


@dataclass(frozen=True, slots=True)
class Learned:
    """A table, what it promises, and the domains that it says nothing of."""

    table: StopTable
    domains: tuple[LearnedDomain, ...]
    left_out: Mapping[Domain, str]
    """Domain -> why."""


def learn_table(
    bank: Bank,
    ways: Mapping[Domain, Sequence[BankProgram]],
    bound: Mapping[str, str],
    prompt_price: float,
    most: int,
    choose: bool = True,
) -> Learned:
    """A stop table from a bank's runs of single calls.

    Args:
        ways: single calls of each domain.
        bound: see :class:`StopTable`.
        prompt_price: of a prompt token, in written ones.
        choose: of each domain take the ways, alone or two in turn, that are worth most on
            cross-validation; False: all of them in this order.
    Raises:
        DataError: no domain has enough problems.
    """
    left_out: dict[Domain, str] = {}
    rules: dict[Domain, dict[str, StopRule]] = {}
    domains = []
    there = {problem.domain for problem in bank.problems.values()}
    for domain, known in ways.items():
        if domain not in there:
            continue
        lists = [*permutations(known, 1), *permutations(known, 2)] if choose else [tuple(known)]
        tried, most_found = [], 0
        for each in lists:
            problems = stop_problems(bank, each, prompt_price)
            most_found = max(most_found, len(problems))
            if len(problems) >= LEAST_PROBLEMS:
                each_named = tuple(way.name for way in each)
                tried.append(learn_domain(domain, each_named, problems, most))
        if not tried:
            lacking = ", or a bank of before code that passes was noted" * (domain == "code")
            left_out[domain] = (
                f"{most_found} of {LEAST_PROBLEMS} problems with two draws of one way{lacking}"
            )
            continue
        best, learned = max(tried, key=lambda found: found[1].worth)
        if not any(right for right, _ in learned.votes):
            names = dict.fromkeys(name for _, one in tried for name in one.ways)
            left_out[domain] = f"no draw of {' or '.join(names)} is right"
            continue
        rules[domain] = best
        domains.append(learned)
    if not rules:
        why = "; ".join(f"{domain}: {reason}" for domain, reason in left_out.items())
        raise DataError(
            f"{bank.folder}: no draws to learn a stop from ({why}); ask for more, or another --way: llm-as-judge pool "
            f"fill --split train. It takes {LEAST_PROBLEMS} training rows of one type"
        )
    table = StopTable(
        bound,
        {one.domain: one.ways for one in domains},
        {one.domain: one.problems for one in domains},
        rules,
    )
    return Learned(table, tuple(domains), left_out)
