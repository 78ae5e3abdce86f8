"""Budgets that prompts name: the word that a policy is told for a problem that it learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llm_as_judge.data.mix import named_rng
from llm_as_judge.types import BUDGETS, Budget, Problem


@dataclass(frozen=True, slots=True)
class PromptBudgets:
    """One word for all problems, none, or one drawn for each.

    A drawn word is a function of seed, moment and problem: nothing is remembered, so that a run that
    goes on from a checkpoint tells what the unbroken one would have told.
    """

    seed: int
    usual: Budget
    """Whose price counts where no prompt names another."""
    named: Budget | None = None
    """In every prompt; None: no prompt names one."""
    drawn: bool = False
    """All three words are equally likely."""

    @property
    def priced(self) -> tuple[Budget, ...]:
        """Words at whose prices programs are weighed."""
        return BUDGETS if self.drawn else (self.usual,)

    def of(self, problems_P: Sequence[Problem], *moment: str | int) -> list[Budget | None]:
        """The word of each problem.

        Args:
            moment: names step or epoch: at another one a problem has a word of its own.
        """
        if not self.drawn:
            return [self.named] * len(problems_P)
        return [
            named_rng(self.seed, "budget", *moment, problem.id).choice(BUDGETS)
            for problem in problems_P
        ]
