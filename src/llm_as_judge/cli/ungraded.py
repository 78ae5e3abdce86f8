"""A line below the figures for all that was not graded: how much, why, and where a person reads on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from llm_as_judge.judge.scoring import UNSURE
from llm_as_judge.types import Group, Verdict
from llm_as_judge.views.screen import plain

POINTER = "docs/own-task.md#answers-that-rules-cannot-decide"
_LONGEST = 60
"""Of the question and of the answer, in characters."""


def ungraded_answers(groups: Sequence[Group], file: Path) -> str:
    """The line of an evaluation; empty where every answer that there is was graded.

    Args:
        file: has the answers and the reasons.
    """
    judged = [(g.problem, r.execution, r.verdict) for g in groups for r in g.rollouts if r.verdict]
    left = [one for one in judged if one[2].correct is None]
    if not left:
        return ""
    reasons = Counter(_without_figures(_reason(verdict)) for *_, verdict in left)
    (commonest, times), *others = reasons.most_common()
    problem, execution, verdict = next(
        one for one in left if _without_figures(_reason(one[2])) == commonest
    )
    answer = execution.answer if execution is not None else ""
    often = f"Most often ({times}):" if others else "Why:"
    return (
        f"not graded: {len(left)} of {len(judged)} answers ({counted([p.dataset for p, *_ in left])}). "
        f"{often} {plain(_reason(verdict), 200)}. "
        f'Example: "{plain(problem.question, _LONGEST)}" -> "{plain(answer, _LONGEST)}". '
        f'All: the lines with "correct": null in {file}. What to do: {POINTER}'
    )


def ungraded_runs(of_sets: Mapping[str, int], runs: int) -> str:
    """The line of a bank, which keeps no answers; empty where everything was graded.

    Args:
        of_sets: runs that were not graded, by data set.
        runs: in all.
    """
    left = sum(of_sets.values())
    if not left:
        return ""
    return (
        f"not graded: {left} of {runs} runs ({counted(of_sets)}). No share counts them. "
        f"What to do: {POINTER}"
    )


def counted(names: Sequence[str] | Mapping[str, int]) -> str:
    """``own_task_qa 3, own_task_math 1``"""
    return ", ".join(f"{name} {times}" for name, times in Counter(names).most_common())


def _reason(verdict: Verdict) -> str:
    """Why a verdict is open, without what only this answer has: its F1."""
    if verdict.rule == UNSURE:
        return "the judge is unsure: its probability lies between the two thresholds"
    of_answer, undecided, more = verdict.explanation.rpartition("; undecided ")
    return f"undecided {more}" if undecided and of_answer else verdict.explanation or verdict.rule


def _without_figures(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "N", text)
