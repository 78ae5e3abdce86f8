"""Log-probs of replies: how well they tell right replies from wrong ones, and what a vote weighed by them gains.

    python benchmarks/logprobs.py ask RAW --out FOLDER [--model qwen25-coder-0.5b] [--rows 220] [--draws 4]
    python benchmarks/logprobs.py table --out FOLDER

``RAW`` holds the upstream training parts of GSM8K and MATH (docs/DATA.md). ``ask`` draws chains of thought from
the embedded executor and grades them, a line a problem; killed, it goes on where it was. ``table`` reads the lines:
AUC of a score within a problem (right against wrong replies of the same problem; 0.5 = chance), and the accuracy of
votes, each reply weighed by its probability of being right, which a logistic regression says that was fitted to other
problems. Intervals are bootstraps over problems. Ties are taken as evenly broken.

Expected, before it was run: AUC of the mean log-prob .64 [.59, .69], of a short reply .62, both together .66; a vote of
four weighed by both +1.5 points [-0.5, +3.5] over the plain one, of which length carries about half.
Of the 1.5B executor, written down before its first reply: AUC .66 [.58, .74]; equal votes decided by the log-probs +2
points [+0.5, +3.5] at two draws, +1 [-1, +3] at four; weighing nothing beyond that.

Found of length alone, on draws of the shipped pool (317 problems of mathematics, four chains each): AUC .48
[.42, .53], a weighed vote -0.9 points [-2.5, +0.8]. So no vote is weighed by it.
What log-probs gave stands in docs/results/learning.md.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from llm_as_judge.config import known_model
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.stop_learning import (
    PRICES_LEARNED,
    Draw,
    StopProblem,
    cross_validated,
    paths_of,
)
from llm_as_judge.grading.equality import GradersEquality
from llm_as_judge.grading.rules import Rules
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.local import EmbeddedServer, ServerSettings
from llm_as_judge.llm.weights import fetch
from llm_as_judge.operators.base import ExecutionContext, OperatorSettings
from llm_as_judge.operators.prompts import load_enhancements
from llm_as_judge.operators.registry import registry
from llm_as_judge.operators.service import OperatorService
from llm_as_judge.types import ChatModel, Problem

SETS = {"gsm8k": 3, "math": 1}
"""Rows of each in a round, so that the lines are mixed alike however far it has come."""
MAX_TOKENS = 400
AT_ONCE = 2
FOLDS, RESAMPLES = 10, 2000
PROMPT, QUESTION = 40.0, 200
"""Written tokens that a prompt of 160 tokens costs, and characters of a question: the lines keep neither."""

Line = dict[str, Any]


# ------------------------------------------------------------------------------------------ ask
def problems(raw: Path, rows: int) -> list[Problem]:
    """Training rows of both sets, mixed as :data:`SETS` says.

    Raises:
        DataError: a set is not there.
    """
    parts = {name: _rows(raw, name) for name in SETS}
    order = itertools.cycle([name for name, times in SETS.items() for _ in range(times)])
    return [next(parts[name]) for name in itertools.islice(order, rows)]


def _rows(raw: Path, name: str) -> Iterator[Problem]:
    dataset = CATALOG[name]
    files = dataset.find(raw)
    if not files:
        raise DataError(f"{raw}: no rows of {name}; run: llm-as-judge data download")
    for row in dataset.rows(files):
        yield dataset.convert(row, dataset.split)


async def ask(raw: Path, out: Path, model: str, rows: int, draws: int) -> None:
    file = out / "replies.jsonl"
    out.mkdir(parents=True, exist_ok=True)
    known = {row["problem"] for row in JsonLines(file).rows(missing_ok=True)}
    left = [problem for problem in problems(raw, rows) if problem.id not in known]
    weights = fetch(known_model(model, "model"), Path.home() / ".cache" / "llm-as-judge")
    async with AsyncExitStack() as stack:
        settings = ServerSettings(slots=AT_ONCE * draws, context_tokens=2048)
        server = stack.enter_context(EmbeddedServer(weights, model, settings, start_timeout_s=900))
        limits = EndpointLimits(AT_ONCE * draws, timeout_s=3600, retries=0, logprobs=0)
        chat = OpenAIChat(model, server.base_url, api_key=server.api_key, limits=limits)
        await stack.enter_async_context(chat.opened())
        rules, equality = Rules(workers=1), GradersEquality()
        stack.push_async_callback(rules.aclose)
        stack.push_async_callback(equality.aclose)
        queue = iter(left)

        async def work() -> None:
            for problem in queue:
                line = await answered(problem, chat, draws, rules, equality)
                JsonLines(file).append(line)
                print(problem.id, [reply["correct"] for reply in line["replies"]], flush=True)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def answered(
    problem: Problem, chat: ChatModel, draws: int, rules: Rules, equality: GradersEquality
) -> Line:
    """Chains of thought for one problem: what each is worth, and which are equal."""
    settings = OperatorSettings(max_tokens=MAX_TOKENS, temperature=0.7, seed=0)
    context = ExecutionContext(chat, _NoSandbox(), problem, settings, load_enhancements())
    service = OperatorService(registry(), context)
    asked = {"input": problem.statement()}
    results: list[Any] = await asyncio.gather(
        *(service("AnswerGenerate", [], dict(asked)) for _ in range(draws))
    )
    answers = [result["answer"] for result in results]
    classes = await equality(problem, answers)
    replies = []
    for answer, number, call in zip(answers, classes, service.calls, strict=True):
        verdict = await rules.verdict(problem, answer) if answer else None
        (logprobs,) = call.logprobs
        replies.append(
            {
                "class": number if answer else None,
                "correct": bool(verdict and verdict.correct),
                "tokens": logprobs.tokens,
                "mean": logprobs.mean,
            }
        )
    return {"problem": problem.id, "replies": replies}


class _NoSandbox:
    """Nothing here runs code."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"no code is run: {name}")


