"""Metrics of a step's rollouts for the log; and whether too many rollouts are lost."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import get_args

from llm_as_judge.accuracy import right_of, runs_of
from llm_as_judge.errors import TrainingError
from llm_as_judge.types import Execution, ExecutionStatus, Group, Rollout


def group_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """What a step's rollouts say: shares in 0..1 of all rollouts unless the name says otherwise.

    ``accuracy*`` is over rollouts that did not fail, open answers not right, and comes from verdicts, never
    from rewards.
    """
    rollouts = [r for g in groups for r in g.rollouts]
    count = len(rollouts)
    if not count:
        return {}
    graded = [r for r in rollouts if r.verdict and r.verdict.correct is not None]
    programs = [r.execution.runs for r in rollouts if r.execution]
    rewards = [r.reward for r in rollouts if r.reward]
    metrics = {
        "rollout/count": float(count),
        "rollout/strictly_valid": sum(r.program.strictly_valid for r in rollouts) / count,
        "rollout/repaired": sum(bool(r.program.repairs) for r in rollouts) / count,
        "rollout/truncated": sum(r.completion.stop == "length" for r in rollouts) / count,
        "rollout/failed": sum(r.failure is not None for r in rollouts) / count,
        "rollout/not_graded": (count - len(graded) - sum(bool(r.failure) for r in rollouts))
        / count,
        "rollout/distinct_programs": _distinct_fraction(groups),
        "rollout/program_tokens": sum(len(r.completion.token_ids) for r in rollouts) / count,
        "executor/calls": _of_runs(programs, lambda e: e.llm_calls),
        "executor/tokens": _of_runs(programs, lambda e: e.tokens),
        "executor/cost": _of_runs(programs, lambda e: e.cost),
        "ledger/shared_calls": _of_runs(programs, lambda e: sum(c.cached for c in e.calls)),
        "ledger/saved_fraction": _saved_fraction(groups),
    }
    metrics.update({**prompt_metrics(groups), **_budget_metrics(groups)})
    for failure in filter(None, (r.failure for r in rollouts)):
        kind = f"rollout/failed/{failure.stage}_{failure.kind}"
        metrics[kind] = metrics.get(kind, 0.0) + 1 / count
    judged = [r for r in rollouts if r.verdict]
    if judged:
        metrics["accuracy/all"] = _accuracy(judged)
    for status in get_args(ExecutionStatus):
        shares = (sum(e.status == status for e in runs) / len(runs) for runs in programs)
        metrics[f"execution/{status}"] = sum(shares) / count
    for domain in sorted({g.problem.domain for g in groups}):
        ids = {g.problem.id for g in groups if g.problem.domain == domain}
        if of_domain := [r for r in judged if r.problem_id in ids]:
            metrics[f"accuracy/{domain}"] = _accuracy(of_domain)
    if rewards:
        metrics["reward/mean"] = _mean([reward.total for reward in rewards])
        for part in rewards[0].parts:
            metrics[f"reward/{part}"] = _mean([reward.parts[part].score for reward in rewards])
    return {**metrics, **hacking_metrics(groups)}


def prompt_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """What prompts showed, per prompt, and how much of them is computed once.

    ``prompt/shared`` is the share of prompt tokens, counted once for each group, that stand in a
    beginning which another prompt of the step has too and are therefore not computed again.
    """
    prompts = sorted(g.rollouts[0].completion.prompt_ids for g in groups if g.rollouts)
    tokens = sum(map(len, prompts))
    again = sum(_common_beginning(a, b) for a, b in itertools.pairwise(prompts))
    facts = [g.prompt for g in groups]
    return {
        "prompt/tokens": tokens / len(prompts) if prompts else 0.0,
        "prompt/shared": again / tokens if tokens else 0.0,
        "prompt/examples": _mean([f.examples for f in facts]),
        "prompt/retrieved": _mean([len(f.retrieved) for f in facts]),
        "prompt/examples_dropped": _mean([f.examples_dropped for f in facts]),
        "prompt/cut": _mean([float(f.cut_characters > 0) for f in facts]),
        "prompt/cut_characters": _mean([f.cut_characters for f in facts]),
    }


def _budget_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Of the groups that were told each budget, where one was drawn for each."""
    found = {}
    for word in dict.fromkeys(g.prompt.budget for g in groups if g.prompt.budget):
        rollouts = [r for g in groups if g.prompt.budget == word for r in g.rollouts]
        runs = [r.execution.runs for r in rollouts if r.execution]
        found[f"budget/{word}_cost"] = _of_runs(runs, lambda e: e.cost)
        if judged := [r for r in rollouts if r.verdict]:
            found[f"budget/{word}_accuracy"] = _accuracy(judged)
    return found


def staleness(groups: Sequence[Group], version: int) -> float:
    """Mean number of updates between the writing of a program and ``version``."""
    return _mean([version - r.completion.policy_version for g in groups for r in g.rollouts])


