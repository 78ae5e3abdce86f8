"""Worth of the learned stop on rows that it did not learn from, beside votes, agreement and routers.

    python recipes/learned_stop.py results/bank results/held [--most 8] [--config embedded]
    python recipes/learned_stop.py results/bank results/held --rows 30 60 120    # learned from so many problems

Both folders are banks of single calls that `pool fill` made: of training rows, and of held-out rows. The stop, the
best `until_agree` (or `until_passed`) and the routers are chosen on the first and played on the second. Between two
prices the stop is a mixture of both. Routers read the words of a question (TF-IDF), and its sentence embedding where that
model is here (`experience.embedder`). Cost is in written tokens, each prompt once; an open answer is not right.
Intervals (95 %) are bootstraps over the held-out problems.

Expected of --rows, before it was run: in mathematics 30 problems keep a third of the gain on a vote of four, 60 two
thirds, 120 all of it. Found: 30 keep four fifths.
"""

from __future__ import annotations

import copy
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from pathlib import Path

import numpy as np

from llm_as_judge.cli.searching import vectors_of
from llm_as_judge.config import load_config
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.baselines import WAYS
from llm_as_judge.evaluation.headroom import best_penalty, ridge
from llm_as_judge.evaluation.search.audit import Vectors
from llm_as_judge.evaluation.stop_learning import (
    LEAST_PROBLEMS,
    Array,
    Outcome,
    Paths,
    StopProblem,
    after,
    learn_table,
    paths_of,
    stop_problems,
    stopped,
)
from llm_as_judge.operators.stopping import FEATURES, StopRule
from llm_as_judge.reward import PRICES
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import DOMAINS, PROMPT_PRICE, Domain, Problem
from recipe import parser_of, run

RESAMPLES, FOLDS, NEIGHBORS, SAMPLES = 1000, 5, 20, 8
ROUTERS = ("ridge", "neighbors")
CHAINS = ("cot", "direct")
"""What votes are of: the first that a domain has."""
Ways = Sequence[BankProgram]


def single_call_baselines(bank: Bank) -> dict[Domain, list[BankProgram]]:
    """Single calls of each domain that the bank holds runs of."""
    ran = {key.program for key in bank.runs}
    held = [one for name in WAYS for one in bank.programs.values() if one.name == name]
    found = {d: [one for one in held if one.domain == d and one.key in ran] for d in DOMAINS}
    return {domain: ways for domain, ways in found.items() if ways}


def whole(bank: Bank, ways: Ways) -> list[StopProblem]:
    """Problems with every draw of every way."""
    found = stop_problems(bank, ways, PROMPT_PRICE)
    draws = max((len(one.draws_W[0]) for one in found), default=0)
    return [one for one in found if len(one.draws_W[0]) == draws]


@dataclass(frozen=True)
class Rows:
    """Problems of one domain with draws of all its ways."""

    problems: Sequence[StopProblem]
    ways: Ways
    datasets: Sequence[str]
    most: int
    seed: int
    _known: dict[tuple[str, ...], Paths] = field(default_factory=dict)

    def paths(self, turn: Sequence[str]) -> Paths:
        """Of these ways in turn."""
        key = tuple(turn)
        if key not in self._known:
            names = [way.name for way in self.ways]
            at = [names.index(name) for name in turn]
            taken = [replace(p, draws_W=tuple(p.draws_W[w] for w in at)) for p in self.problems]
            self._known[key] = paths_of(taken, self.most, self.datasets, seed=self.seed)
        return self._known[key]


def agreeing(paths: Paths, agree: int, most: int, tested: bool) -> Outcome:
    """``until_agree``; of code that is tested it also has to pass, as ``until_passed`` does."""
    drawn_D = np.arange(1, paths.right_ND.shape[1] + 1)
    enough_ND = np.rint(paths.inputs_NDF[:, :, 1] * drawn_D) >= agree
    if tested:
        enough_ND &= paths.inputs_NDF[:, :, 1 + FEATURES.index("passed")] > 0
    enough_ND[:, min(most, len(drawn_D)) - 1 :] = True
    return paths.stopped_at(np.minimum(enough_ND.argmax(axis=1), paths.draws_N - 1))


Player = Callable[[Rows], Outcome]


