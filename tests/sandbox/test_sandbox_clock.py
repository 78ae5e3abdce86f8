"""A run's time is its own: what stalls the host or fills the machine ends no run and fails none."""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass

import pytest
import pytest_asyncio

from llm_as_judge.errors import OverloadError, SandboxError
from llm_as_judge.grading.rules import grade_code
from llm_as_judge.sandbox.clock import PATIENCE, Deadline, OwnTime
from llm_as_judge.sandbox.inside.frames import MAX_CALL
from llm_as_judge.sandbox.launch import Exit
from llm_as_judge.types import Json, Problem, RunLimits, Sandbox, TestReport

INF = float("inf")
pytestmark = pytest.mark.asyncio(loop_scope="session")


@dataclass
class Process:
    """A child that has used these processor seconds at each look, then as many as at the last."""

    used: list[float | None]
    looks: int = 0
    lost: bool = False

    @property
    def sock(self) -> socket.socket:
        raise AssertionError("nobody speaks with it")

    async def processor_s(self) -> float | None:
        self.looks += 1
        return self.used[min(self.looks, len(self.used)) - 1]

    async def end(self, clean: bool = False) -> Exit:
        return Exit(0, None, 0.0)


class Clock:
    """The time of the event loop, which goes on only as it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    async def goes_on(self, seconds: float) -> None:
        self.now += seconds
        for _ in range(5):  # what is due runs, and what that has woken
            await asyncio.sleep(0)

    async def kept(self, seconds: float, *children: Process, said_after: float = INF) -> bool:
        """Whether a run that says something after so long is waited for to its end."""
        loop = asyncio.get_running_loop()
        own, said = OwnTime(seconds), loop.create_future()
        own.start()
        if said_after < INF:
            loop.call_later(said_after, said.set_result, None)
        waiting = asyncio.ensure_future(Deadline(seconds, children).kept(own, said))
        while not waiting.done():
            await self.goes_on(0.005)
        own.stop()
        return waiting.result()


@pytest_asyncio.fixture(loop_scope="session")
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: clock.now)
    return clock


async def test_a_run_that_waits_by_itself_is_over_at_its_limit(clock: Clock) -> None:
    process = Process([0.001])
    assert not await clock.kept(0.2, process)
    assert process.looks == 1


async def test_a_run_is_over_when_it_has_used_its_time_on_a_processor_in_all_its_processes(
    clock: Clock,
) -> None:
    solution, tests = Process([0.05, 0.11]), Process([0.05, 0.1])
    assert not await clock.kept(0.2, solution, tests)
    assert solution.looks == 2


async def test_a_run_that_is_given_little_time_is_waited_for_and_then_not_blamed(
    clock: Clock,
) -> None:
    process = Process([0.01 + 0.001 * n for n in range(200)])
    with pytest.raises(OverloadError, match=r"this machine gave a run 0\.\d of 0.2 s of processor"):
        await clock.kept(0.2, process)
    assert process.looks > 8 * (PATIENCE - 1)


async def test_a_run_whose_process_has_ended_is_heard_before_it_is_judged(clock: Clock) -> None:
    assert await clock.kept(0.1, Process([None]), said_after=0.15)


async def test_what_stalls_the_host_is_no_time_of_a_run(clock: Clock) -> None:
    own, slices = OwnTime(0.4), 0
    own.start()
    await clock.goes_on(1.0)  # nobody looked meanwhile, as while a neighbor's message is read
    assert not own.over.done()
    while not own.over.done():
        await clock.goes_on(0.02)
        slices += 1
    assert slices >= 18
    own.stop()


# ---------------------------------------------------------------------------------- in the sandbox
async def test_a_right_solution_passes_beside_what_stalls_the_host(jail: Sandbox) -> None:
    grading = asyncio.ensure_future(
        jail.run_tests(
            "def f(x):\n    return x + 1", "f", ("assert f(1) == 2",) * 9, RunLimits(wall_s=5.0)
        )
    )
    for _ in range(4):
        await asyncio.sleep(0.001)
        time.sleep(1.5)  # noqa: ASYNC251 - as a neighbor's message would
    report = await grading
    assert report.passed, report


SURROGATES = """
import asyncio

class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.custom = operator.Custom(None)

    async def __call__(self, problem):
        text = "\\ud800" * {count}
        calls = [self.custom(input=text) for _ in range(3)]
        said = await asyncio.gather(*calls, return_exceptions=True)
        return " ".join(type(s).__name__ for s in said)
"""


@pytest.mark.parametrize(("count", "said"), [(690_000, "TypeError"), (MAX_CALL // 6 - 50, "dict")])
async def test_a_program_of_surrogates_holds_the_host_up_no_longer_than_any(
    jail: Sandbox, count: int, said: str
) -> None:
    heard: set[str] = set()

    async def serve(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        heard.add(str(kwargs["input"]))
        return {"response": "x"}

    source = SURROGATES.format(count=count)
    began = time.process_time()
    result = await jail.run_workflow(source, {"problem": "p"}, serve, RunLimits())
    assert time.process_time() - began < 2.0  # of this process alone: not the clock's
    assert result.value == " ".join([said] * 3), result
    assert heard <= {"\N{REPLACEMENT CHARACTER}" * count}


async def test_where_the_machine_had_no_time_a_solution_is_not_graded() -> None:
    class Starved:
        async def run_tests(self, *args: object) -> TestReport:
            raise OverloadError("this machine gave a run 0.1 of 20 s")

    problem = Problem("c/1", "mbpp", "code", "Write f.", hidden_tests=("assert f(1) == 1",))
    verdict = await grade_code(problem, "def f(x): return x", Starved(), RunLimits())  # type: ignore[arg-type]
    assert (verdict.correct, verdict.rule) == (None, "code.overload")
    assert issubclass(OverloadError, SandboxError)  # elsewhere: our failure, not the program's
