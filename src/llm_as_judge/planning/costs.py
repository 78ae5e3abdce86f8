"""What a plan is computed from: the rollouts of a run where there is one, speeds, and prices.

Each figure says whether it was measured (in the given run), given (by an option), or assumed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.monitoring.runlog import read_rollouts, read_steps
from llm_as_judge.types import Rollout

__all__ = [
    "Bounds",
    "Call",
    "Costs",
    "Shape",
    "Source",
    "Workload",
    "assumed_workload",
    "measured_workload",
    "with_given",
]

Source = Literal["measured", "given", "assumed"]


@dataclass(frozen=True, slots=True)
class Call:
    """One executor call, in tokens."""

    prompt: int
    completion: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What one rollout asks for."""

    program_tokens: int
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a cost may be: wide enough for any machine, narrow enough that a plan of it ends."""

    least: float
    most: float
    whole: bool = False

    def hold(self, value: float) -> bool:
        return self.least <= value <= self.most and (not self.whole or value == int(value))

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} of {self.least:g} to {self.most:,.12g}"


def _cost(meaning: str, bounds: Bounds) -> dict[str, Any]:
    return {"meaning": meaning, "bounds": bounds}


_RATE = Bounds(0.01, 1e7)
_AT_ONCE = Bounds(1, 100_000, whole=True)
_BESIDE_A_GPU = Bounds(1, 1024, whole=True)
_CPU_S = Bounds(0, 3600)
_USD = Bounds(0.01, 1000)


@dataclass(frozen=True, slots=True)
class Costs:
    """Speeds and prices. Defaults are assumptions for one H100 of 80 GB, a 7B policy and gpt-oss-120b;
    none was measured by this project, which had no GPU; those of processors are estimates."""

    sampling_tokens_s: float = field(
        default=3000.0,
        metadata=_cost("program tokens a second that one sampling GPU writes", _RATE),
    )
    sampling_slots: float = field(
        default=64, metadata=_cost("programs it writes at once", _AT_ONCE)
    )
    sampling_stream_tokens_s: float = field(
        default=120.0, metadata=_cost("of them for one program, however idle the GPU", _RATE)
    )
    executor_tokens_s: float = field(
        default=2500.0,
        metadata=_cost("reply tokens a second that one executor replica writes", _RATE),
    )
    executor_slots: float = field(
        default=64, metadata=_cost("requests it answers at once", _AT_ONCE)
    )
    executor_stream_tokens_s: float = field(
        default=150.0, metadata=_cost("of them for one reply, however idle the replica", _RATE)
    )
    executor_prefill_tokens_s: float = field(
        default=20000.0,
        metadata=_cost("prompt tokens a second that it reads, for one request", Bounds(0.01, 1e9)),
    )
    executor_gpus: float = field(
        default=1, metadata=_cost("GPUs of one executor replica", _BESIDE_A_GPU)
    )
    update_tokens_s: float = field(
        default=13000.0,
        metadata=_cost(
            "row tokens a second that one learner GPU learns from (40 % of its peak)", _RATE
        ),
    )
    learner_efficiency: float = field(
        default=0.9, metadata=_cost("of two or more learner GPUs against one each", Bounds(0.01, 1))
    )
    publish_s: float = field(
        default=2.0, metadata=_cost("seconds until an adapter is at all replicas", Bounds(0, 3600))
    )
    cores_per_gpu: float = field(
        default=16, metadata=_cost("processors beside each GPU", _BESIDE_A_GPU)
    )
    in_flight_per_core: float = field(
        default=16,
        metadata=_cost("programs that a worker's processor keeps waiting at once", _AT_ONCE),
    )
    run_cpu_s: float = field(
        default=0.006, metadata=_cost("processor seconds of a program's run on its worker", _CPU_S)
    )
    grade_cpu_s: float = field(
        default=0.004, metadata=_cost("processor seconds of grading by rules", _CPU_S)
    )
    driver_cpu_s: float = field(
        default=0.010,
        metadata=_cost("seconds of the one driver for a rollout of two calls", Bounds(0, 60)),
    )
    gpu_usd_h: float = field(
        default=2.5, metadata=_cost("dollars an hour for a GPU and its cores", _USD)
    )
    hosted_usd_m: float = field(
        default=0.5, metadata=_cost("dollars a million tokens of a hosted executor", _USD)
    )
    hosted_slots: float = field(
        default=64, metadata=_cost("requests a hosted executor takes at once", _AT_ONCE)
    )
    sources: Mapping[str, Source] = field(default_factory=dict)
    """Of those that are not assumed."""

    @classmethod
    def names(cls) -> dict[str, str]:
        """Name -> meaning."""
        return {f.name: f.metadata["meaning"] for f in fields(cls) if f.name != "sources"}

    @classmethod
    def bounds(cls) -> dict[str, Bounds]:
        """Name -> what :func:`with_given` and a run's own speeds may make of it."""
        return {f.name: f.metadata["bounds"] for f in fields(cls) if f.name != "sources"}