def stage_times(clock: Sequence[float], sampling_s: float, run_s: float) -> dict[str, float]:
    """Seconds of a step: sampling, waiting for rollouts with nothing else to do, update.

    Args:
        clock: when the step began, when its rollouts had ended, when the update was done.
        sampling_s: in which the policy's processor worked before the update: it sampled, this step
            or one ahead.
        run_s: from its first program written until its last rollout ended, beside all of these.
    """
    begun, waited, updated = clock
    whole = updated - begun
    idle = max(0.0, waited - begun - sampling_s)
    return {
        "time/sample_s": sampling_s,
        "time/wait_s": idle,
        "time/execute_and_grade_s": run_s,
        "time/step_s": whole,
        "time/idle_fraction": idle / whole if whole else 0.0,
    }


def refuse_too_many_lost(
    step: int, groups: Sequence[Group], max_failed_fraction: float, max_ungraded_fraction: float
) -> None:
    """A step that lost too much teaches nothing; what broke must be mended first.

    Raises:
        TrainingError: more rollouts failed, or could not be graded, than is allowed.
    """
    rollouts = [r for g in groups for r in g.rollouts]
    failed = [r.failure.message for r in rollouts if r.failure]
    judged = [r.verdict for r in rollouts if r.failure is None and r.verdict]
    undecided = [verdict.explanation for verdict in judged if verdict.correct is None]
    for lost, key, allowed, what, do in (
        (failed, "training.max_failed_fraction", max_failed_fraction, "failed", "Mend that"),
        (
            undecided,
            "judge.max_ungraded_fraction",
            max_ungraded_fraction,
            "could not be graded",
            "Name a judge (docs/judge.md#which-judge)",
        ),
    ):
        if len(lost) > allowed * len(rollouts):
            raise TrainingError(
                f"step {step}: {len(lost)} of {len(rollouts)} rollouts {what}, more than {key} = "
                f"{allowed}; the first: {lost[0]}. {do} and go on with --resume"
            )


def _common_beginning(left: Sequence[int], right: Sequence[int]) -> int:
    longest = min(len(left), len(right))
    return next((i for i in range(longest) if left[i] != right[i]), longest)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _of_runs(programs: Sequence[Sequence[Execution]], value: Callable[[Execution], float]) -> float:
    """Mean over programs of the mean over the runs of each."""
    return _mean([_mean([value(run) for run in runs]) for runs in programs])


def _accuracy(judged: Sequence[Rollout]) -> float:
    """
    Args:
        judged: rollouts with a verdict.
    """
    found = (right_of(runs_of(r.verdict)) for r in judged)
    return _mean([one.right for one in found if one is not None])


def _distinct_fraction(groups: Sequence[Group]) -> float:
    """Mean over groups of distinct runnable programs / runnable programs."""
    hashes_P = ([r.program.hash for r in g.rollouts if r.program.runnable] for g in groups)
    return _mean([len(set(hashes)) / len(hashes) for hashes in hashes_P if hashes])


def _saved_fraction(groups: Sequence[Group]) -> float:
    """Share of the executor calls that all programs made, each on its own, that nobody paid for:
    equal programs ran once, equal calls shared a reply."""
    wanted = paid = 0
    for group in groups:
        ran: set[str] = set()
        for rollout in group.rollouts:
            if rollout.execution is None:
                continue
            wanted += rollout.execution.llm_calls
            if rollout.program.hash not in ran:
                paid += sum(call.llm_calls - call.cached for call in rollout.execution.calls)
            ran.add(rollout.program.hash)
    return 1 - paid / wanted if wanted else 0.0


def hacking_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """Signs that rewards are earned otherwise than meant; those without a denominator are left out."""
    judged = [(r.verdict, r.execution) for g in groups for r in g.rollouts if r.verdict]
    graded = [(v, e) for v, e in judged if v.correct is not None]
    right = [(v, e) for v, e in graded if v.correct]
    metrics: dict[str, float] = {}
    if graded:
        metrics["hacking/cheap_wrong"] = sum(
            not v.correct and e is not None and e.status == "ok" and e.llm_calls <= 1
            for v, e in graded
        ) / len(graded)
    if right:
        free = sum(e is not None and e.llm_calls == 0 for _, e in right)
        metrics["hacking/right_without_calls"] = free / len(right)
        metrics["hacking/judge_only"] = sum(v.stage == "llm" for v, _ in right) / len(right)
    same = _same_answer(groups)
    if same is not None:
        metrics["hacking/same_answer"] = same
    return metrics


def _same_answer(groups: Sequence[Group]) -> float | None:
    """(P' - 1) / (P - 1) for P answered problems, P' of which got the most common answer.

    Code is left out: its answers are programs.
    """
    problems_of: dict[str, set[str]] = defaultdict(set)
    answered: set[str] = set()
    for group in groups:
        for rollout in group.rollouts:
            execution = rollout.execution
            if group.problem.domain == "code" or execution is None or not execution.answer:
                continue
            answered.add(group.problem.id)
            problems_of[" ".join(execution.answer.casefold().split())].add(group.problem.id)
    if len(answered) < 2:
        return None
    return (max(map(len, problems_of.values())) - 1) / (len(answered) - 1)