# ---------------------------------------------------------------------------------------- table
SCORES: dict[str, Callable[[Line], list[float]]] = {
    "mean log-prob": lambda r: [r["mean"]],
    "length": lambda r: [float(np.log(r["tokens"])), float(r["tokens"] >= MAX_TOKENS)],
    "both": lambda r: [*SCORES["mean log-prob"](r), *SCORES["length"](r)],
}
"""Features of a reply that a logistic regression reads."""


def probabilities(
    lines: Sequence[Line], features: Callable[[Line], list[float]]
) -> list[list[float]]:
    """Of being right, for each reply of each problem, fitted to the problems of the other folds."""
    folds = np.random.default_rng(0).permutation(len(lines)) % FOLDS
    found: list[list[float]] = [[] for _ in lines]
    for fold in range(FOLDS):
        train = [
            r for line, f in zip(lines, folds, strict=True) if f != fold for r in line["replies"]
        ]
        features_BF = np.array([features(r) for r in train])
        center, scale = features_BF.mean(0), features_BF.std(0) + 1e-9
        weights = _logistic(
            (features_BF - center) / scale, np.array([r["correct"] for r in train], float)
        )
        for n in map(int, np.flatnonzero(folds == fold)):
            rows = (np.array([features(r) for r in lines[n]["replies"]]) - center) / scale
            found[n] = list(1 / (1 + np.exp(-(rows @ weights[1:] + weights[0]))))
    return found