def players(domain: Domain, ways: Ways) -> dict[str, Player]:
    """Fixed programs: single calls, votes, and agreement of one way or of two in turn."""
    names, chain = [way.name for way in ways], _chain(ways)
    found: dict[str, Player] = {
        name: lambda rows, name=name: after(rows.paths([name]), 1)  # type: ignore[misc]
        for name in names
    }
    for n in (3, 4, 5):
        found[f"vote of {n}"] = lambda rows, n=n: after(rows.paths([chain]), n)  # type: ignore[misc]
    tested = domain == "code"
    turns = [*permutations(names, 1), *permutations(names, 2)]
    for turn, agree, most in product(turns, (1,) if tested else (2, 3), range(2, 9)):
        if agree < most:
            label = f"until {'passed' if tested else agree} of {most}, {' and '.join(turn)}"
            found[label] = lambda rows, t=turn, a=agree, m=most: agreeing(
                rows.paths(t), a, m, tested
            )  # type: ignore[misc]
    return found


# -------------------------------------------------------------------------------------- routers
def vectors(questions: Sequence[str], known: Sequence[str]) -> Array:
    """TF-IDF of unit length, by the words of ``known``."""
    counts = [Counter(set(re.findall(r"\w+", text.lower()))) for text in known]
    held = Counter(word for count in counts for word in count)
    words = {w: n for n, w in enumerate(sorted(w for w, times in held.items() if times > 1))}
    found = np.zeros((len(questions), len(words)))
    for row, text in zip(found, questions, strict=True):
        for word, times in Counter(re.findall(r"\w+", text.lower())).items():
            if word in words:
                row[words[word]] = (1 + math.log(times)) * math.log(len(known) / held[word])
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9))


def routed(
    kind: str,
    price: float,
    texts: tuple[Array, Array],
    train: Sequence[Outcome],
    held: Sequence[Outcome],
) -> Outcome:
    """Each held-out problem by the program that is worth most on it, as its text says."""
    worth_PJ = np.column_stack([one.right_P - price * one.cost_P / 1000 for one in train])
    mean_J = worth_PJ.mean(axis=0)
    folds = np.arange(len(worth_PJ)) % FOLDS
    if kind == "ridge":
        penalty = best_penalty(texts[0], worth_PJ - mean_J, folds)
        told_PJ = ridge(penalty, texts[0], worth_PJ - mean_J, texts[1])
    else:  # the nearest by cosine
        nearest = np.argsort(-(texts[1] @ texts[0].T), axis=1, kind="stable")[:, :NEIGHBORS]
        told_PJ = (worth_PJ - mean_J)[nearest].mean(axis=1)
    choice_P = (mean_J + told_PJ).argmax(axis=1)
    rows = np.arange(len(choice_P))
    return Outcome(
        np.column_stack([one.right_P for one in held])[rows, choice_P],
        np.column_stack([one.cost_P for one in held])[rows, choice_P],
    )


# ---------------------------------------------------------------------------------- comparisons
def at_cost(right_C: Array, cost_C: Array, wanted: float) -> float:
    """Share right of the stop at a mean cost; the dearest price's where that is more than it spends."""
    order = np.argsort(cost_C)
    return float(np.interp(wanted, cost_C[order], right_C[order], left=np.nan))


def cost_for(right_C: Array, cost_C: Array, wanted: float) -> float:
    """Least mean cost at which the stop has so many right; NaN: at no price."""
    order = np.argsort(cost_C)
    right_C, cost_C = right_C[order], cost_C[order]
    if right_C[0] >= wanted:
        return float(cost_C[0])
    for n in range(1, len(order)):
        if right_C[n] >= wanted:
            part = (wanted - right_C[n - 1]) / (right_C[n] - right_C[n - 1])
            return float(cost_C[n - 1] + part * (cost_C[n] - cost_C[n - 1]))
    return math.nan


