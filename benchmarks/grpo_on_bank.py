"""GRPO one key at a time, on a bank, with a softmax over its programs in place of a language model.

    python benchmarks/grpo_on_bank.py results/bank [--halvings 40] [--steps 150]

The policy has one softmax for each domain and budget, over the programs that the bank has on all problems
of the domain. It reads no problem, so it shows what GRPO can gain by program, cost and budget alone. Its
rewards, advantages and samplers are the product's. It learns on one half of the problems, and is scored on
the other; then the other way round. An update moves a softmax by so much that its entropy falls as fast
as that of a run without a floor does (docs/results/adaptive.md).

Expected, written down before the first run:
    1 draw, not 4             reward 0.5 points lower
    all problems              reward within 0.3 points
    all problems at low       (not among the first) at `low` 0.9 points higher, else within 0.2
    K 6, not 12               reward 0.2 points lower
    K 24                      reward 0.1 points higher
    no warm start             reward 1 point lower
    600 steps                 reward within 0.3 points, less entropy
    rate 2, not 7             (not among the first) reward 0.2 points higher at `middle`
    budget high alone         at `high` 0.2 points higher
    against the start         +0.3 points; against the search's program -0.2
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from scipy.stats import entropy as nats

from llm_as_judge.config import LossKeys
from llm_as_judge.data.informative import InformativeSampler
from llm_as_judge.data.mix import named_rng
from llm_as_judge.data.sampler import StratifiedSampler
from llm_as_judge.errors import DataError, UserError
from llm_as_judge.reward import PRICES, priced
from llm_as_judge.runs.bank import Bank, Table
from llm_as_judge.training.grpo import step_advantages
from llm_as_judge.training.lessons import TEMPERATURE
from llm_as_judge.types import BUDGETS, Budget, Domain

Array = npt.NDArray[np.float64]
LOSS = LossKeys(baseline="leave_one_out", advantage_norm="batch")


@dataclass(frozen=True, slots=True)
class Keys:
    """What a run may differ in; the defaults are those of examples/adaptive/run.yaml."""

    draws: int = 4
    informative: bool = True
    samples: int = 12
    warm: bool = True
    times: int = 1
    """As many steps."""
    rate: float = 7.0
    """Of an update, on the mean of its programs."""
    budget: Budget | None = None
    """None: drawn for each problem."""
    all_at_low: bool = False
    """A third of the draws, told `low`, are of any problem."""


RUNS: dict[str, Keys] = {
    "as the run": Keys(),
    "1 draw": Keys(draws=1),
    "2 draws": Keys(draws=2),
    "all problems": Keys(informative=False),
    "all problems at low": Keys(all_at_low=True),
    "K 6": Keys(samples=6),
    "K 24": Keys(samples=24),
    "no warm start": Keys(warm=False),
    "4 times the steps": Keys(times=4),
    "rate 2": Keys(rate=2.0),
    "budget middle alone": Keys(budget="middle"),
    "budget high alone": Keys(budget="high"),
}


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one policy at one budget, on problems that it did not learn from."""

    right: float
    cost: float
    entropy: float
    """Nats a program, mean of the domains."""

    def reward(self, budget: Budget) -> float:
        return priced(self.right, self.cost, PRICES[budget])


Policy = dict[tuple[Domain, Budget], Array]
"""Logits of the programs."""


class Half:
    """The problems of one half, by domain."""

    def __init__(self, tables: dict[Domain, Table]) -> None:
        self.tables = tables
        self.rows = [(d, p) for d, table in tables.items() for p in range(len(table.problems))]
        problems = [tables[d].problems[p] for d, p in self.rows]
        self.columns = (
            [problem.id for problem in problems],
            [problem.dataset for problem in problems],
            [str(problem.domain) for problem in problems],
        )
        self.rates = {
            id_: float(np.mean(tables[d].right_JPD[:, p]))
            for id_, (d, p) in zip(self.columns[0], self.rows, strict=True)
        }

    def values(self, domain: Domain, budget: Budget) -> Array:
        """Mean reward of each program."""
        table = self.tables[domain]
        right, cost = (one.mean(axis=(1, 2)) for one in (table.right_JPD, table.cost_JPD))
        return priced(right, cost, PRICES[budget])

    def scores(self, policy: Policy, budget: Budget) -> Scores:
        """Domains weigh as their problems are many."""
        right, cost, entropy = [], [], []
        for domain, table in self.tables.items():
            shares = softmax(policy[domain, budget])
            right += list((shares[:, None] * table.right_JPD.mean(axis=2)).sum(axis=0))
            cost += list((shares[:, None] * table.cost_JPD.mean(axis=2)).sum(axis=0))
            entropy.append(float(nats(shares)))
        return Scores(*(float(np.mean(one)) for one in (right, cost, entropy)))