def _logistic(features_BF: np.ndarray, right_B: np.ndarray, ridge: float = 1.0) -> np.ndarray:
    """(1 + F,) intercept and weights, by Newton's method."""
    rows = np.column_stack([np.ones(len(right_B)), features_BF])
    weights = np.zeros(rows.shape[1])
    penalty = np.diag([0.0] + [ridge] * features_BF.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (right_B - p) - penalty @ weights
        weights += np.linalg.solve((rows * (p * (1 - p))[:, None]).T @ rows + penalty, gradient)
    return weights


def auc_within(line: Line, scores: Sequence[float]) -> float | None:
    """None: the replies are all right or all wrong."""
    pairs = [
        (a > b) + (a == b) / 2
        for (a, x), (b, y) in itertools.product(zip(scores, line["replies"], strict=True), repeat=2)
        if x["correct"] and not y["correct"]
    ]
    return sum(pairs) / len(pairs) if pairs else None


def agreement(line: Line) -> list[float]:
    """Of each reply, how many have its answer."""
    classes = [reply["class"] for reply in line["replies"]]
    return [0.0 if one is None else float(classes.count(one)) for one in classes]


def vote(line: Line, weights: Sequence[float]) -> float:
    """Chance that the class with the most weight is right; ties are evenly broken."""
    sums: dict[int, float] = {}
    right: dict[int, bool] = {}
    for reply, weight in zip(line["replies"], weights, strict=True):
        if reply["class"] is not None:
            sums[reply["class"]] = sums.get(reply["class"], 0.0) + weight
            right[reply["class"]] = reply["correct"]
    most = max(sums.values(), default=0.0)
    best = [right[one] for one, total in sums.items() if total >= most - 1e-12]
    return sum(best) / len(best) if best else 0.0


def interval(values: Sequence[float], scale: float = 1.0) -> str:
    """Mean and 95 % of its bootstrap over problems."""
    array = np.array(values) * scale
    chance = np.random.default_rng(0)
    means = array[chance.integers(0, len(array), (RESAMPLES, len(array)))].mean(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{array.mean():+.3g} [{low:+.3g}, {high:+.3g}]"


def table(out: Path) -> str:
    lines: list[Line] = list(JsonLines(out / "replies.jsonl").rows(missing_ok=True))
    replies = [reply for line in lines for reply in line["replies"]]
    if not replies:
        raise DataError(
            f"{out}: no replies; run: python benchmarks/logprobs.py ask RAW --out {out}"
        )
    mixed = sum(auc_within(line, agreement(line)) is not None for line in lines)
    shown = [
        (
            f"{len(lines)} problems, {len(replies)} replies, {np.mean([r['correct'] for r in replies]):.1%} right, "
            f"{np.mean([r['tokens'] >= MAX_TOKENS for r in replies]):.1%} cut off; {mixed} problems with both kinds"
        ),
        f"plain vote  {interval([vote(line, [1.0] * len(line['replies'])) for line in lines], 100)} % right",
    ]
    scores = {name: probabilities(lines, features) for name, features in SCORES.items()}
    for name, found in {"agreement": [agreement(line) for line in lines], **scores}.items():
        aucs = [auc_within(line, s) for line, s in zip(lines, found, strict=True)]
        shown.append(f"AUC of {name:14} {interval([a for a in aucs if a is not None])}")
    for name, found in scores.items():
        gains = [
            vote(line, s) - vote(line, [1.0] * len(s)) for line, s in zip(lines, found, strict=True)
        ]
        shown.append(f"vote weighed by {name:14} {interval(gains, 100)} points")
    for draws in range(1, len(lines[0]["replies"]) + 1):
        plain, tied = zip(*(votes_of(line, draws) for line in lines), strict=True)
        gains = [a - b for a, b in zip(tied, plain, strict=True)]
        shown.append(
            f"vote of {draws}: {np.mean(plain):.1%} right; ties by mean log-prob {np.mean(tied):.1%}, "
            f"{interval(gains, 100)} points"
        )
    return "\n".join([*shown, *learned_stops(lines)])


def votes_of(line: Line, draws: int) -> tuple[float, float]:
    """Of votes over so many of the replies, the share right: ties evenly broken, and by the likeliest reply."""
    plain, tied = [], []
    for some in itertools.combinations(line["replies"], draws):
        part = {"replies": some}
        plain.append(vote(part, [1.0] * draws))
        tied.append(vote(part, [1 + 1e-3 * float(np.exp(reply["mean"])) for reply in some]))
    return float(np.mean(plain)), float(np.mean(tied))


def learned_stops(lines: Sequence[Line]) -> list[str]:
    """`until_worth` over these draws, ties decided with and without log-probs; each problem under rules of other folds."""
    known = [
        StopProblem(
            line["problem"],
            line["problem"].partition("/")[0],
            QUESTION,
            (tuple(_draw(reply) for reply in line["replies"]),),
        )
        for line in lines
    ]
    datasets = sorted({one.dataset for one in known})
    most = len(known[0].draws_W[0])
    bare = [
        replace(one, draws_W=(tuple(replace(d, likely=()) for d in one.draws_W[0]),))
        for one in known
    ]
    shown = []
    for price in PRICES_LEARNED:
        plain, likely = (
            cross_validated(paths_of(some, most, datasets), price, datasets)
            for some in (bare, known)
        )
        figures = [
            f"{100 * o.right_P.mean():.1f} % for {o.cost_P.mean():.0f}" for o in (plain, likely)
        ]
        worth = likely.right_P - plain.right_P - price * (likely.cost_P - plain.cost_P) / 1000
        shown.append(
            f"learned stop at {price:5g} for 1,000 tokens: {figures[0]}; ties by log-probs {figures[1]}; "
            f"worth {interval(list(worth), 100)} points"
        )
    return shown


def _draw(reply: Line) -> Draw:
    tokens = float(reply["tokens"])
    likely = (("cot", float(np.exp(reply["mean"]))),)
    return Draw(reply["class"], reply["correct"], tokens + PROMPT, tokens, likely=likely)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    asks = verbs.add_parser("ask")
    asks.add_argument("raw", type=Path)
    asks.add_argument("--model", default="qwen25-coder-0.5b")
    asks.add_argument("--rows", type=int, default=220)
    asks.add_argument("--draws", type=int, default=4)
    for verb in (asks, verbs.add_parser("table")):
        verb.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.verb == "ask":
        asyncio.run(ask(given.raw, given.out, given.model, given.rows, given.draws))
    else:
        print(table(given.out))


if __name__ == "__main__":
    main()
