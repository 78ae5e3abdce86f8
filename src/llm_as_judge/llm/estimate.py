"""Estimate of a run: calls, tokens and dollars of its executor.

Two kinds of figures are told apart: what is expected, from the measured mean of earlier rollouts
or, without any, from a plain assumption; and what cannot be passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_as_judge.dollars import in_dollars
from llm_as_judge.llm.ledger import Budget, Price, Totals, prompt_price
from llm_as_judge.types import Execution, Usage

ASSUMED_CALLS = 2.0
"""Executor calls of one program, where nothing has been measured: one answer and one step more."""
ASSUMED_INSTRUCTION_TOKENS = 150
"""What an operator's prompt adds to the problem's text."""
BYTES_PER_TOKEN = 4
_FIGURES = 2
"""Of a sum below a dollar: it is an estimate."""


@dataclass(frozen=True, slots=True)
class Means:
    """Of one rollout: what the endpoints were asked for it."""

    calls: float
    prompt_tokens: float
    completion_tokens: float
    rollouts: int = 0
    """How many rollouts this was measured on; 0 = assumed."""
    cost: float | None = None
    """In written tokens of the default executor, each token at its own executor's price; None: it was
    not measured."""
    cost_usd: float | None = None
    """Likewise; None: not measured, or a price is not known."""


@dataclass(frozen=True, slots=True)
class Estimate:
    rollouts: int
    means: Means
    most_calls: int
    """No more calls can be made, retries apart."""
    most_completion_tokens: int
    price: Price | None
    """Of the dearest executor, where there are several."""
    written_price: float = 1.0
    """Of its written token, in those of the default one."""
    steps: int | None = None
    """Of training."""
    most_judge_calls: int = 0
    """Of the judge's model, beside those of the executor."""

    @property
    def calls(self) -> int:
        return round(self.rollouts * self.means.calls)

    @property
    def usage(self) -> Usage:
        return Usage(
            round(self.rollouts * self.means.prompt_tokens),
            round(self.rollouts * self.means.completion_tokens),
        )

    @property
    def cost_usd(self) -> float | None:
        """As measured, else all at the price; None: it is not known. Replies from the cache were measured
        at nothing, so without a price the measured dollars say nothing."""
        if self.price is None:
            return None
        if self.means.cost_usd is not None:
            return self.rollouts * self.means.cost_usd
        return self.price.of(self.usage)

    @property
    def cost(self) -> float:
        """In written tokens of the default executor: as measured, else all at the price."""
        if self.means.cost is not None:
            return self.rollouts * self.means.cost
        return self.usage.cost(prompt_price(self.price)) * self.written_price

    def exceeds(self, budget: Budget, spent: Totals) -> str:
        """The first limit that is expected to be passed, as a text; empty if none.

        Args:
            spent: by the run so far.
        """
        tokens = spent.tokens + self.usage.prompt_tokens + self.usage.completion_tokens
        for unit, limit, wanted in (
            ("usd", budget.usd, spent.spent_usd + (self.cost_usd or 0.0)),
            ("tokens", budget.tokens, tokens),
            ("calls", budget.calls, spent.attempts + self.calls),
            ("cost", budget.cost, spent.cost + self.cost),
        ):
            if limit is not None and wanted > limit:
                likely = "will probably" if unit == "calls" or self.means.rollouts else "may"
                return f"budget.{unit} = {limit:,} {likely} not suffice: the run will stop"
        return ""

    @property
    def lines(self) -> tuple[str, ...]:
        """For the terminal: what was reckoned, then calls, tokens and cost."""
        usage, means = self.usage, self.means
        basis = (
            f"as the last {means.rollouts:,} programs"
            if means.rollouts
            else f"assuming {_counted(round(means.calls, 1), 'call')} a program, replies of full length"
        )
        steps = "" if self.steps is None else f"{_counted(self.steps, 'step')}, "
        calls = f"about {self.calls:,} of the executor, at most {self.most_calls:,}"
        if self.most_judge_calls:
            calls += f"; at most {self.most_judge_calls:,} of the judge's model"
        tokens = (
            f"about {usage.prompt_tokens:,} read, about {usage.completion_tokens:,} written; "
            f"at most {self.most_completion_tokens:,} written"
        )
        dollars = "price unknown"
        if self.price is not None and self.cost_usd is not None:
            most = self.price.of(Usage(0, self.most_completion_tokens))
            dollars = in_dollars(self.cost_usd, _FIGURES)
            dollars += f" (written tokens at most {in_dollars(most, _FIGURES)})" if most else ""
        return (
            f"estimate: {steps}{_counted(self.rollouts, 'program')} ({basis})",
            f"  calls   {calls}",
            f"  tokens  {tokens}",
            f"  cost    about {self.cost:,.0f} written tokens, {dollars}",
        )

    def lines_within(self, budget: Budget, spent: Totals) -> list[str]:
        """``lines``, and the first limit that is expected to be passed."""
        return [*filter(None, (*self.lines, self.exceeds(budget, spent)))]


def _counted(count: float, what: str) -> str:
    return f"{count:,g} {what}" + ("" if count == 1 else "s")


def assumed_means(
    problem_bytes: float, max_tokens: int, runs: int = 1, calls_a_run: float = ASSUMED_CALLS
) -> Means:
    """Without a measurement: each call with the problem's text, each reply of its greatest length.

    Args:
        problem_bytes: mean length of the problems' texts.
        max_tokens: of one reply.
        runs: of each program.
        calls_a_run: of a program, where it is known what it asks.
    """
    calls = runs * calls_a_run
    prompt = problem_bytes / BYTES_PER_TOKEN + ASSUMED_INSTRUCTION_TOKENS
    return Means(calls, calls * prompt, calls * max_tokens)


def measured_means(steps: Sequence[Mapping[str, Any]], latest: int = 20) -> Means | None:
    """What was paid for a rollout in the last steps of a run (equal calls of a group once).

    Args:
        steps: rows of metrics and timings, oldest first; those without a ledger are not counted.
    """
    rows = [row for row in steps if "ledger/calls" in row and row.get("rollout/count")][-latest:]
    rollouts = sum(int(row["rollout/count"]) for row in rows)
    if not rollouts:
        return None
    calls, prompt, completion = (
        sum(row[f"ledger/{name}"] for row in rows) / rollouts
        for name in ("calls", "prompt_tokens", "completion_tokens")
    )
    return Means(
        calls,
        prompt,
        completion,
        rollouts,
        _mean_of(rows, "ledger/cost", rollouts),
        _mean_of(rows, "ledger/cost_usd", rollouts),
    )


def _mean_of(rows: Sequence[Mapping[str, Any]], name: str, rollouts: int) -> float | None:
    """None where a row does not say it."""
    if not all(name in row for row in rows):
        return None
    return float(sum(row[name] for row in rows)) / rollouts


def means_of_executions(executions: Sequence[Execution]) -> Means | None:
    """What programs asked for, each on its own; None where there are none."""
    count = len(executions)
    if not count:
        return None
    dollars = [run.cost_usd for execution in executions for run in execution.runs]
    calls = [call for execution in executions for run in execution.runs for call in run.calls]
    return Means(
        sum(call.llm_calls for call in calls) / count,
        sum(call.prompt_tokens for call in calls) / count,
        sum(call.completion_tokens for call in calls) / count,
        count,
        sum(run.cost for execution in executions for run in execution.runs) / count,
        None if None in dollars else sum(d for d in dollars if d is not None) / count,
    )
