"""Operators by which the executor chooses among solutions. Equal ones are shown once, with their
number."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from llm_as_judge.operators.agreement import Classes, distinct
from llm_as_judge.operators.base import Operator, ReplyError, Result
from llm_as_judge.operators.replies import choice, letter
from llm_as_judge.types import Json


def _listed(order: Sequence[str], found: Classes) -> str:
    lines = []
    for index, solution in enumerate(order):
        given = len(found[solution])
        times = f" (given {given} times)" if given > 1 else ""
        lines.append(f"{letter(index)}{times}: {solution}")
    return "\n".join(lines)


class ScEnsemble(Operator):
    """The most consistent solution (self-consistency, arXiv:2203.11171, 2311.17311)."""

    empty: ClassVar[Mapping[str, Json]] = {"response": ""}
    expected_calls = 0.5
    results_wanted = ("solutions",)
    prompt_names = ("vote",)

    async def run(self, solutions: list[str], problem: str) -> Result:
        found = await distinct(self.context, solutions)
        order = list(found)
        if len(order) == 1:
            return {"response": order[0]}
        values = {"problem": problem, "solutions": _listed(order, found)}
        reply = await self.context.ask("vote", values)
        chosen = choice(reply.text, order)
        if chosen is None:
            raise ReplyError(f"the vote names none of {len(order)} solutions")
        return {"response": order[chosen]}


class MdEnsemble(Operator):
    """Majority of five votes, each over the solutions in another order (arXiv:2311.16452)."""

    VOTES: ClassVar[int] = 5
    empty: ClassVar[Mapping[str, Json]] = {"solution": ""}
    worst_case_calls = VOTES
    expected_calls = VOTES / 2
    results_wanted = ("solutions",)
    prompt_names = ("vote",)

    async def run(self, solutions: list[str], problem: str) -> Result:
        found = await distinct(self.context, solutions)
        if len(found) == 1:
            return {"solution": next(iter(found))}
        votes = [
            asyncio.ensure_future(self._vote(number, problem, found))
            for number in range(self.VOTES)
        ]
        try:
            chosen = [vote for vote in await asyncio.gather(*votes) if vote is not None]
        finally:
            for vote in votes:
                vote.cancel()
        if not chosen:
            raise ReplyError(f"none of {self.VOTES} votes names a solution")
        if len(chosen) < self.VOTES:
            self.context.note(f"{self.VOTES - len(chosen)} votes could not be read")
        # The first solution in the given order wins a tie.
        tally = Counter(chosen)
        return {"solution": max(found, key=lambda solution: tally[solution])}

    async def _vote(self, number: int, problem: str, found: Classes) -> str | None:
        order = list(found)
        # Seeded by the vote alone: a run can be repeated, and a group shares equal draws.
        random.Random(number).shuffle(order)
        values = {"problem": problem, "solutions": _listed(order, found)}
        try:
            reply = await self.context.ask("vote", values)
        except ReplyError:
            return None
        chosen = choice(reply.text, order)
        return None if chosen is None else order[chosen]
