"""Figures of an evaluation: accuracy and official metrics with intervals, shares, what it cost.

Accuracy is over graded rollouts and comes from verdicts; what was not graded is counted beside
it. Several samples of one problem are averaged first: the problem is the unit of every interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from llm_as_judge.evaluation.statistics import (
    bootstrap,
    mean_of_shares,
    pass_at_k,
    share_interval,
)
from llm_as_judge.grading.squad import prediction, span_scores
from llm_as_judge.types import Execution, Group, Problem, Rollout

Metrics = dict[str, float | None]
"""Shares in 0..1, means per rollout; None = not known, or a mean of nothing."""

_SHARES = {
    "executed": "ok",
    "timeout": "timeout",
    "crashed": "crashed",
    "call_limit": "call_limit",
    "rejected": "rejected",
    "malformed": "malformed",
    "empty": "no_answer",
}
_PASS_AT = (1, 2, 5, 10, 20, 50, 100)


def is_graded(rollout: Rollout) -> bool:
    return rollout.verdict is not None and rollout.verdict.correct is not None


def is_correct(rollout: Rollout) -> bool:
    return rollout.verdict is not None and rollout.verdict.correct is True


def problem_accuracy(group: Group) -> float | None:
    """Share of right among the graded rollouts of one problem; None where none was graded."""
    graded = [is_correct(r) for r in group.rollouts if is_graded(r)]
    return fmean(graded) if graded else None


def set_metrics(groups: Sequence[Group]) -> Metrics:
    """Everything there is to say of some problems with their rollouts."""
    return {**_accuracy(groups), **_shares(groups), **_cost(groups), **_official(groups)}


def over_sets(groups: Sequence[Group]) -> Metrics:
    """Accuracy balanced over data sets: the mean of theirs, however many problems each has. Sets of
    which nothing was graded do not count.
    """
    values: dict[str, list[float]] = {}
    for group in groups:
        if (accuracy := problem_accuracy(group)) is not None:
            values.setdefault(group.problem.dataset, []).append(accuracy)
    mean, low, high = mean_of_shares(list(values.values()))
    return {
        "macro_accuracy": mean,
        "macro_accuracy_low": low,
        "macro_accuracy_high": high,
        "macro_sets": float(len(values)),
    }


def _accuracy(groups: Sequence[Group]) -> Metrics:
    values = [a for group in groups if (a := problem_accuracy(group)) is not None]
    graded = [r for group in groups for r in group.rollouts if is_graded(r)]
    correct = sum(map(is_correct, graded))
    low, high = share_interval(values)
    bootstrap_low, bootstrap_high = bootstrap(values) if values else (0.0, 1.0)
    metrics: Metrics = {
        "accuracy": fmean(values) if values else None,
        "accuracy_low": low,
        "accuracy_high": high,
        "bootstrap_low": bootstrap_low,
        "bootstrap_high": bootstrap_high,
        "correct": float(correct),
        "graded": float(len(graded)),
    }
    scores = [r.verdict.score for r in graded if r.verdict and r.verdict.score is not None]
    if scores:
        metrics["score"] = fmean(scores)
    return metrics


def _shares(groups: Sequence[Group]) -> Metrics:
    rollouts = [r for group in groups for r in group.rollouts]
    executions = [r.execution for r in rollouts if r.execution]
    failed = sum(r.failure is not None for r in rollouts)
    count = len(rollouts)
    return {
        "not_graded": float(sum(not is_graded(r) for r in rollouts)),
        "failed": float(failed),
        "strictly_valid": _mean(sum(r.program.strictly_valid for r in rollouts), count),
        "repaired": _mean(sum(bool(r.program.repairs) for r in rollouts), count),
        **{
            name: _mean(sum(e.status == status for e in executions), count)
            for name, status in _SHARES.items()
        },
    }


def _cost(groups: Sequence[Group]) -> Metrics:
    """Means per rollout; ``policy_tokens`` are prompt and program of the policy itself."""
    rollouts = [r for group in groups for r in group.rollouts]
    count = len(rollouts)
    executions = [r.execution for r in rollouts if r.execution]
    costs = [e.cost_usd for e in executions]
    known = [cost for cost in costs if cost is not None]
    written = [len(r.completion.prompt_ids) + len(r.completion.token_ids) for r in rollouts]
    return {
        "calls": _mean(sum(e.llm_calls for e in executions), count),
        "tokens": _mean(sum(e.tokens for e in executions), count),
        "cost": _mean(sum(e.cost for e in executions), count),
        "policy_tokens": _mean(sum(written), count),
        "cost_usd": _mean(sum(known), count) if len(known) == len(costs) else None,
        "seconds": _mean(sum(e.seconds for e in executions), count),
        **_by_executor(executions, count),
    }


def _by_executor(executions: Sequence[Execution], count: int) -> Metrics:
    """Calls and cost of each executor beside the default one that a program named, in means as those
    of all together."""
    calls = [call for e in executions for call in e.calls if call.executor]
    metrics: Metrics = {}
    for name in sorted({call.executor for call in calls}):
        own = [call for call in calls if call.executor == name]
        metrics[f"calls_of_{name}"] = _mean(sum(call.llm_calls for call in own), count)
        metrics[f"cost_of_{name}"] = _mean(sum(call.cost or 0.0 for call in own), count)
    return metrics


def _mean(total: float, count: int) -> float | None:
    """None of nothing: a set of which nothing was run is not one with a share of 0."""
    return total / count if count else None


def _official(groups: Sequence[Group]) -> Metrics:
    """EM and F1 where all problems are of one span set; pass@k for code."""
    datasets = {group.problem.dataset for group in groups}
    if len(datasets) == 1 and groups[0].problem.dataset_info.has_text_scores:
        return _spans(groups)
    if groups and all(group.problem.dataset_info.metric == "pass_at_k" for group in groups):
        return _passes(groups)
    return {}


def _spans(groups: Sequence[Group]) -> Metrics:
    """Means over problems, in all and of those with and without an answer."""
    scored = [(bool(g.problem.answers), s) for g in groups if (s := _mean_scores(g))]
    metrics: Metrics = {}
    for name in ("em", "f1"):
        metrics |= _with_interval(name, [scores[name] for _, scores in scored])
    if not groups[0].problem.dataset_info.unanswerable:
        return metrics
    for prefix, answerable in (("has_answer", True), ("no_answer", False)):
        part = [scores for has, scores in scored if has is answerable]
        metrics[f"{prefix}_problems"] = float(len(part))
        for name in ("em", "f1"):
            metrics[f"{prefix}_{name}"] = fmean(s[name] for s in part) if part else None
    return metrics


def _mean_scores(group: Group) -> Mapping[str, float]:
    scores = [s for r in group.rollouts if (s := official_scores(group.problem, r))]
    return {name: fmean(s[name] for s in scores) for name in ("em", "f1")} if scores else {}


def _passes(groups: Sequence[Group]) -> Metrics:
    """pass@k for every k that all problems have samples for."""
    counts = [
        (len(graded), sum(map(is_correct, graded)))
        for group in groups
        if (graded := [r for r in group.rollouts if is_graded(r)])
    ]
    most = min((samples for samples, _ in counts), default=1)
    metrics: Metrics = {}
    for k in (k for k in _PASS_AT if k <= most):
        metrics |= _with_interval(f"pass_at_{k}", [pass_at_k(n, right, k) for n, right in counts])
    return metrics


def _with_interval(name: str, values: Sequence[float]) -> Metrics:
    low, high = share_interval(values)
    mean = fmean(values) if values else None
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def official_scores(problem: Problem, rollout: Rollout) -> Mapping[str, float]:
    """The scores of one rollout that its set's metric averages; empty for other sets, and for a
    rollout that failed before it was judged."""
    if not problem.dataset_info.has_text_scores or rollout.verdict is None:
        return {}
    if rollout.execution is None or rollout.execution.status != "ok":
        return {"em": 0.0, "f1": 0.0}
    return span_scores(problem, prediction(problem, rollout.execution.answer))
