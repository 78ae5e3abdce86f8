"""Schedules worked by hand: who waits for whom decides the length of a step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.planning.capacity import Row, as_markdown, divided
from llm_as_judge.planning.clock import Clock, Process, Resource, Writer
from llm_as_judge.planning.costs import Call, Costs, Shape, Workload, assumed_workload
from llm_as_judge.planning.simulate import Machines, Outcome, Schedule, simulate

# A program takes 1 s to write, its one reply 2 s; a step of 4 programs is learned from in 3 s.
COSTS = Costs(
    sampling_tokens_s=1e9,
    sampling_stream_tokens_s=100.0,
    executor_tokens_s=1e9,
    executor_stream_tokens_s=100.0,
    executor_prefill_tokens_s=1e9,
    update_tokens_s=(200 + 4 * 100) / 3.0,
    publish_s=0.0,
    run_cpu_s=0.0,
    grade_cpu_s=0.0,
    driver_cpu_s=0.0,
)
WORK = Workload((Shape(100, (Call(0, 200),)),), 200.0, 0.0, "given", "by hand")
APART = Machines(1, 1, 1, 4)
TOGETHER = Machines(1, 0, 1, 4)


def step_s(machines: Machines, staleness: int, costs: Costs = COSTS) -> float:
    return outcome(machines, staleness, costs).step_s


def outcome(machines: Machines, staleness: int, costs: Costs = COSTS) -> Outcome:
    return simulate(costs, WORK, machines, Schedule(1, 4, staleness, steps=12, warm_up=4))


@pytest.mark.parametrize(
    ("machines", "staleness", "seconds"),
    [
        pytest.param(APART, 0, 1 + 2 + 3, id="in turn: write, run, learn"),
        pytest.param(
            APART, 1, 3, id="one step ahead: what is written and run hides behind updates"
        ),
        pytest.param(TOGETHER, 0, 6, id="on the learner's GPU in turn: the same"),
        pytest.param(TOGETHER, 1, 1 + 3, id="and ahead: its GPU writes and learns without a pause"),
    ],
)
def test_the_length_of_a_step_is_that_of_its_schedule(
    machines: Machines, staleness: int, seconds: float
) -> None:
    assert step_s(machines, staleness) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "seconds"),
    [
        pytest.param({"executor_slots": 1}, 1 + 4 * 2 + 3, id="one slot: replies one by one"),
        pytest.param({"executor_slots": 2}, 1 + 2 * 2 + 3, id="two slots: two at a time"),
        pytest.param({"sampling_slots": 2}, 2 + 2 + 3, id="two programs at a time, the first runs"),
        pytest.param({"executor_tokens_s": 200.0}, 1 + 8 / 2 + 3, id="four share a replica"),
        pytest.param({"in_flight_per_core": 0.5}, 1 + 2 * 2 + 3, id="two places on the workers"),
        pytest.param({"publish_s": 5.0}, 1 + 2 + 3 + 5, id="adapters on their way"),
        pytest.param({"run_cpu_s": 4.0}, 1 + 2 + 4 + 3, id="a processor for each"),
        pytest.param({"driver_cpu_s": 4.0}, 1 + 4 * (2 + 1) + 2 + 3, id="one driver for all"),
        pytest.param({"learner_efficiency": 0.5}, 6, id="efficiency is of several GPUs alone"),
    ],
)
def test_each_part_takes_its_time(change: dict[str, float], seconds: float) -> None:
    assert step_s(APART, 0, replace(COSTS, **change)) == pytest.approx(seconds, abs=1e-6)


def test_two_learner_gpus_are_twice_as_fast_times_their_efficiency() -> None:
    two = replace(APART, learner=2)
    assert step_s(two, 0) == pytest.approx(1 + 2 + 3 / 2 / 0.9, abs=1e-6)


def test_rollouts_an_hour_and_shares_follow_from_the_step() -> None:
    found = outcome(APART, 1)
    assert found.rollouts_h == pytest.approx(3600 * 4 / 3)
    assert found.tokens == 200
    whole = 1 + 2 + 12 * 3  # the learner waits for the first step alone
    assert found.busy["learner"] == pytest.approx(12 * 3 / whole)


def test_calls_that_siblings_share_are_not_paid() -> None:
    work = replace(WORK, shared=0.25)
    found = simulate(COSTS, work, APART, Schedule(50, 8, 0))
    assert found.tokens == pytest.approx(0.75 * 200, rel=0.05)


def test_a_plan_is_the_same_each_time() -> None:
    arguments = (Costs(), assumed_workload(), Machines(1, 2, 5, 128), Schedule(16, 6, 1, 4))
    assert simulate(*arguments) == simulate(*arguments)


# ------------------------------------------------------------------------------------------ the clock
@given(st.lists(st.floats(0.1, 10.0), min_size=1, max_size=30), st.integers(1, 5))
def test_no_more_than_the_capacity_use_a_resource_and_none_waits_beside_a_free_place(
    seconds: list[float], capacity: int
) -> None:
    clock = Clock()
    resource = Resource(clock, capacity)
    using = most = 0

    def one(duration: float) -> Process:
        nonlocal using, most
        yield resource.turn()
        using += 1
        most = max(most, using)
        yield duration
        resource.busy_s += duration
        using -= 1
        resource.done()

    for duration in seconds:
        clock.start(one(duration))
    clock.run()
    free_at = [0.0] * capacity  # first come, first served, worked anew
    for duration in seconds:
        free_at.sort()
        free_at[0] += duration
    assert clock.now == pytest.approx(max(free_at))
    assert most == min(capacity, len(seconds))
    assert resource.busy_s == pytest.approx(sum(seconds))


def test_texts_share_a_writer_and_grow_faster_when_others_have_ended() -> None:
    """100 tokens/s a text, 150 together; 300 tokens alone, 75 from the first second on: both at 75,
    the short one ends at 2 s, the long one has 125 left: at 3.25 s."""
    clock = Clock()
    writer = Writer(clock, 8, 100.0, 150.0)
    ended: dict[str, float] = {}

    def one(name: str, begin: float, tokens: float) -> Process:
        yield begin
        yield from writer.write(tokens)
        ended[name] = clock.now

    clock.start(one("long", 0.0, 300.0))
    clock.start(one("short", 1.0, 75.0))
    clock.run()
    assert ended == {"short": pytest.approx(2.0), "long": pytest.approx(3.25)}
    assert writer.tokens == 375.0


@given(st.lists(st.floats(1.0, 1e4), min_size=1, max_size=40), st.integers(1, 40))
def test_a_full_writer_writes_all_at_its_greatest_speed(tokens: list[float], slots: int) -> None:
    clock = Clock()
    writer = Writer(clock, slots, 1e9, 100.0)
    for each in tokens:
        clock.start(writer.write(each))
    clock.run()
    assert clock.now == pytest.approx(sum(tokens) / 100.0)


# -------------------------------------------------------------------------------------------- dividing
@given(st.integers(1, 600), st.integers(1, 4))
def test_all_gpus_but_the_rest_of_a_replica_are_given_out(gpus: int, replica: int) -> None:
    costs = replace(Costs(), executor_gpus=replica)
    found = divided(costs, WORK, gpus, 6)
    used = found.learner + found.sampling + found.executors * replica
    assert used == gpus
    assert found.learner >= 1
    assert (found.sampling > 0) == (found.executors > 0) == (gpus >= 2 + replica)


def test_the_part_that_has_most_to_do_gets_most() -> None:
    slow = replace(Costs(), executor_tokens_s=10.0)
    found = divided(slow, WORK, 64, 6)
    assert found.executors > found.learner + found.sampling


# ------------------------------------------------------------------------------------ what is accepted
class Counting(Clock):
    """Counts what happens, and ends a simulation that goes on for longer than it may."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def soon(self, process: Process, after_s: float = 0.0) -> None:
        assert math.isfinite(self.now + after_s)
        self._left -= 1
        assert self._left >= 0, "more events than the waits of its programs and calls"
        super().soon(process, after_s)


