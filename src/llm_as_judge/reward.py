"""Verdict + Execution + Program -> Reward: parts on -10..10, pure functions, each with a weight.

A part is a function of a rollout and its group; ``@reward_part`` gives it a name and a weight, here
and in a plugin alike. The total is the weighted sum.

A text that cannot run counts as wrong and earns the least for tokens and calls: using none is no virtue
there. Its format earns -6 down to -10, and its repetition is scored as any other text's.
Scheme ``gated``: tokens and calls count among right programs only. A wrong one earns 0 for both, so
that where every program fails none is taught to fail cheaply.
Scheme ``priced``: the share of right runs less a price for their cost (learning to be right as cheaply as
the budget wants, on one scale), and less 0.1 where the text had to be repaired. Of the parts those of
one's own alone count, a tenth of their score each.
Efficiency is documented as cost and time. Executor tokens stand for both: dollars are tokens at the
endpoint's price, and a clock's seconds depend on what else runs, so that no run could be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import Field

from llm_as_judge.errors import ConfigError
from llm_as_judge.plugins import Defined, Plugin, Registry, failing
from llm_as_judge.types import Budget, Execution, Program, Reward, RewardPart, Rollout, Verdict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BEST, WORST = 10.0, -10.0
WRONG = -5.0
UNREADABLE = frozenset({"W100", "W101"})
"""Findings that say: this is no program, this is not Python."""
CALLS_AT_ZERO = 5.0
"""A program that can make this many executor calls scores 0 for simplicity."""

FigureT = TypeVar("FigureT", float, "npt.NDArray[np.float64]")
PRICES: Mapping[Budget, float] = {"low": 0.3, "middle": 0.1, "high": 0.03}
"""What 1,000 written tokens of cost take away, under the scheme ``priced``: with a low budget a call has
to be worth more."""
USUAL_BUDGET: Budget = "middle"
"""Where nobody says another."""
INVALID_TEXT = -0.5
"""Of a text that cannot run, under this scheme: less than a wrong program of any usual cost."""
REPAIRED = 0.1
"""What a repair takes away, under this scheme. Without it a policy unlearns what a repair puts back: after 97
steps of GRPO 2 % of its programs were valid as written. docs/results/learning.md, GRPO."""


@dataclass(frozen=True, slots=True)
class PartFunction(Plugin):
    """A part of the reward: how it is scored, and what it weighs unless the configuration says.

    It scores, of a rollout, its group and its options, -10..10. The group: all rollouts of the
    problem, some without an execution or a verdict. Called for graded rollouts alone.
    """

    kind = "reward part"
    options_key = "reward.options.{name}"
    takes = ("rollout", "group")

    weight: float = field(kw_only=True)
    of_right_ones: bool = False
    """Under the scheme ``gated`` only right programs are told apart by it."""

    @property
    def meaning(self) -> str:
        """First line of its docstring."""
        return (self.defined.__doc__ or "").strip().partition("\n")[0]


REWARD_PARTS: Registry[PartFunction] = Registry(PartFunction.kind)


def reward_part(
    name: str,
    *,
    weight: float,
    options: type[Any] | None = None,
    of_right_ones: bool = False,
) -> Callable[[Defined], Defined]:
    """Makes a function a part of every reward; see :class:`PartFunction`.

    Raises:
        ConfigError: another part has this name.
    """
    return REWARD_PARTS.adding(
        lambda scored: PartFunction(
            name, scored, options, weight=weight, of_right_ones=of_right_ones
        )
    )


def all_weights(given: Mapping[str, float]) -> dict[str, float]:
    """Part -> weight, of all parts: as given, else its own.

    Raises:
        ConfigError: there is no such part.
    """
    _require_parts(given)
    return {name: given.get(name, part.weight) for name, part in REWARD_PARTS.all().items()}


def all_options(given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Part -> option -> value, of all parts that have options: as given, else their defaults.

    Raises:
        ConfigError: there is no such part or option, or a value is not as wanted.
    """
    _require_parts(given)
    for name, values in given.items():
        REWARD_PARTS.get(name).read_options(values)
    return {
        name: {**part.default_options(), **given.get(name, {})}
        for name, part in REWARD_PARTS.all().items()
        if part.options is not None
    }


def _require_parts(names: Iterable[str]) -> None:
    for name in names:
        REWARD_PARTS.get(name)


@dataclass(frozen=True)
class RewardOptions:
    """What a reward is made of."""

    scheme: Literal["weighted", "gated", "priced"] = "weighted"
    budget: Budget | None = None
    """Under the scheme ``priced``, where a prompt named none; see :data:`PRICES`."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Part -> weight; one that is not named has its own."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Part -> option -> value; likewise."""

    @cached_property
    def parts(self) -> tuple[tuple[PartFunction, float, Any], ...]:
        """(part, weight, options) of every part.

        Raises:
            ConfigError: no part, or no option of a part, has a name that is given.
        """
        weights, options = all_weights(self.weights), all_options(self.options)
        return tuple(
            (part, weights[name], part.read_options(options.get(name, {})))
            for name, part in REWARD_PARTS.all().items()
        )


