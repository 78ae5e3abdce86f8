"""Worth of a second turn: the next way chosen from what came back, beside `until_worth` with its fixed order.

    python recipes/feedback.py results/bank

The bank holds single calls that `pool fill` made. `until_worth` asks one way or two in turn: those that are worth most on
training problems ("fixed"), or that a regression on data set and question length chooses ("planned": what one turn can
do). The second turn sees its state and, of each way, replies for the leader, empty ones, and whether the ways agree; it
stops or asks any way: fitted Q by backward induction, a regression for each number of replies of each way. Its own tokens
are free. All is cross-validated by problem over five assignments to folds. The bound stops at the first right reply.
Worth is in points: the share right less the price of the cost. Intervals (95 %) are bootstraps over problems.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import permutations, product
from pathlib import Path

import numpy as np

from learned_stop import Rows, Ways, shown, single_call_baselines, whole
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation import stop_learning as learning
from llm_as_judge.operators.stopping import StopState, votes
from llm_as_judge.reward import PRICES
from llm_as_judge.runs.table import Bank
from recipe import parser_of, run

RESAMPLES, ASSIGNMENTS, MOST, PATHS = 2000, 5, 8, learning.PATHS
HEAD = ["domain, problems", "price", "fixed: right, %, cost", "planned", "second turn", "over fixed", "over planned", "bound over fixed"]  # fmt: skip
Array = learning.Array
Seen = Mapping[tuple[int, ...], Array]
"""Replies of each way, the most first -> (paths, 3 + inputs): leader is right, cost, any is right, then inputs."""


def _seen(one: learning.StopProblem, drawn_W: Sequence[Sequence[learning.Draw]]) -> list[float]:
    drawn = [draw for own in drawn_W for draw in own]
    spent = sum(own[0].cost + sum(draw.repeated for draw in own[1:]) for own in drawn_W)
    classes, passed = learning.classes_of(drawn), any(draw.passed for draw in drawn)
    length, empty = one.question_characters, classes.count(None)
    state = StopState(votes(classes), empty, spent, length, one.dataset, passed)
    leader = max((c for c in classes if c is not None), key=classes.count, default=-1)
    own_W = [[next(left) for _ in own] for left in [iter(classes)] for own in drawn_W]
    parts = [own.count(each) / len(own) for own in own_W for each in (leader, None)]
    agree = len({max(own, key=own.count) for own in own_W}) == 1
    right = learning.leader_is_right(drawn), spent, any(draw.right for draw in drawn)
    return [*map(float, right), 1.0, *state.features(), *parts, float(agree)]


def lattice(problems: Sequence[learning.StopProblem], known_PF: Array) -> Seen:
    """All that can be reached, on ``PATHS`` orders; of equal votes the way that is right more often decides."""
    mean_W = np.mean([[[d.right for d in own] for own in p.draws_W] for p in problems], axis=(0, 2))
    draws, chance, order = len(problems[0].draws_W[0]), random.Random(0), np.argsort(-mean_W)
    each = [one for one in problems for _ in range(PATHS)]
    paths = [(one, [chance.sample(own, draws) for own in one.draws_W]) for one in each]
    found = {}
    for at in sorted(product(range(draws + 1), repeat=len(order)), key=sum, reverse=True):
        if 0 < sum(at) <= MOST:
            rows = [_seen(p, [own_W[w][: at[w]] for w in order if at[w]]) for p, own_W in paths]
            found[at] = np.hstack([np.array(rows), known_PF.repeat(PATHS, axis=0)])
    return found


def _best(ends_J: Array, known: Array, price: float, train: Array, ridge: float) -> Array:
    """(2, rows): of the candidates (J, 2, rows) the one that is worth most by what is known of the row."""
    worth_J = ends_J[:, 0] - price * ends_J[:, 1] / 1000
    told_J = [known @ learning.ridge_weights(known[train], w[train], ridge) for w in worth_J]
    return np.asarray(ends_J[np.argmax(told_J, axis=0), :, np.arange(len(known))].T)


def second_turn(seen: Seen, known_PF: Array, price: float, train_P: Array) -> Array:
    """(2, problems) right and cost under what the training problems teach."""
    train, known = train_P.repeat(PATHS), known_PF.repeat(PATHS, axis=0)
    ends: dict[tuple[int, ...], Array] = {}
    for at, row in seen.items():
        ends[at], best = (stop := row[:, :2].T), np.zeros(len(row))
        for way in range(len(at)):
            more = ends.get(tuple(n + (w == way) for w, n in enumerate(at)))
            if more is not None:
                gain = np.array([1, -price / 1000]) @ (more - stop)
                told = row[:, 3:] @ learning.ridge_weights(row[train, 3:], gain[train], PATHS)
                ends[at], best = np.where(told > best, more, ends[at]), np.maximum(told, best)
    firsts = np.array([end for at, end in ends.items() if sum(at) == 1])
    found = _best(firsts, known, price, train, PATHS).reshape(2, -1, PATHS)
    return np.asarray(found.mean(axis=2))


def one_turn(rows: Rows, known_PF: Array, train_P: Array) -> Array:
    """(prices, 2, 2, problems): right and cost of ``until_worth``, fixed and planned."""
    names, worth_T, ends = [way.name for way in rows.ways], [], []
    for turn in (*permutations(names, 1), *permutations(names, 2)):
        paths, prices = rows.paths(turn), PRICES.values()
        some, data = paths.of(train_P[paths.problem_N] > 0), rows.datasets
        tried = [(p, learning.cross_validated(some, p, data, seed=ASSIGNMENTS)) for p in prices]
        worths = [np.nanmean(one.right_P - p * one.cost_P / 1000) for p, one in tried]
        worth_T.append(float(np.sum(worths)))
        played = [learning.stopped(paths, learning.learn_rule(some, p, data)) for p in prices]
        ends.append([[one.right_P, one.cost_P] for one in played])
    of_T = np.array(ends)
    planned = [_best(of_T[:, n], known_PF, p, train_P, 1) for n, p in enumerate(PRICES.values())]
    return np.stack([of_T[int(np.argmax(worth_T))], planned], axis=1)


def of_domain(bank: Bank, ways: Ways) -> list[list[str]]:
    """Lines of the table."""
    problems, name, least = whole(bank, ways), ways[0].domain, learning.LEAST_PROBLEMS
    if (size := len(problems)) < least:
        raise DataError(f"{bank.folder}: {name}: {size} whole problems; {least} are wanted")
    data = sorted({one.dataset for one in problems})
    known = [[p.question_characters, *(p.dataset == name for name in data)] for p in problems]
    known_PF = np.insert(np.log1p(known), 0, 1, axis=1)
    rows, seen = Rows(problems, ways, data, MOST, 0), lattice(problems, known_PF[:, 2:])
    means = np.zeros((len(PRICES), 3, 2, size))
    for seed, fold in product(range(ASSIGNMENTS), range(learning.FOLDS)):
        held = np.random.default_rng(seed).permutation(size) % learning.FOLDS == fold
        two = np.array([[second_turn(seen, known_PF, p, ~held)] for p in PRICES.values()])
        means[..., held] += np.hstack([one_turn(rows, known_PF, ~held), two])[..., held]
    picks = np.random.default_rng(0).integers(0, size, (RESAMPLES, size))
    lines = []
    for price, ends in zip(PRICES.values(), means / ASSIGNMENTS, strict=True):
        fixed, planned, second = ends[:, 0] - price * ends[:, 1] / 1000
        most = np.max([row[:, 2] - price * row[:, 1] / 1000 for row in seen.values()], axis=0)
        bound = most.reshape(size, PATHS).mean(axis=1)
        gains = 100 * np.array([second - fixed, second - planned, bound - fixed])
        told = [shown([g.mean(), *g[picks].mean(axis=1)], "+.1f", "") for g in gains]
        figures = [f"{100 * right:.1f}, {cost:.0f}" for right, cost in ends.mean(axis=2)]
        lines.append([f"{name}, {size}", f"{price:g}", *figures, *told])
    return lines


def report(bank: Bank) -> str:
    """Markdown, of each domain with two ways or more."""
    lines = [HEAD, ["---"] * len(HEAD)]
    for ways in single_call_baselines(bank).values():
        lines += of_domain(bank, ways) if len(ways) > 1 else []
    if len(lines) == 2:
        raise DataError(f"{bank.folder}: no domain was asked in two ways; fill it by pool fill")
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("bank", type=Path)
    print(report(Bank.named(parser.parse_args().bank, "BANK")))


if __name__ == "__main__":
    run(main)
