"""Training steps on given machines, rollout by rollout: who waits for whom, and how long.

The schedule is the trainer's: step n is sampled once n - 1 - S updates are done; each program runs
from the moment it is written; a step is learned from when its last rollout has ended, in order.

    program   a slot of a sampling GPU for its tokens (without such GPUs: of the learner's, in turn
              with updates)
    place     one of the workers' places, held through the run
    call      the driver, then a slot of an executor replica: its prompt read, its reply written
    worker    processor time of run and of grading
    update    the learner, for the row tokens of the step

Tokens come at the speed of one stream while a part is idle, and share its greatest speed when it is
not.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from llm_as_judge.planning.clock import Clock, Event, Process, Resource, Writer
from llm_as_judge.planning.costs import Call, Costs, Shape, Workload

__all__ = ["Machines", "Outcome", "Schedule", "simulate"]


@dataclass(frozen=True, slots=True)
class Machines:
    """GPUs by what they do."""

    learner: int
    sampling: int
    """0: the learner's GPUs write the programs, in turn with updates."""
    executors: int
    """Replicas; 0: hosted elsewhere."""
    cores: int


@dataclass(frozen=True, slots=True)
class Schedule:
    problems: int
    """Groups of a step."""
    samples: int
    """Programs of a group."""
    staleness: int
    steps: int = 8
    warm_up: int = 2
    """First steps that are not counted."""


@dataclass(frozen=True, slots=True)
class Outcome:
    rollouts_h: float
    step_s: float
    busy: dict[str, float]
    """Share of the time in which a part worked, 0..1."""
    tokens: float
    """Executor tokens paid for a rollout."""


def simulate(
    costs: Costs,
    workload: Workload,
    machines: Machines,
    schedule: Schedule,
    clock: Clock | None = None,
) -> Outcome:
    """Rollouts an hour of these machines. The same arguments give the same outcome.

    Args:
        clock: one of the caller's own, at 0.
    """
    return _Simulation(costs, workload, machines, schedule, clock or Clock()).run()


class _Simulation:
    def __init__(
        self,
        costs: Costs,
        workload: Workload,
        machines: Machines,
        schedule: Schedule,
        clock: Clock,
    ) -> None:
        self._costs, self._workload = costs, workload
        self._machines, self._schedule = machines, schedule
        self._draw = random.Random("plan")
        self._clock = clock
        self._program_tokens = workload.mean()[0]
        writers = machines.sampling or machines.learner
        self._sampling = Writer(
            clock,
            writers * round(costs.sampling_slots),
            costs.sampling_stream_tokens_s,
            writers * costs.sampling_tokens_s,
        )
        self._executor = Writer(
            clock,
            machines.executors * round(costs.executor_slots) or round(costs.hosted_slots),
            costs.executor_stream_tokens_s,
            machines.executors * costs.executor_tokens_s or math.inf,
        )
        self._places = Resource(clock, round(machines.cores * costs.in_flight_per_core))
        self._cores = Resource(clock, machines.cores)
        self._driver = Resource(clock, 1)
        self._policy = Resource(clock, 1)
        """The learner's GPUs: an update, or where nobody else writes, the writing of a step."""
        self._updated = [Event(clock) for _ in range(schedule.steps + 1)]
        self._updated[0].set()
        self._ended_at = [0.0] * (schedule.steps + 1)
        self._update_s = 0.0
        self._tokens = 0

    # ---------------------------------------------------------------------------------------- steps
    def run(self) -> Outcome:
        schedule = self._schedule
        written = [Event(self._clock) for _ in range(schedule.steps + 1)]
        written[0].set()
        ended = [Event(self._clock) for _ in range(schedule.steps + 1)]
        for step in range(1, schedule.steps + 1):
            self._clock.start(self._sample(step, written, ended[step]))
            self._clock.start(self._update(step, ended[step]))
        self._clock.run()
        return self._outcome()

    def _sample(self, step: int, written: list[Event], ended: Event) -> Process:
        """Writes the programs of a step, after those of the step before."""
        yield written[step - 1]
        yield self._updated[max(0, step - 1 - self._schedule.staleness)]
        if self._machines.sampling:
            yield self._costs.publish_s
        else:  # asked for at once: the trainer writes what it may before it learns
            yield self._policy.turn()
        count = self._schedule.problems * self._schedule.samples
        left = _Countdown(count, ended)
        programs = _Countdown(count, written[step])
        for _ in range(count):
            shape = self._draw.choice(self._workload.shapes)
            self._clock.start(self._rollout(shape, programs, left))
        yield written[step]
        if not self._machines.sampling:
            self._policy.done()

    def _update(self, step: int, ended: Event) -> Process:
        yield ended
        yield self._updated[step - 1]
        yield self._policy.turn()
        seconds = self._update_seconds()
        yield seconds
        self._policy.done()
        self._update_s += seconds
        self._ended_at[step] = self._clock.now
        self._updated[step].set()

    def _update_seconds(self) -> float:
        costs, gpus, schedule = self._costs, self._machines.learner, self._schedule
        rows = schedule.problems * (
            self._workload.prompt_tokens + schedule.samples * self._program_tokens
        )
        speed = costs.update_tokens_s * gpus * (costs.learner_efficiency if gpus > 1 else 1.0)
        return rows / speed

    # ------------------------------------------------------------------------------------- rollouts
    def _rollout(self, shape: Shape, programs: _Countdown, left: _Countdown) -> Process:
        costs = self._costs
        yield from self._sampling.write(shape.program_tokens)
        programs.one()
        yield self._places.turn()
        yield from self._driver.use(costs.driver_cpu_s / 2)
        for call in shape.calls:
            if self._draw.random() >= self._workload.shared:
                yield from self._call(call)
        yield from self._cores.use(costs.run_cpu_s)
        self._places.done()
        yield from self._cores.use(costs.grade_cpu_s)
        left.one()

    def _call(self, call: Call) -> Process:
        costs = self._costs
        self._tokens += call.prompt + call.completion
        yield from self._driver.use(costs.driver_cpu_s / 4)
        yield call.prompt / costs.executor_prefill_tokens_s
        yield from self._executor.write(call.completion)

    # ---------------------------------------------------------------------------------------- result
    def _outcome(self) -> Outcome:
        schedule, ended = self._schedule, self._ended_at
        last = schedule.steps - schedule.staleness  # after it nothing is written beside an update
        step_s = (ended[last] - ended[schedule.warm_up]) / (last - schedule.warm_up)
        count = schedule.problems * schedule.samples
        whole = self._clock.now
        costs, machines = self._costs, self._machines
        # Of tokens, what was written against what could have been; of processors, time.
        writers = costs.sampling_tokens_s * (machines.sampling or machines.learner)
        repliers = costs.executor_tokens_s * machines.executors
        busy = {
            "learner": self._update_s / whole,
            "sampling": self._sampling.tokens / writers / whole,
            "executor": self._executor.tokens / repliers / whole if repliers else 0.0,
            "cores": self._cores.busy_s / self._cores.capacity / whole,
            "driver": self._driver.busy_s / whole,
        }
        tokens = self._tokens / (count * schedule.steps)
        return Outcome(3600.0 * count / step_s, step_s, busy, tokens)


class _Countdown:
    """Sets an event when all have come."""

    def __init__(self, count: int, event: Event) -> None:
        self._left, self._event = count, event

    def one(self) -> None:
        self._left -= 1
        if not self._left:
            self._event.set()