def against(stop_C: Sequence[Outcome], other: Outcome) -> tuple[str, str]:
    """(points at equal cost, cost at equal accuracy), each with its interval."""
    right_PC = np.column_stack([one.right_P for one in stop_C])
    cost_PC = np.column_stack([one.cost_P for one in stop_C])
    chance = np.random.default_rng(0)
    picks = [np.arange(len(right_PC))]
    picks += [chance.integers(0, len(right_PC), len(right_PC)) for _ in range(RESAMPLES)]
    gains, ratios = [], []
    for pick in picks:
        right_C, cost_C = right_PC[pick].mean(axis=0), cost_PC[pick].mean(axis=0)
        right, cost = float(other.right_P[pick].mean()), float(other.cost_P[pick].mean())
        gains.append(100 * (at_cost(right_C, cost_C, cost) - right))
        ratios.append(cost_for(right_C, cost_C, right) / cost)
    return shown(gains, "+.1f", ""), shown(ratios, ".2f", "x ")


def shown(values: Sequence[float], form: str, before: str) -> str:
    """The first with the interval of the others; a dash where it, or one in forty of them, is unknown."""
    first, others = values[0], np.array(values[1:])
    if math.isnan(first):
        return "-"
    if np.isnan(others).mean() > 0.025:
        return f"{before}{first:{form}}"
    low, high = np.nanquantile(others, [0.025, 0.975])
    return f"{before}{first:{form}} [{low:{form}}, {high:{form}}]"


def seen_by_routers(
    train: Sequence[Problem], test: Sequence[Problem], sentences: Vectors | None
) -> dict[str, tuple[Array, Array]]:
    """What a router reads of each problem of the two banks, by the name of its kind."""
    asked = [[one.question for one in rows] for rows in (train, test)]
    found = {"words": (vectors(asked[0], asked[0]), vectors(asked[1], asked[0]))}
    if sentences is not None:
        one, other = (np.array([sentences[p.id] for p in rows]) for rows in (train, test))
        found["sentences"] = one, other
    return found


def of_domain(
    domain: Domain, bank: Bank, held: Bank, ways: Ways, most: int, sentences: Vectors | None
) -> list[list[str]]:
    """Lines of the table.

    Raises:
        DataError: too few problems.
    """
    table = learn_table(bank, {domain: ways}, {}, PROMPT_PRICE, most).table
    rules: Mapping[str, StopRule] = table.rules[domain]
    datasets = next(iter(rules.values())).datasets
    train, test = (
        Rows(whole(one, ways), ways, datasets, most, seed) for seed, one in enumerate((bank, held))
    )
    for rows, where in ((train, bank), (test, held)):
        if len(rows.problems) < LEAST_PROBLEMS:
            raise DataError(
                f"{where.folder}: {domain}: {len(rows.problems)} problems have every draw of "
                f"{', '.join(way.name for way in ways)}; {LEAST_PROBLEMS} are wanted"
            )
    turn = table.ways[domain]
    paths = test.paths(turn)
    stop_C = [stopped(paths, rules[price]) for price in sorted(rules, key=float)]
    fixed = players(domain, ways)
    learned = {name: play(train) for name, play in fixed.items()}
    played = {name: play(test) for name, play in fixed.items()}
    shown_too = [name for name in played if not name.startswith("until")]
    others = {name: played[name] for name in shown_too}
    asked = [
        [one.problems[p.id] for p in rows.problems] for one, rows in ((bank, train), (held, test))
    ]
    seen = seen_by_routers(asked[0], asked[1], sentences)
    for word, price in PRICES.items():
        best = max(
            (name for name in learned if name.startswith("until")),
            key=lambda name: float(
                (learned[name].right_P - price * learned[name].cost_P / 1000).mean()
            ),
        )
        others[best] = played[best]
        some = [*shown_too, best]
        for (by, texts), kind in product(seen.items(), ROUTERS):
            others[f"router by {by}, {kind}, {word}"] = routed(
                kind, price, texts, [learned[n] for n in some], [played[n] for n in some]
            )
    lines = [
        [domain, f"stop at {price}, {' and '.join(turn)}", *_figures(one), "", ""]
        for price, one in zip(sorted(rules, key=float), stop_C, strict=True)
    ]
    lines += [[domain, name, *_figures(one), *against(stop_C, one)] for name, one in others.items()]
    learned_from = (
        f"{domain}: learned from {table.problems[domain]} problems, {len(test.problems)} held out"
    )
    return [[learned_from, "", "", "", "", ""], *lines]


