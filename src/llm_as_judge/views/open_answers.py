"""Answers left open, in a line below the figures: how many, by which rule, an example, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from llm_as_judge.types import Group
from llm_as_judge.views.live import several
from llm_as_judge.views.screen import plain

POINTER = "docs/judge.md#which-judge"
REACH = "They count as not right; the figure after `to` counts them as right."
_LONGEST = 60
"""Of the question and of the answer, in characters."""


def open_answers(groups: Sequence[Group], file: Path) -> str:
    """The line of an evaluation, whose answers are in ``file``; empty where every answer was decided."""
    left = [
        (group.problem, run, verdict)
        for group in groups
        for rollout in group.rollouts
        if rollout.verdict
        for run, verdict in zip_longest(
            rollout.execution.runs if rollout.execution else (),
            (rollout.verdict, *rollout.verdict.again),
        )
        if verdict is not None and verdict.correct is None
    ]
    if not left:
        return ""
    rules = Counter(verdict.rule for *_, verdict in left)
    (commonest, _), *_ = rules.most_common()
    problem, execution, verdict = next(one for one in left if one[2].rule == commonest)
    answer = execution.answer if execution is not None else ""
    return (
        f"open: {several(len(left), 'answer')} ({counted([p.dataset for p, *_ in left])}), by rule "
        f"{counted(rules)}. {REACH} "
        f'Example: "{plain(problem.question, _LONGEST)}" -> "{plain(answer, _LONGEST)}" '
        f"({plain(verdict.explanation or verdict.rule, 200)}). "
        f'All: the lines with "correct": null in {file}. What to do: {POINTER}'
    )


def open_runs(of_sets: Mapping[str, int], runs: int) -> str:
    """The line of ``runs`` that a bank keeps, without answers; empty where everything was decided."""
    left = sum(of_sets.values())
    if not left:
        return ""
    return (
        f"open: {left} of {runs} runs ({counted(of_sets)}). Every share counts them as not right. "
        f"What to do: {POINTER}"
    )


def counted(names: Sequence[str] | Mapping[str, int]) -> str:
    """``own_task_qa 3, own_task_math 1``"""
    return ", ".join(f"{name} {times}" for name, times in Counter(names).most_common())
