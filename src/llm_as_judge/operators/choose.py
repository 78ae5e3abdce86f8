"""The operator that the policy answers: which of several disagreeing solutions is right.

Solutions that the graders hold equal are one (:func:`distinct`), with their number. The policy reads the
problem and at most eight of them, and names one by its letter: one token of its own, no executor call.
Where all agree nobody is asked. Like a trained reader of several replies (arXiv:2506.09014, 2509.06870),
but of answers alone, and as short as a prompt can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from llm_as_judge.operators.agreement import distinct
from llm_as_judge.operators.base import Operator, Result
from llm_as_judge.types import Json

LETTERS = "ABCDEFGH"
"""Of the solutions; the least common of more are left out."""
_PROBLEM_CHARACTERS = 1500
_SOLUTION_CHARACTERS = 300
_CUT = " [...] "


class Choose(Operator):
    """The solution that the policy holds right."""

    empty: ClassVar[Mapping[str, Json]] = {"answer": "", "share": 0.0}
    worst_case_calls = 0
    reads = True
    results_wanted = ("solutions",)

    async def run(self, problem: str, solutions: list[str]) -> Result:
        votes = await distinct(self.context, solutions)
        shown = sorted(votes, key=votes.__getitem__, reverse=True)[: len(LETTERS)]
        every = sum(votes.values())
        if len(shown) == 1:
            return {"answer": shown[0], "share": round(votes[shown[0]] / every, 4)}
        prompt = reading_prompt(problem, {text: votes[text] for text in shown})
        letter = await self.context.read(prompt, LETTERS[: len(shown)])
        answer = shown[LETTERS.index(letter)]
        self.context.note(f"{letter} of {len(shown)}")
        return {"answer": answer, "share": round(votes[answer] / every, 4)}


def reading_prompt(problem: str, votes: Mapping[str, int]) -> str:
    """What the policy reads.

    Args:
        votes: each solution with how often it was given, in the order of their letters.
    """
    shown = "\n".join(
        f"{letter} (given {_times(number)}): {_in_one_line(solution)}"
        for letter, (solution, number) in zip(LETTERS, votes.items(), strict=False)
    )
    return (
        f"Problem:\n{_shortened(problem, _PROBLEM_CHARACTERS)}\n\nSolutions:\n{shown}\n\n"
        "Which solution is right? Reply with its letter alone."
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _in_one_line(solution: str) -> str:
    """So that no solution can write the line of another."""
    return _shortened(" ".join(solution.split()), _SOLUTION_CHARACTERS)


def _shortened(text: str, most: int) -> str:
    """A third of it from the beginning, the rest from the end, where an answer stands."""
    if len(text) <= most:
        return text
    head = most // 3
    return text[:head] + _CUT + text[len(text) - (most - head) :]
