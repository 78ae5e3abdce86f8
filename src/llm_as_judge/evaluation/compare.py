"""Evaluations side by side: paired tests, accuracy for tokens, what a trained policy pays back.

Results of one policy with several seeds are one contender: its problems are averaged over seeds.
Comparisons are over the problems that both have graded, so that a difference is never one of rows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.layout import FULL, run_folder
from llm_as_judge.evaluation.statistics import (
    detectable,
    difference_interval,
    holm,
    mcnemar,
    share_interval,
)
from llm_as_judge.monitoring.runlog import read_rollouts


@dataclass(frozen=True, slots=True)
class Share:
    """An accuracy with its 95 % interval over problems."""

    value: float
    low: float
    high: float
    problems: int


@dataclass(frozen=True, slots=True)
class Contender:
    """One policy or baseline, averaged over its seeds."""

    name: str
    policy: str
    executor: str
    checkpoint: str | None
    seeds: tuple[int, ...]
    seed_accuracies: tuple[float, ...]
    datasets: Mapping[str, str]
    """Data set of each problem."""
    domains: Mapping[str, str]
    correct: Mapping[str, float]
    """Share of right of each graded problem, over samples and seeds."""
    tokens: Mapping[str, float]
    """Executor tokens of each problem, per rollout."""
    policy_tokens: float
    """Of the policy's own prompt and program, per rollout."""
    calls: float
    seconds: float
    cost_usd: float | None

    def share(self, dataset: str | None = None, domain: str | None = None) -> Share | None:
        """Accuracy in all, of a set, or of a domain; None where nothing of it is graded."""
        values = [
            value
            for id_, value in self.correct.items()
            if dataset in (None, self.datasets[id_]) and domain in (None, self.domains[id_])
        ]
        if not values:
            return None
        return Share(fmean(values), *share_interval(values), len(values))

    @property
    def mean_tokens(self) -> float:
        return fmean(self.tokens.values()) if self.tokens else 0.0

    @property
    def seed_deviation(self) -> float | None:
        """Of the accuracy over seeds; None with one seed."""
        return pstdev(self.seed_accuracies) if len(self.seed_accuracies) > 1 else None

    @property
    def right_per_1000_tokens(self) -> float | None:
        whole = self.share()
        return 1000 * whole.value / self.mean_tokens if whole and self.mean_tokens else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A contender against the reference, on the problems that both have graded."""

    name: str
    reference: str
    problems: int
    difference: float
    """Accuracy of the contender minus that of the reference."""
    low: float
    high: float
    only_contender: int | None
    """Problems that only the contender got right; None where shares are not 0 or 1."""
    only_reference: int | None
    p: float | None
    """McNemar, exact, two-sided."""
    p_holm: float | None
    """Adjusted for the number of comparisons."""
    token_ratio: float | None
    detectable: float | None
    """True difference that so many problems would show in 80 of 100 repetitions."""


def read_contenders(paths: Sequence[Path]) -> list[Contender]:
    """In the order of the first file of each.

    Raises:
        DataError: a file is missing, or is no whole evaluation.
    """
    parts: dict[tuple[str, str], list[tuple[str, Any]]] = defaultdict(list)
    for path in paths:
        data = _read_full(path)
        name = path.name.removesuffix("_results.json") if path.is_file() else path.parent.name
        parts[data["policy"], data["executor"]].append((name, data))
    contenders = []
    for (policy, _), found in parts.items():
        if len({data["seed"] for _, data in found}) == len(found):
            contenders.append(_contender(found[0][0] if len(found) == 1 else policy, found))
        else:  # not seeds of one evaluation, but evaluations that differ in something else
            contenders += [_contender(name, [(name, data)]) for name, data in found]
    return contenders


def _read_full(path: Path) -> Any:
    file = run_folder(path) / FULL
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        for key in ("policy", "executor", "seed", "problems", "overall"):
            data[key]
    except FileNotFoundError:
        raise DataError(f"{file}: no such file; run: llm-as-judge evaluate") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file}: not a full results file of evaluate: {error!r}") from None
    if not any(row["correct"] for row in data["problems"]):
        raise DataError(f"{file}: no rollout in it; run: llm-as-judge evaluate")
    return data


def _contender(name: str, found: Sequence[tuple[str, Any]]) -> Contender:
    runs = [data for _, data in found]
    correct: dict[str, list[float]] = defaultdict(list)
    tokens: dict[str, list[float]] = defaultdict(list)
    rows = [row for data in runs for row in data["problems"]]
    for row in rows:
        graded = [float(value) for value in row["correct"] if value is not None]
        if graded:
            correct[row["id"]].append(fmean(graded))
        if row["tokens"]:
            tokens[row["id"]].append(fmean(row["tokens"]))
    costs = [data["overall"]["cost_usd"] for data in runs]
    return Contender(
        name,
        runs[0]["policy"],
        runs[0]["executor"],
        runs[0].get("checkpoint"),
        tuple(data["seed"] for data in runs),
        tuple(a for data in runs if (a := data["overall"]["accuracy"]) is not None),
        {row["id"]: row["dataset"] for row in rows},
        {row["id"]: row["domain"] for row in rows},
        {id_: fmean(values) for id_, values in correct.items()},
        {id_: fmean(values) for id_, values in tokens.items()},
        fmean(data["overall"]["policy_tokens"] for data in runs),
        fmean(data["overall"]["calls"] for data in runs),
        fmean(data["overall"]["seconds"] for data in runs),
        None if None in costs else fmean(costs),
    )


def compare(
    contenders: Sequence[Contender], reference: Contender, domain: str | None = None
) -> list[Comparison]:
    """Every other contender against ``reference``.

    Args:
        domain: on its problems alone; who shares none of them is left out.
    Raises:
        DataError: one of them shares no graded problem with it.
    """
    others = [other for other in contenders if other is not reference]
    if domain is not None:
        others = [other for other in others if _common(other, reference, domain)]
    pairs = [_compare(other, reference, domain) for other in others]
    tested = [pair.p for pair in pairs if pair.p is not None]
    adjusted = iter(holm(tested))
    return [pair if pair.p is None else replace(pair, p_holm=next(adjusted)) for pair in pairs]


def _common(other: Contender, reference: Contender, domain: str | None) -> list[str]:
    """Problems that both have graded."""
    return [
        id_
        for id_ in reference.correct
        if id_ in other.correct and domain in (None, reference.domains[id_])
    ]


def _compare(other: Contender, reference: Contender, domain: str | None) -> Comparison:
    common = _common(other, reference, domain)
    if not common:
        raise DataError(
            f"{other.name} and {reference.name}: no problem that both have graded; evaluate both "
            "with the same sets, --limit and seed"
        )
    first = [other.correct[id_] for id_ in common]
    second = [reference.correct[id_] for id_ in common]
    differences = [a - b for a, b in zip(first, second, strict=True)]
    low, high = difference_interval(differences)
    single = all(value in (0.0, 1.0) for value in (*first, *second))
    only_first = sum(a > b for a, b in zip(first, second, strict=True)) if single else None
    only_second = sum(a < b for a, b in zip(first, second, strict=True)) if single else None
    spent = fmean(other.tokens.get(id_, 0.0) for id_ in common)
    base = fmean(reference.tokens.get(id_, 0.0) for id_ in common)
    return Comparison(
        other.name,
        reference.name,
        len(common),
        fmean(first) - fmean(second),
        low,
        high,
        only_first,
        only_second,
        None if only_first is None or only_second is None else mcnemar(only_first, only_second),
        None,
        spent / base if base else None,
        detectable(differences),
    )


def pareto_front(contenders: Sequence[Contender]) -> list[str]:
    """Names of those that nobody beats in accuracy at no more tokens, or in tokens at no less
    accuracy. Only those that graded as many problems as the widest take part."""
    widest = max((len(c.correct) for c in contenders), default=0)
    points = {
        c.name: (share.value, c.mean_tokens + c.policy_tokens)
        for c in contenders
        if len(c.correct) == widest and (share := c.share())
    }
    return [
        name
        for name, (right, spent) in points.items()
        if not any(
            other_right >= right
            and other_spent <= spent
            and (other_right, other_spent) != (right, spent)
            for other_right, other_spent in points.values()
        )
    ]


# ------------------------------------------------------------------------------------- break-even
def training_tokens(run_dir: Path) -> int:
    """Tokens that a training run spent: executor calls, prompts and programs of the policy.

    Raises:
        DataError: no rollouts of a run there.
    """
    total = 0
    for _, _, rollout in read_rollouts(run_dir):
        total += len(rollout.completion.prompt_ids) + len(rollout.completion.token_ids)
        if rollout.execution is not None:
            total += sum(
                call.prompt_tokens + call.completion_tokens for call in rollout.execution.calls
            )
    return total


def break_even(trained: Contender, other: Contender, training: int) -> float | None:
    """Queries after which training has paid for itself in tokens against ``other``; None = never.

    Policy tokens count as much as executor tokens, though a small policy's are cheaper.
    """
    saved = other.mean_tokens + other.policy_tokens - trained.mean_tokens - trained.policy_tokens
    return training / saved if saved > 0 else None
