"""Signs that a policy is learning to please the reward rather than to solve problems.

Each is a share in 0..1 of one step; none proves anything, a rise over steps asks for a look at
rollouts.jsonl.

| figure | what rises |
|---|---|
| `hacking/cheap_wrong` | graded programs that ran, were wrong and made at most one executor call |
| `hacking/right_without_calls` | right answers for which no executor was asked: the policy wrote the answer into the program, or guessed |
| `hacking/same_answer` | problems that got the most common answer of the step, the first not counted: 1 = one answer to everything |
| `hacking/judge_only` | accepted answers that only the LLM judge accepted: no rule could |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from llm_as_judge.types import Group, Rollout


def hacking_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """The figures above; those without a denominator are left out."""
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    graded = [r for r in rollouts if r.verdict is not None and r.verdict.correct is not None]
    right = [r for r in graded if r.verdict is not None and r.verdict.correct]
    metrics: dict[str, float] = {}
    if graded:
        metrics["hacking/cheap_wrong"] = sum(map(_cheap_and_wrong, graded)) / len(graded)
    if right:
        metrics["hacking/right_without_calls"] = sum(
            r.execution is not None and r.execution.llm_calls == 0 for r in right
        ) / len(right)
        metrics["hacking/judge_only"] = sum(
            r.verdict is not None and r.verdict.stage == "llm" for r in right
        ) / len(right)
    same = _same_answer(groups)
    if same is not None:
        metrics["hacking/same_answer"] = same
    return metrics


def _cheap_and_wrong(rollout: Rollout) -> bool:
    verdict, execution = rollout.verdict, rollout.execution
    wrong = verdict is not None and verdict.correct is False
    return wrong and execution is not None and execution.status == "ok" and execution.llm_calls <= 1


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
