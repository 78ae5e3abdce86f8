"""Operators of the host: a vote, draws until some agree or one more is not worth its price, code until
its tests pass.

Which solutions are equal the graders say, never the gold: numbers and formulas by their value, texts
after the official normalization, code by the visible tests. Empty solutions, and code that fails
visible tests which other code passes, are no votes. Of classes with equally many votes the one whose
replies the executor held for the likeliest wins; where it gives no log-probabilities, the one that was
drawn first. Of a class its first solution is the answer. (Confidence beside votes: arXiv:2502.06233.)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import ClassVar

from llm_as_judge.operators.base import CallContext, More, Operator, ReplyError, Result, Way, tries
from llm_as_judge.operators.replies import function_names, python_code
from llm_as_judge.operators.stopping import StopState, winner
from llm_as_judge.operators.syntax import UnparsableError, parse_python
from llm_as_judge.types import Json

Classes = Mapping[str, Sequence[str]]
"""The first of each class of equal solutions -> all of the class, in order of appearance."""


def _winner(context: CallContext, found: Classes) -> tuple[str, int, float]:
    """(the first solution of the class with the most votes, its votes, their share)."""
    likelihood = context.execution.likelihood
    number = winner([(len(equal), likelihood(equal)) for equal in found.values()])
    first, equal = list(found.items())[number]
    return first, len(equal), round(len(equal) / sum(map(len, found.values())), 4)


async def distinct(context: CallContext, solutions: Sequence[str]) -> Classes:
    """The solutions by class.

    Raises:
        ReplyError: all solutions are empty, or there is none.
    """
    said = [text for solution in solutions if (text := solution.strip())]
    if not said:
        raise ReplyError("no solution to choose from")
    if len(set(said)) == 1:
        return {said[0]: said}
    code = context.problem.domain == "code"
    numbers = await (_classes_of_code(context, said) if code else context.execution.classes(said))
    classes: dict[int, list[str]] = {}
    for number, text in zip(numbers, said, strict=True):
        if number is not None:
            classes.setdefault(number, []).append(text)
    return {equal[0]: equal for equal in classes.values()}


async def _classes_of_code(context: CallContext, solutions: Sequence[str]) -> list[int | None]:
    """All that passes the visible tests is one class, and then the rest is no vote; else equal
    programs are."""
    sources = [python_code(solution) or solution for solution in solutions]
    if context.problem.visible_tests:
        passed = [await _passes(context, source) for source in sources]
        if any(passed):
            return [0 if each else None for each in passed]
    seen: dict[str, int] = {}
    return [seen.setdefault(_spelling(source), len(seen)) for source in sources]


async def _passes(context: CallContext, source: str) -> bool:
    return bool(function_names(source)) and (await context.execution.tested(source)).passed


async def fails(context: CallContext, solution: str) -> bool:
    """Whether it is code that visible tests refuse: that several programs make one mistake ends
    nothing."""
    if context.problem.domain != "code" or not context.problem.visible_tests:
        return False
    return not await _passes(context, python_code(solution) or solution)


def _spelling(source: str) -> str:
    """Equal for programs that differ in layout and comments alone."""
    try:
        return ast.dump(parse_python(source))
    except UnparsableError:
        return " ".join(source.split())


class Vote(Operator):
    """The solution that most agree on (self-consistency, arXiv:2203.11171)."""

    empty: ClassVar[Mapping[str, Json]] = {"answer": "", "share": 0.0}
    worst_case_calls = 0
    results_wanted = ("solutions",)

    async def run(self, solutions: list[str]) -> Result:
        answer, _, share = _winner(self.context, await distinct(self.context, solutions))
        return {"answer": answer, "share": share}


class _Drawing(Operator):
    """Draws from its ways in turn, at most ``most`` times."""

    worst_case_calls = 0
    results_wanted = ("ways",)

    @classmethod
    def calls_at_most(cls, numbers: Mapping[str, int], ways: Sequence[float]) -> float:
        return sum(ways[n % len(ways)] for n in range(numbers["most"])) if ways else 0

    @classmethod
    def calls_expected(cls, numbers: Mapping[str, int], ways: Sequence[float]) -> float:
        draws = tries(min(numbers.get("agree", 1), numbers["most"]), numbers["most"])
        return draws * sum(ways) / len(ways) if ways else 0


class UntilAgree(_Drawing):
    """Draws from the ways in turn until some agree (adaptive consistency, arXiv:2305.11860,
    2401.10480), then the vote."""

    empty: ClassVar[Mapping[str, Json]] = {"answer": "", "share": 0.0, "agreed": False}

    async def run(self, ways: list[Way], agree: int = 2, most: int = 5) -> Result | More:
        wanted, left = min(agree, most), most - len(ways)
        try:
            answer, votes, share = _winner(self.context, await distinct(self.context, ways))
        except ReplyError:
            if left > 0:
                return More(min(wanted, left))
            raise
        agreed = votes >= wanted and not await fails(self.context, answer)
        if not agreed and left > 0:
            return More(min(max(1, wanted - votes), left))
        self.context.note(f"{votes} of {len(ways)} draws agree")
        return {"answer": answer, "share": share, "agreed": agreed}


class UntilWorth(_Drawing):
    """Draws from the ways in turn while the stop table holds one more to be worth its price."""

    empty: ClassVar[Mapping[str, Json]] = {"answer": "", "share": 0.0, "draws": 0}
    wants_stop_table = True

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
            found = await distinct(self.context, ways)
        except ReplyError:
            found = {}
        leader, most_votes, share = _winner(self.context, found) if found else ("", 0, 0.0)
        votes = tuple(sorted(map(len, found.values()), reverse=True))
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
        if not found:
            raise ReplyError("no solution to choose from")
        self.context.note(f"{most_votes} of {len(ways)} draws agree")
        return {"answer": leader, "share": share, "draws": len(ways)}


class UntilPassed(Operator):
    """Code, written anew until it passes the visible tests."""

    WRITES: ClassVar[int] = 3
    empty: ClassVar[Mapping[str, Json]] = {"solution": "", "passed": False}
    worst_case_calls = WRITES
    drafts = True
    prompt_names: ClassVar[tuple[str, ...]] = ("write",)

    @classmethod
    def calls_at_most(cls, numbers: Mapping[str, int], ways: Sequence[float]) -> float:
        return numbers["most"]

    @classmethod
    def calls_expected(cls, numbers: Mapping[str, int], ways: Sequence[float]) -> float:
        return tries(1, numbers["most"])

    async def run(self, problem: str, entry_point: str, most: int = WRITES) -> Result:
        best: tuple[int, str] | None = None  # how many tests it fails, and the code
        error = ""
        values = {"problem": problem, "entry_point": entry_point}
        for _ in range(most):
            try:
                code = python_code((await self.context.ask("write", values)).text)
                if not code:
                    raise ReplyError("no code in the reply")  # noqa: TRY301 (one try of several)
            except ReplyError as caught:
                error = str(caught)
                continue
            if not self.context.problem.visible_tests:
                self.context.note("the problem shows no tests: nothing was run, passed is False")
                return {"solution": code, "passed": False}
            report = await self.context.execution.tested(code)
            if report.passed:
                return {"solution": code, "passed": True}
            failed = len(report.failed) or report.total
            if best is None or failed < best[0]:
                best = failed, code
        if best is None:
            raise ReplyError(f"after {most} tries: {error}")
        return {"solution": best[1], "passed": False}
