"""Draws while one more is worth its price, by a learned table, then the vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from llm_as_judge.operators.agreement import distinct, fails
from llm_as_judge.operators.base import More, Operator, ReplyError, Result, Way, tries
from llm_as_judge.operators.stopping import StopState
from llm_as_judge.types import Json


class UntilWorth(Operator):
    """Draws from the ways in turn while the stop table holds one more to be worth its price."""

    empty: ClassVar[Mapping[str, Json]] = {"answer": "", "share": 0.0, "draws": 0}
    worst_case_calls = 0
    results_wanted = ("ways",)
    wants_stop_table = True

    @classmethod
    def calls_at_most(cls, numbers: Mapping[str, int], ways: Sequence[float]) -> float:
        """See :class:`Operator`: all draws, the ways taken in turn."""
        return sum(ways[n % len(ways)] for n in range(numbers["most"])) if ways else 0

    @classmethod
    def calls_expected(cls, numbers: Mapping[str, int], ways: Sequence[float]) -> float:
        """See :class:`Operator`."""
        return tries(1, numbers["most"]) * sum(ways) / len(ways) if ways else 0

    async def run(self, ways: list[Way], most: int = 8) -> Result | More:
        execution = self.context.execution
        stop = execution.settings.stop
        if stop is None:
            raise TypeError(
                "until_worth: no stop table (stop.table); make one: llm-as-judge stop learn"
            )
        rule = stop.table.rule(execution.problem.domain, stop.price)
        if rule is None:
            raise TypeError(f"until_worth: the stop table has no {execution.problem.domain}")
        left = min(most, len(rule.weights_DF) + 1) - len(ways)
        if not ways:
            return More(min(stop.round, left))
        try:
            counts = await distinct(self.context, ways)
        except ReplyError:
            counts = {}
        leader = max(counts, key=counts.__getitem__, default="")  # the first of equals
        votes = tuple(sorted(counts.values(), reverse=True))
        state = StopState(
            votes,
            len(ways) - sum(votes),
            execution.spent,
            len(execution.problem.question),
            execution.problem.dataset,
            bool(leader and execution.problem.visible_tests)
            and not await fails(self.context, leader),
        )
        if left > 0 and rule.gain(state) > 0:
            return More(min(stop.round, left))
        if not counts:
            raise ReplyError("no solution to choose from")
        self.context.note(f"{votes[0]} of {len(ways)} draws agree")
        return {"answer": leader, "share": round(votes[0] / sum(votes), 4), "draws": len(ways)}
