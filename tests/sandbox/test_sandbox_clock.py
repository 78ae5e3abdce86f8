"""A run's time is its own: what stalls the host or fills the machine ends no run and fails none."""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass

import pytest

from llm_as_judge.errors import OverloadError, SandboxError
from llm_as_judge.grading.rules import grade_code
from llm_as_judge.sandbox.clock import PATIENCE, Deadline, OwnTime
from llm_as_judge.sandbox.inside.frames import MAX_CALL
from llm_as_judge.sandbox.launch import Exit
from llm_as_judge.types import Json, Problem, RunLimits, Sandbox, TestReport

pytestmark = pytest.mark.asyncio(loop_scope="module")


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


async def kept(seconds: float, *children: Process) -> bool:
    """Whether a run that never answers is waited for to its end."""
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    own = OwnTime(seconds)
    own.start()
    try:
        return await Deadline(seconds, children).kept(own, never)
    finally:
        own.stop()


async def test_a_run_that_waits_by_itself_is_over_at_its_limit() -> None:
    process = Process([0.001])
    assert not await kept(0.2, process)
    assert process.looks == 1


async def test_a_run_is_over_when_it_has_used_its_time_on_a_processor_in_all_its_processes() -> (
    None
):
    solution, tests = Process([0.05, 0.11]), Process([0.05, 0.1])
    assert not await kept(0.2, solution, tests)
    assert solution.looks == 2


async def test_a_run_that_is_given_little_time_is_waited_for_and_then_not_blamed() -> None:
    process = Process([0.01 + 0.001 * n for n in range(200)])
    with pytest.raises(OverloadError, match=r"this machine gave a run 0\.\d of 0.2 s of processor"):
        await kept(0.2, process)
    assert process.looks > 8 * (PATIENCE - 1)


async def test_a_run_whose_process_has_ended_is_heard_before_it_is_judged() -> None:
    loop = asyncio.get_running_loop()
    own, said = OwnTime(0.1), loop.create_future()
    own.start()
    loop.call_later(0.15, said.set_result, None)
    assert await Deadline(0.1, [Process([None])]).kept(own, said)
    own.stop()


async def test_what_stalls_the_host_is_no_time_of_a_run() -> None:
    own = OwnTime(0.4)
    own.start()
    time.sleep(1.0)  # noqa: ASYNC251 - as a neighbor's message would
    await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    assert not own.over.done()
    await own.over
    own.stop()


# ---------------------------------------------------------------------------------- in the sandbox
async def test_a_right_solution_passes_beside_what_stalls_the_host(jail: Sandbox) -> None:
    grading = asyncio.ensure_future(
        jail.run_tests(
            "def f(x):\n    return x + 1", "f", ("assert f(1) == 2",) * 9, RunLimits(wall_s=1.0)
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