def curve(bank: Bank, held: Bank, most: int, counts: Sequence[int]) -> str:
    """The stop against a vote of four by the number of problems it was learned from: means of seeded samples.
    Its ways are those that all problems together choose.

    Raises:
        DataError: a domain's problems are too few.
    """
    rows = []
    for domain, ways in _of_both(bank, held).items():
        known, test = whole(bank, ways), whole(held, ways)
        vote = after(Rows(test, ways, (), most, 1).paths([_chain(ways)]), 4)
        right, cost = float(vote.right_P.mean()), float(vote.cost_P.mean())
        turn = learn_table(bank, {domain: ways}, {}, PROMPT_PRICE, most).table.ways[domain]
        chosen = [next(way for way in ways if way.name == name) for name in turn]
        for count in sorted({*(c for c in counts if c < len(known)), len(known)}):
            found = []
            for seed in range(SAMPLES if count < len(known) else 1):
                some = copy.copy(bank)
                names = [one.id for one in random.Random(seed).sample(known, count)]
                some.problems = {name: bank.problems[name] for name in names}
                learned = learn_table(some, {domain: chosen}, {}, PROMPT_PRICE, most, choose=False)
                rules = learned.table.rules[domain].values()
                paths = Rows(test, ways, next(iter(rules)).datasets, most, 1).paths(turn)
                played = [stopped(paths, rule) for rule in rules]
                right_C = np.array([one.right_P.mean() for one in played])
                cost_C = np.array([one.cost_P.mean() for one in played])
                gain = 100 * (at_cost(right_C, cost_C, cost) - right)
                found.append((gain, cost_for(right_C, cost_C, right) / cost))
            gain, ratio = np.nanmean(found, axis=0)
            least = min(gain for gain, _ in found)
            rows.append(f"| {domain} | {count} | {gain:+.1f} | {least:+.1f} | x {ratio:.2f} |")
    head = "| domain | learned from | points to a vote of four at its cost | worst sample | cost for as many right |"
    return "\n".join([head, "| --- | ---: | ---: | ---: | ---: |", *rows])


def _chain(ways: Ways) -> str:
    names = [way.name for way in ways]
    return next(name for name in CHAINS if name in names)


def _of_both(bank: Bank, held: Bank) -> dict[Domain, list[BankProgram]]:
    """Single calls of each domain that both banks hold.

    Raises:
        DataError: there is none, or a row of one bank is in the other.
    """
    if both := sorted(bank.problems.keys() & held.problems.keys()):
        raise DataError(f"{held.folder}: {both[0]} is in {bank.folder}, too; name held-out rows")
    ways, there = single_call_baselines(bank), single_call_baselines(held)
    found = {
        domain: [way for way in ways[domain] if way.key in {one.key for one in there[domain]}]
        for domain in ways.keys() & there.keys()
    }
    if not any(found.values()):
        raise DataError(f"{held.folder}: no single call of {bank.folder}; fill both by pool fill")
    return found


def _figures(one: Outcome) -> tuple[str, str]:
    return f"{100 * one.right_P.mean():.1f}", f"{one.cost_P.mean():.0f}"


HEAD = [
    "",
    "program",
    "right, %",
    "cost",
    "stop at its cost, points",
    "stop's cost for as many right",
]


def report(bank: Bank, held: Bank, most: int, sentences: Vectors | None = None) -> str:
    """A Markdown table of each domain that both banks hold.

    Args:
        sentences: embedding of each problem's question.
    Raises:
        DataError: there is none, or a row of one bank is in the other.
    """
    lines = []
    for domain, of_both in _of_both(bank, held).items():
        lines += of_domain(domain, bank, held, of_both, most, sentences)
    rule = ["---", "---", "---:", "---:", "---:", "---:"]
    return "\n".join(f"| {' | '.join(row)} |" for row in [HEAD, rule, *lines])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("bank", type=Path)
    parser.add_argument("held", type=Path)
    parser.add_argument("--most", type=int, default=8)
    parser.add_argument("--config", default="embedded")
    parser.add_argument("--rows", type=int, nargs="+", help="numbers of problems to learn from")
    given = parser.parse_args()
    bank, held = Bank.named(given.bank, "BANK"), Bank.named(given.held, "HELD")
    if given.rows:
        print(curve(bank, held, given.most, given.rows))
        return
    problems = [*bank.problems.values(), *held.problems.values()]
    print(report(bank, held, given.most, vectors_of(load_config(given.config), problems)))


if __name__ == "__main__":
    run(main)