def with_given(costs: Costs, given: Sequence[str]) -> Costs:
    """``costs`` with ``NAME=NUMBER`` pairs put in.

    Raises:
        ConfigError: no such name, or no number within its bounds.
    """
    known = Costs.bounds()
    values: dict[str, Any] = {}
    for pair in given:
        name, _, text = pair.partition("=")
        if name not in known:
            raise ConfigError(f"--cost {pair!r}: no cost {name!r} (known: {', '.join(known)})")
        try:
            values[name] = float(text)
        except ValueError:
            values[name] = math.nan
        if not known[name].hold(values[name]):
            meaning = Costs.names()[name]
            raise ConfigError(f"--cost {pair!r}: wanted {known[name]} ({meaning})")
    sources: dict[str, Source] = {**costs.sources, **dict.fromkeys(values, "given")}
    return replace(costs, **values, sources=sources)


@dataclass(frozen=True, slots=True)
class Workload:
    """Rollouts to draw from, and what a group has in common."""

    shapes: tuple[Shape, ...]
    prompt_tokens: float
    """Of one policy prompt; computed once a group."""
    shared: float
    """Share of executor calls that nobody pays for: equal programs and equal calls of a group."""
    source: Source
    where: str
    """What was measured, or assumed."""

    def mean(self) -> tuple[float, float, float, float]:
        """Of a rollout: program tokens, calls, prompt and completion tokens of its calls."""
        count = len(self.shapes)
        calls = [call for shape in self.shapes for call in shape.calls]
        return (
            sum(shape.program_tokens for shape in self.shapes) / count,
            len(calls) / count,
            sum(call.prompt for call in calls) / count,
            sum(call.completion for call in calls) / count,
        )


def assumed_workload(count: int = 500) -> Workload:
    """Programs of about 250 tokens and three calls; replies log-normal, so that a few are long."""
    draw = random.Random("assumed workload")

    def tokens(mean: float, spread: float) -> int:
        return max(1, round(draw.lognormvariate(math.log(mean) - spread**2 / 2, spread)))

    shapes = tuple(
        Shape(
            tokens(250, 0.4),
            tuple(
                Call(tokens(500, 0.4), tokens(300, 0.8)) for _ in range(draw.choice((1, 2, 3, 6)))
            ),
        )
        for _ in range(count)
    )
    return Workload(
        shapes,
        2000.0,
        0.3,
        "assumed",
        "programs of 250 tokens, 1 to 6 calls of 500 + 300 tokens (log-normal), 30 % of them shared",
    )


def measured_workload(folder: Path) -> Workload:
    """The rollouts of a run.

    Raises:
        DataError: no run, or it has no finished step.
    """
    shapes = tuple(_shapes(rollout for _, _, rollout in read_rollouts(folder)))
    steps = [row for row in read_steps(folder) if row.get("rollout/count")]
    if not shapes or not steps:
        raise DataError(
            f"{folder}: no finished step to measure; train first, or plan without a run"
        )
    count = sum(row["rollout/count"] for row in steps)

    def mean(name: str) -> float:
        return float(sum(row.get(name, 0.0) * row["rollout/count"] for row in steps) / count)

    where = f"{len(shapes):,} rollouts of {folder}"
    shared = mean("ledger/saved_share")
    return Workload(shapes, mean("prompt/tokens"), shared, "measured", where)


def _shapes(rollouts: Iterable[Rollout]) -> Iterable[Shape]:
    for rollout in rollouts:
        if rollout.execution is None:
            continue
        calls = []
        for call in rollout.execution.calls:
            each = max(1, call.llm_calls)
            one = Call(call.prompt_tokens // each, call.completion_tokens // each)
            calls += [one] * call.llm_calls
        yield Shape(len(rollout.completion.token_ids), tuple(calls))