def halves(tables: dict[Domain, Table], seed: int) -> tuple[Half, Half]:
    chance = np.random.default_rng(seed)
    parts: tuple[dict[Domain, Table], dict[Domain, Table]] = ({}, {})
    for domain, table in tables.items():
        order = chance.permutation(len(table.problems))
        everyone = list(range(len(table.programs)))
        for part, chosen in zip(parts, np.array_split(order, 2), strict=True):
            part[domain] = table.of(everyone, [int(p) for p in chosen])
    return Half(parts[0]), Half(parts[1])


def started(half: Half, warm: bool) -> Policy:
    """A warm start weighs programs by the softmax of their reward; without it all are alike."""
    return {
        (domain, budget): half.values(domain, budget) / TEMPERATURE
        if warm
        else np.zeros(len(table.programs))
        for domain, table in half.tables.items()
        for budget in BUDGETS
    }


def trained(half: Half, keys: Keys, steps: int, seed: int) -> Policy:
    policy, chance = started(half, keys.warm), np.random.default_rng(seed)

    def told(step: int, problem: str) -> Budget:
        return named_rng(seed, "budget", step, problem).choice(BUDGETS)

    def told_low(step: int, problem: str) -> bool:
        return told(step, problem) == "low"

    sampler = (
        InformativeSampler(
            *half.columns, 4, seed, half.rates, told_low=told_low if keys.all_at_low else None
        )
        if keys.informative
        else StratifiedSampler(*half.columns, 4, seed)
    )
    for step in range(1, 1 + steps * keys.times):
        groups: list[tuple[tuple[Domain, Budget], npt.NDArray[np.int64]]] = []
        rewards: list[list[float]] = []
        found: dict[str, float] = {}
        for row in sampler.next_batch():
            domain, p = half.rows[row]
            budget = keys.budget or BUDGETS[chance.integers(len(BUDGETS))]
            if keys.all_at_low:
                budget = told(step, half.columns[0][row])
            shares = softmax(policy[domain, budget])
            written = chance.choice(len(shares), size=keys.samples, p=shares)
            table = half.tables[domain]
            right, cost = (
                one[written, p, : keys.draws].mean(axis=1)
                for one in (table.right_JPD, table.cost_JPD)
            )
            groups.append(((domain, budget), written))
            rewards.append(priced(right, cost, PRICES[budget]).tolist())
            found[half.columns[0][row]] = float(right.mean())
        for (place, written), gains in zip(groups, step_advantages(rewards, LOSS), strict=True):
            shares = softmax(policy[place])
            count = len(groups) * keys.samples
            for program, gain in zip(written, gains, strict=True):
                push = np.eye(len(shares))[program] - shares
                policy[place] += keys.rate * gain * push / count
        if isinstance(sampler, InformativeSampler):
            sampler.learn(step, found)
    return policy


def searched(half: Half) -> Policy:
    """The best program of each domain and budget, nothing else."""
    return {
        place: np.where(np.arange(len(values)) == values.argmax(), 0.0, -50.0)
        for place, values in started(half, warm=True).items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bank", type=Path)
    parser.add_argument("--halvings", type=int, default=40)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args(arguments)
    table = Bank.named(args.bank, "bank").table()
    tables = {d: whole for d in get_args(Domain) if (whole := table.whole(d)).problems}
    if not tables:
        raise DataError(f"{args.bank}: no program has run on all problems of a domain")
    sizes = (f"{d} {len(t.programs)} x {len(t.problems)}" for d, t in tables.items())
    print(f"programs x problems: {', '.join(sizes)}; {args.halvings} halvings, both ways")
    found: dict[str, list[dict[Budget, Scores]]] = {}
    for seed in range(args.halvings):
        one, other = halves(tables, seed)
        for learns, scores in ((one, other), (other, one)):
            policies = {"the start": started(learns, warm=True), "the search": searched(learns)}
            policies |= {
                name: trained(learns, keys, args.steps, seed) for name, keys in RUNS.items()
            }
            for name, policy in policies.items():
                of_budgets = {budget: scores.scores(policy, budget) for budget in BUDGETS}
                found.setdefault(name, []).append(of_budgets)
    show(found)


def show(found: dict[str, list[dict[Budget, Scores]]]) -> None:
    """Points of reward, to the run as it is; of a halving the mean of both ways."""
    base = found["as the run"]
    for budget in BUDGETS:
        print(f"\n{budget}: right, cost, nats a program; reward to `as the run`, points")
        for name, of_run in found.items():
            here = [one[budget] for one in of_run]
            right, cost, entropy = (
                float(np.mean([getattr(one, part) for one in here]))
                for part in ("right", "cost", "entropy")
            )
            gaps = [
                one.reward(budget) - two[budget].reward(budget)
                for one, two in zip(here, base, strict=True)
            ]
            pairs = 100 * np.array(gaps).reshape(-1, 2).mean(axis=1)
            error = float(pairs.std(ddof=1) / len(pairs) ** 0.5) if len(pairs) > 1 else 0.0
            print(
                f"  {name:20} {right:.1%}  {cost:5.0f}  {entropy:.2f}   "
                f"{pairs.mean():+.2f} +- {2 * error:.2f}"
            )


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(str(error))