CORNERS = {name: (bounds.least, bounds.most) for name, bounds in Costs.bounds().items()}
SMALL = Workload(assumed_workload(12).shapes, 2000.0, 0.3, "given", "by hand")


def require_bounded(changes: Mapping[str, float]) -> None:
    """A program waits 14 times at most and a call 9 times; so does a step's sampling and update."""
    costs = replace(Costs(), **changes)  # type: ignore[arg-type]
    most_calls = max(len(shape.calls) for shape in SMALL.shapes)
    for gpus in (1, 8, 4096):
        schedule = Schedule(2, 3, 1, steps=8)
        programs = schedule.problems * schedule.samples * schedule.steps
        events = programs * (14 + 9 * most_calls) + schedule.steps * 14
        machines = divided(costs, SMALL, gpus, schedule.samples)
        found = simulate(costs, SMALL, machines, schedule, Counting(events))
        assert 0 < found.rollouts_h < math.inf
        usd_h = gpus * costs.gpu_usd_h
        row = Row(gpus, machines, 2, found, usd_h, 1000 * usd_h / found.rollouts_h)
        cells = as_markdown([row]).splitlines()[2].split("|")
        assert max(map(len, cells)) < 40


@pytest.mark.parametrize("name", CORNERS)
def test_each_cost_at_its_least_and_its_most_ends_in_bounded_work(name: str) -> None:
    for value in CORNERS[name]:
        require_bounded({name: value})


@settings(max_examples=60, deadline=None)
@given(st.fixed_dictionaries({name: st.sampled_from(ends) for name, ends in CORNERS.items()}))
def test_any_corner_of_what_is_accepted_ends_in_bounded_work(changes: dict[str, float]) -> None:
    require_bounded(changes)


def test_the_defaults_lie_within_their_bounds() -> None:
    assert all(bounds.hold(getattr(Costs(), name)) for name, bounds in Costs.bounds().items())
