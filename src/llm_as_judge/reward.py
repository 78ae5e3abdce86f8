"""Verdict + Execution + Program -> Reward: five parts on -10..10, pure functions.

| part        | weight | meaning                                                                  |
|-------------|--------|--------------------------------------------------------------------------|
| correctness | .65    | +10 right, -5 wrong                                                      |
| efficiency  | .15    | executor tokens, half against a fixed budget, half against the group     |
| simplicity  | .10    | executor calls the program can make at worst                             |
| format      | .05    | runs as written +10; needed repair at most 0; cannot run -10             |
| repetition  | .05    | +10 nothing repeated; less for repeated lines and for copies in the group |

A text that is no program earns the least of every part: using no tokens is no virtue there.
Scheme ``gated``: tokens and calls count among right programs only. A wrong one earns 0 for both, so
that where every program fails none is taught to fail cheaply.
Efficiency is documented as cost and time. Executor tokens stand for both: dollars are tokens at the
endpoint's price, and a clock's seconds depend on what else runs, so that no run could be repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from llm_as_judge.types import Execution, Program, Reward, RewardPart, Rollout

BEST, WORST = 10.0, -10.0
WRONG = -5.0
UNREADABLE = frozenset({"W100", "W101"})
"""Findings that say: this is no program, this is not Python."""
CALLS_AT_ZERO = 5.0
"""A program that can make this many executor calls scores 0 for simplicity."""


@dataclass(frozen=True, slots=True)
class RewardOptions:
    scheme: Literal["weighted", "gated"] = "weighted"
    correctness: float = 0.65
    efficiency: float = 0.15
    simplicity: float = 0.10
    format: float = 0.05
    repetition: float = 0.05
    token_budget: int = 4000


def reward_group(rollouts_G: Sequence[Rollout], options: RewardOptions) -> tuple[Rollout, ...]:
    """The same rollouts with their rewards; those that failed or were not graded keep None."""
    used = [r.execution.tokens for r in rollouts_G if r.execution and r.execution.status == "ok"]
    typical = median(used) if used else 0.0
    copies = Counter(r.program.hash for r in rollouts_G if r.program.hash)
    return tuple(
        replace(r, reward=_reward(r, typical, copies[r.program.hash], len(rollouts_G), options))
        for r in rollouts_G
    )


def _reward(
    rollout: Rollout, typical_tokens: float, copies: int, group_size: int, options: RewardOptions
) -> Reward | None:
    verdict, execution = rollout.verdict, rollout.execution
    if rollout.failure or verdict is None or verdict.correct is None or execution is None:
        return None
    ran = bool(rollout.program.runnable)
    efficiency = efficiency_score(execution, typical_tokens, options.token_budget)
    simplicity = simplicity_score(rollout.program)
    if options.scheme == "gated" and not verdict.correct:
        efficiency = simplicity = 0.0
    parts = {
        "correctness": RewardPart(BEST if verdict.correct else WRONG, options.correctness),
        "efficiency": RewardPart(efficiency if ran else WORST, options.efficiency),
        "simplicity": RewardPart(simplicity if ran else WORST, options.simplicity),
        "format": RewardPart(format_score(rollout.program), options.format),
        "repetition": RewardPart(
            repetition_score(rollout.program, copies, group_size), options.repetition
        ),
    }
    return Reward(parts=parts, total=sum(p.score * p.weight for p in parts.values()))


def efficiency_score(execution: Execution, typical_tokens: float, budget: int) -> float:
    """Mean of two scores in -10..10: tokens against the budget, tokens against the group's median.

    0 tokens of the budget = 10, the whole budget = 0, twice = -10; likewise half the group's median
    is above 0 and twice is below. A run that gave no answer scores the least.
    """
    if execution.status != "ok":
        return WORST
    against_budget = BEST * (1 - execution.tokens / budget)
    against_group = BEST * (1 - execution.tokens / typical_tokens) if typical_tokens else 0.0
    return _clip((_clip(against_budget) + _clip(against_group)) / 2)


def simplicity_score(program: Program) -> float:
    """10 for one worst-case call, 0 for ``CALLS_AT_ZERO``, falling on to -10."""
    return _clip(BEST * (CALLS_AT_ZERO - program.worst_case_calls) / (CALLS_AT_ZERO - 1))


def format_score(program: Program) -> float:
    """10 for a text that runs as written; each finding costs 5, a repair at least 10.

    A program that cannot run scores -6 for one finding down to -10 for five: a small policy that
    never writes a valid one still learns which of its texts are nearer. No program at all: -10.
    """
    if not program.runnable:
        codes = {finding.code for finding in program.diagnostics}
        return WORST if not codes or codes & UNREADABLE else _clip(WRONG - len(program.diagnostics))
    if program.strictly_valid:
        return BEST
    findings = len(program.diagnostics) + len(program.repairs)
    return (
        _clip(BEST - 10.0 - 5.0 * (findings - 1))
        if program.repairs
        else _clip(BEST - 5.0 * findings)
    )


def repetition_score(program: Program, copies: int, group_size: int) -> float:
    """10 for no repeated line and no copy in the group, -10 for nothing else."""
    if not program.hash:
        return WORST
    lines = [line.strip() for line in program.source.splitlines() if len(line.strip()) > 3]
    repeated_lines = 1 - len(set(lines)) / len(lines) if lines else 0.0
    repeated_programs = (copies - 1) / (group_size - 1) if group_size > 1 else 0.0
    return _clip(BEST * (1 - 2 * max(repeated_lines, repeated_programs)))


def _clip(score: float) -> float:
    return max(WORST, min(BEST, score))
