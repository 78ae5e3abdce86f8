"""Figures of an evaluation: accuracy and official metrics with intervals, shares, what it cost.

Accuracy is over all rollouts that did not fail, by the rule of :mod:`llm_as_judge.accuracy`. Several
samples of one problem are averaged first: the problem is the unit of every interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from llm_as_judge.accuracy import Accuracy, Right, accuracy, balanced_accuracy, right_of
from llm_as_judge.grading.squad import prediction, span_scores
from llm_as_judge.statistics import (
    bootstrap,
    pass_at_k,
    share_interval,
)
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


def problem_right(group: Group) -> Right | None:
    """Of the rollouts of one problem that did not fail; None where all failed."""
    return right_of(r.verdict.correct for r in group.rollouts if r.verdict is not None)


def set_metrics(groups: Sequence[Group]) -> Metrics:
    """Everything there is to say of some problems with their rollouts."""
    return {**_accuracy(groups), **_shares(groups), **_cost(groups), **_official(groups)}


def over_sets(groups: Sequence[Group]) -> Metrics:
    """Accuracy balanced over data sets: the mean of theirs, however many problems each has. Sets of
    which all failed do not count.
    """
    values: dict[str, list[Right]] = {}
    for group in groups:
        if (right := problem_right(group)) is not None:
            values.setdefault(group.problem.dataset, []).append(right)
    found = _named("macro_accuracy", balanced_accuracy(values.values()))
    return {**found, "macro_sets": float(len(values))}


def _named(name: str, found: Accuracy | None) -> Metrics:
    """Value, reach of the open answers and ends of the interval."""
    return {
        name: found.value if found else None,
        f"{name}_if_open_right": found.most if found else None,
        f"{name}_low": found.low if found else 0.0,
        f"{name}_high": found.high if found else 1.0,
    }


def _accuracy(groups: Sequence[Group]) -> Metrics:
    found = [right for group in groups if (right := problem_right(group)) is not None]
    graded = [r for group in groups for r in group.rollouts if is_graded(r)]
    correct = sum(map(is_correct, graded))
    open_ = [r for g in groups for r in g.rollouts if r.verdict is not None and not is_graded(r)]
    low, high = (0.0, 1.0)
    if found:
        low, high = bootstrap([one.right for one in found])
        if open_:
            high = bootstrap([one.most for one in found])[1]
    metrics: Metrics = {
        **_named("accuracy", accuracy(found)),
        "bootstrap_low": low,
        "bootstrap_high": high,
        "answered": float(len(found)),
        "correct": float(correct),
        "graded": float(len(graded)),
        "open": float(len(open_)),
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
    """Means per rollout whose program has run: what the others used is not known. ``policy_tokens`` are
    prompt and program of the policy itself, of every rollout. ``seconds`` leaves out the ``not_timed``: a reply that was
    kept, or that an equal call got, took no time."""
    rollouts = [r for group in groups for r in group.rollouts]
    executions = [r.execution for r in rollouts if r.execution]
    count = len(executions)
    costs = [e.cost_usd for e in executions]
    known = [cost for cost in costs if cost is not None]
    timed = [e for e in executions if not any(call.cached for call in e.calls)]
    not_timed = count - len(timed)
    if not_timed:  # what asked nobody is as quick beside them as without them
        timed = [e for e in timed if e.llm_calls]
    written = [len(r.completion.prompt_ids) + len(r.completion.token_ids) for r in rollouts]
    return {
        "calls": _mean(sum(e.llm_calls for e in executions), count),
        "tokens": _mean(sum(e.tokens for e in executions), count),
        "cost": _mean(sum(e.cost for e in executions), count),
        "policy_tokens": _mean(sum(written), len(rollouts)),
        "cost_usd": _mean(sum(known), count) if len(known) == len(costs) else None,
        "seconds": _mean(sum(e.seconds for e in timed), len(timed)),
        "not_timed": float(not_timed),
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
    """pass@k for every k that all problems have samples for; an open one is not right."""
    runs = [[r.verdict.correct for r in g.rollouts if r.verdict is not None] for g in groups]
    counts = [(len(of), of.count(True), of.count(None)) for of in runs if of]
    most = min((samples for samples, *_ in counts), default=1)
    metrics: Metrics = {}
    for k in (k for k in _PASS_AT if k <= most):
        found = [
            Right(known, pass_at_k(n, right + left, k) - known)
            for n, right, left in counts
            for known in [pass_at_k(n, right, k)]
        ]
        metrics |= _named(f"pass_at_{k}", accuracy(found))
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
