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


def _cost(meaning: str) -> dict[str, str]:
    return {"meaning": meaning}


@dataclass(frozen=True, slots=True)
class Costs:
    """Speeds and prices. Defaults are assumptions for one H100 of 80 GB, a 7B policy and gpt-oss-120b;
    none was measured by this project, which had no GPU; those of processors are estimates."""

    sampling_tokens_s: float = field(
        default=3000.0, metadata=_cost("program tokens a second that one sampling GPU writes")
    )
    sampling_slots: float = field(default=64, metadata=_cost("programs it writes at once"))
    sampling_stream_tokens_s: float = field(
        default=120.0, metadata=_cost("of them for one program, however idle the GPU")
    )
    executor_tokens_s: float = field(
        default=2500.0, metadata=_cost("reply tokens a second that one executor replica writes")
    )
    executor_slots: float = field(default=64, metadata=_cost("requests it answers at once"))
    executor_stream_tokens_s: float = field(
        default=150.0, metadata=_cost("of them for one reply, however idle the replica")
    )
    executor_prefill_tokens_s: float = field(
        default=20000.0, metadata=_cost("prompt tokens a second that it reads, for one request")
    )
    executor_gpus: float = field(default=1, metadata=_cost("GPUs of one executor replica"))
    update_tokens_s: float = field(
        default=13000.0,
        metadata=_cost("row tokens a second that one learner GPU learns from (40 % of its peak)"),
    )
    learner_efficiency: float = field(
        default=0.9, metadata=_cost("of two or more learner GPUs against one each")
    )
    publish_s: float = field(
        default=2.0, metadata=_cost("seconds until an adapter is at all replicas")
    )
    cores_per_gpu: float = field(default=16, metadata=_cost("processors beside each GPU"))
    in_flight_per_core: float = field(
        default=16, metadata=_cost("programs that a worker's processor keeps waiting at once")
    )
    run_cpu_s: float = field(
        default=0.006, metadata=_cost("processor seconds of a program's run on its worker")
    )
    grade_cpu_s: float = field(
        default=0.004, metadata=_cost("processor seconds of grading by rules")
    )
    driver_cpu_s: float = field(
        default=0.010, metadata=_cost("seconds of the one driver for a rollout of two calls")
    )
    gpu_usd_h: float = field(default=2.5, metadata=_cost("dollars an hour for a GPU and its cores"))
    hosted_usd_m: float = field(
        default=0.5, metadata=_cost("dollars a million tokens of a hosted executor")
    )
    hosted_slots: float = field(
        default=64, metadata=_cost("requests a hosted executor takes at once")
    )
    sources: Mapping[str, Source] = field(default_factory=dict)
    """Of those that are not assumed."""

    @classmethod
    def names(cls) -> dict[str, str]:
        """Name -> meaning."""
        return {f.name: f.metadata["meaning"] for f in fields(cls) if f.name != "sources"}


def with_given(costs: Costs, given: Sequence[str]) -> Costs:
    """``costs`` with ``NAME=NUMBER`` pairs put in.

    Raises:
        ConfigError: no such name, or no positive number.
    """
    known = Costs.names()
    values: dict[str, Any] = {}
    for pair in given:
        name, _, text = pair.partition("=")
        if name not in known:
            raise ConfigError(f"--cost {pair!r}: no cost {name!r} (known: {', '.join(known)})")
        try:
            values[name] = float(text)
        except ValueError:
            values[name] = math.nan
        if not 0 < values[name] < math.inf:
            raise ConfigError(f"--cost {pair!r}: wanted a number above 0, as in {name}=2.5")
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
