"""From costs to a table: how GPUs are best divided, what they then do in an hour, and for how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_as_judge.errors import ConfigError
from llm_as_judge.planning.costs import Costs, Workload
from llm_as_judge.planning.simulate import Machines, Outcome, Schedule, simulate
from llm_as_judge.types import to_json

__all__ = ["Row", "as_json", "as_markdown", "assumptions", "capacity", "divided"]

PROBLEMS_PER_GPU, MOST_PROBLEMS = 16, 1024
"""Groups of a step grow with the machines, since fewer could not keep them busy, up to a size that
others have trained with. What larger steps do to learning has not been measured here."""
COUNTED, WARM_UP = 5, 2
"""Steps overlap, so that the time of one alone says nothing; the first ones find idle machines."""
MOST_SIMULATED = 1_000_000
"""Programs and calls of a row: about half a minute."""


@dataclass(frozen=True, slots=True)
class Row:
    """One size."""

    gpus: int
    machines: Machines
    problems: int
    outcome: Outcome
    usd_h: float
    usd_per_1000: float
    """Of 1,000 rollouts."""

    @property
    def limit(self) -> str:
        """The busiest part."""
        return max(self.outcome.busy, key=lambda name: self.outcome.busy[name])


def divided(costs: Costs, workload: Workload, gpus: int, samples: int) -> Machines:
    """GPUs given, one replica after the other, to the part that has most to do for each it has.

    Too few for one of each: the learner's GPUs write the programs too, and the executor is hosted.
    """
    replica = round(costs.executor_gpus)
    cores = max(1, round(gpus * costs.cores_per_gpu))
    if gpus < 2 + replica:
        return Machines(gpus, 0, 0, cores)
    program, _, prompt, completion = workload.mean()
    paid = 1 - workload.shared
    load = {
        "learner": (workload.prompt_tokens / samples + program) / costs.update_tokens_s,
        "sampling": program / costs.sampling_tokens_s,
        "executors": paid
        * (
            completion / costs.executor_tokens_s
            + prompt / costs.executor_prefill_tokens_s / costs.executor_slots
        ),
    }
    size = {"learner": 1, "sampling": 1, "executors": replica}
    have = dict.fromkeys(load, 1)
    left = gpus - sum(size.values())
    while fitting := [name for name in load if size[name] <= left]:
        busiest = max(load, key=lambda name: load[name] / have[name])
        name = busiest if busiest in fitting else fitting[0]
        have[name] += 1
        left -= size[name]
    return Machines(have["learner"], have["sampling"], have["executors"], cores)


def capacity(
    costs: Costs,
    workload: Workload,
    gpus: Sequence[int],
    *,
    problems: int,
    samples: int,
    staleness: int,
    fixed: int | None = None,
) -> list[Row]:
    """A row for each number of GPUs.

    Args:
        problems: least groups of a step; more where the machines need them to be busy.
        fixed: so many groups a step, whatever the machines.
    Raises:
        ConfigError: a row has more than can be simulated in sensible time.
    """
    steps = WARM_UP + COUNTED + staleness
    schedules = []
    for count in gpus:
        groups = fixed or max(problems, min(MOST_PROBLEMS, PROBLEMS_PER_GPU * count))
        schedules.append(Schedule(groups, samples, staleness, steps, WARM_UP))
        _require_bounded(schedules[-1], workload)
    rows = []
    for count, schedule in zip(gpus, schedules, strict=True):
        machines = divided(costs, workload, count, samples)
        outcome = simulate(costs, workload, machines, schedule)
        hosted = 0.0 if machines.executors else outcome.tokens * costs.hosted_usd_m / 1e6
        usd_h = count * costs.gpu_usd_h + outcome.rollouts_h * hosted
        rows.append(
            Row(
                count,
                machines,
                schedule.problems,
                outcome,
                usd_h,
                1000 * usd_h / outcome.rollouts_h,
            )
        )
    return rows


def _require_bounded(schedule: Schedule, workload: Workload) -> None:
    _, calls, *_ = workload.mean()
    most = int(MOST_SIMULATED / (1 + calls)) // (schedule.samples * schedule.steps)
    if schedule.problems <= most:
        return
    wanted = (
        f"--problems of 1 to {most:,}"
        if most
        else "fewer training.samples_per_problem or a smaller training.max_staleness"
    )
    raise ConfigError(
        f"{schedule.problems:,} problems x {schedule.samples:,} programs in a step, of which "
        f"{schedule.steps:,} are simulated: too many for a plan; wanted {wanted}"
    )


def as_markdown(rows: Sequence[Row]) -> str:
    """The table of docs/scaling.md."""
    heads = (
        "GPUs",
        "learner + sampling + executor",
        "problems a step",
        "s a step",
        "rollouts an hour",
        "busy: learner, sampling, executor, driver",
        "most busy",
        "$ an hour",
        "$ for 1,000 rollouts",
    )
    lines = [f"| {' | '.join(heads)} |", "|---:|---|---:|---:|---:|---|---|---:|---:|"]
    for row in rows:
        machines, busy = row.machines, row.outcome.busy
        parts = (
            f"{machines.learner} + {machines.sampling} + {machines.executors}"
            if machines.sampling
            else f"{machines.learner} in turn, executor hosted"
        )
        shares = ", ".join(
            f"{busy[name]:.0%}" for name in ("learner", "sampling", "executor", "driver")
        )
        lines.append(
            f"| {row.gpus} | {parts} | {row.problems} | {row.outcome.step_s:.1f} "
            f"| {row.outcome.rollouts_h:,.0f} | {shares} | {row.limit} | {row.usd_h:,.2f} "
            f"| {row.usd_per_1000:.2f} |"
        )
    return "\n".join(lines)


def assumptions(costs: Costs, workload: Workload) -> list[tuple[str, str, str]]:
    """(figure, what it is, measured / given / assumed), the workload first."""
    program, calls, prompt, completion = workload.mean()
    source = workload.source
    found = [
        ("rollouts drawn from", workload.where, source),
        (f"{workload.prompt_tokens:,.0f}", "tokens of a policy prompt, once a group", source),
        (f"{program:,.0f}", "tokens of a program", source),
        (f"{calls:.2g}", "executor calls of a program", source),
        (f"{prompt:,.0f} + {completion:,.0f}", "prompt and reply tokens of its calls", source),
        (f"{workload.shared:.0%}", "of the calls that siblings share", source),
    ]
    for name, meaning in Costs.names().items():
        value: float = getattr(costs, name)
        found.append((f"{name} = {value:g}", meaning, costs.sources.get(name, "assumed")))
    return [(str(a), b, c) for a, b, c in found]


def as_json(costs: Costs, workload: Workload, rows: Sequence[Row]) -> Mapping[str, Any]:
    """Everything, for scripts."""
    keys = ("figure", "meaning", "source")
    return {
        "rows": [{**to_json(row), "limit": row.limit} for row in rows],
        "assumptions": [
            dict(zip(keys, entry, strict=True)) for entry in assumptions(costs, workload)
        ],
    }