def reward_group(
    rollouts_G: Sequence[Rollout], options: RewardOptions, budget: Budget | None = None
) -> tuple[Rollout, ...]:
    """The same rollouts with their rewards; those that failed or were not graded keep None.

    Args:
        budget: that the group's prompt named; None = that of the options.
    Raises:
        ConfigError: a part failed, or scored outside of -10..10.
    """
    if budget is not None:
        options = replace(options, budget=budget)
    return tuple(replace(r, reward=_reward(r, rollouts_G, options)) for r in rollouts_G)


def _reward(rollout: Rollout, group: Sequence[Rollout], options: RewardOptions) -> Reward | None:
    verdict = rollout.verdict
    if rollout.failure or verdict is None or verdict.correct is None or rollout.execution is None:
        return None
    if options.scheme == "priced":
        price = PRICES[options.budget or USUAL_BUDGET]
        found = _priced(rollout.program, rollout.execution, verdict, price)
        own = {
            part.name: RewardPart(_score(part, rollout, group, chosen) / BEST, weight)
            for part, weight, chosen in options.parts
            if part.name not in SHIPPED_PARTS
        }
        more = sum(part.score * part.weight for part in own.values())
        return Reward({**found.parts, **own}, total=found.total + more)
    ran_wrong = rollout.program.runnable and not verdict.correct
    parts = {}
    for part, weight, chosen in options.parts:
        spared = options.scheme == "gated" and part.of_right_ones and ran_wrong
        score = 0.0 if spared else _score(part, rollout, group, chosen)
        parts[part.name] = RewardPart(score, weight)
    return Reward(parts=parts, total=sum(p.score * p.weight for p in parts.values()))


def _priced(program: Program, execution: Execution, verdict: Verdict, price: float) -> Reward:
    """Share of right runs - price x cost / 1000, the mean of the runs, - 0.1 for a repair."""
    right, cost, repaired = INVALID_TEXT, 0.0, 0.0
    if program.runnable and verdict.right is not None:
        runs = execution.runs
        right, cost = verdict.right, sum(run.cost for run in runs) / len(runs)
        repaired = float(bool(program.repairs))
    parts = {
        "right": RewardPart(right, 1.0),
        "cost": RewardPart(-cost / 1000, price),
        "repaired": RewardPart(-repaired, REPAIRED),
    }
    return Reward(parts, total=priced(right, cost, price) - REPAIRED * repaired)


def priced(right: FigureT, cost: FigureT, price: float) -> FigureT:
    """Reward of the scheme ``priced``, of one program or of an array of them.

    Args:
        right: share of right runs.
        cost: mean of the runs, in written tokens.
        price: what 1,000 of these take away (:data:`PRICES`).
    """
    return right - price * (cost / 1000)


def _score(part: PartFunction, rollout: Rollout, group: Sequence[Rollout], options: Any) -> float:
    where = f"reward part {part.name!r}: {rollout.problem_id}, rollout {rollout.index}"
    with failing(where, "mend the part; a run with a checkpoint goes on by --resume"):
        score = part.call(rollout, group, options=options)
    if isinstance(score, bool) or not isinstance(score, int | float) or not WORST <= score <= BEST:
        raise ConfigError(
            f"{where}: found {score!r}, wanted a number from -10 to 10 ({part.place})"
        )
    return float(score)


# ----------------------------------------------------------------------------- the shipped parts
@dataclass(frozen=True, slots=True)
class EfficiencyOptions:
    token_budget: Annotated[int, Field(ge=1)] = 4000
    """Executor tokens a run may use before efficiency turns negative."""


@reward_part("correctness", weight=0.65)
def correctness(rollout: Rollout, group: Sequence[Rollout]) -> float:
    """+10 right, -5 wrong."""
    return BEST if rollout.verdict and rollout.verdict.correct else WRONG


@reward_part("efficiency", weight=0.15, options=EfficiencyOptions, of_right_ones=True)
def efficiency(rollout: Rollout, group: Sequence[Rollout], options: EfficiencyOptions) -> float:
    """Executor tokens, half against a fixed budget, half against the group."""
    if not rollout.program.runnable or rollout.execution is None:
        return WORST
    used = [r.execution.tokens for r in group if r.execution and r.execution.status == "ok"]
    typical = median(used) if used else 0.0
    return efficiency_score(rollout.execution, typical, options.token_budget)


@reward_part("simplicity", weight=0.10, of_right_ones=True)
def simplicity(rollout: Rollout, group: Sequence[Rollout]) -> float:
    """Few executor calls that the program can make at worst."""
    return simplicity_score(rollout.program) if rollout.program.runnable else WORST


@reward_part("format", weight=0.05)
def runs_as_written(rollout: Rollout, group: Sequence[Rollout]) -> float:
    """Runs as written +10; needed repair at most 0; cannot run -6 to -10."""
    return format_score(rollout.program)


@reward_part("repetition", weight=0.05)
def repetition(rollout: Rollout, group: Sequence[Rollout]) -> float:
    """+10 nothing repeated; less for repeated lines and for copies in the group."""
    copies = sum(r.program.hash == rollout.program.hash for r in group)
    return repetition_score(rollout.program, copies, len(group))


SHIPPED_PARTS = frozenset(REWARD_PARTS)
"""Those above; a plugin's come later."""


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
