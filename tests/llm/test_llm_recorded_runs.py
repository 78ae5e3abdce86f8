"""Runs that the clock cut off are recorded whole: a replay, which waits for nothing, repeats them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import recorded_run
from llm_as_judge.types import Execution, OperatorCall, Problem, Program, RunLimits

PROGRAM = Program("slow", "slow program", hash="h")
PROBLEM = Problem("gsm8k/train/1", "gsm8k", "math", "2 + 2?", ("4",), meta={"level": "1"})
LATE = Execution(
    "timeout", calls=(OperatorCall("Custom", 5, 2, 0.5, 3.0, 1, error="cut off"),), seconds=9.0
)


def kept(late: Execution) -> Execution:
    """As it was, its calls answered without asking."""
    calls = tuple(dataclasses.replace(call, cached=1) for call in late.calls)
    return dataclasses.replace(late, calls=calls)


class Run:
    """Comes to the given executions, one after the other."""

    def __init__(self, *executions: Execution) -> None:
        self.executions = list(executions)

    async def __call__(self) -> Execution:
        return self.executions.pop(0)


@pytest.mark.parametrize("late", [LATE, dataclasses.replace(LATE, status="call_limit")])
async def test_a_run_that_was_cut_off_is_given_again_as_it_was(
    tmp_path: Path, late: Execution
) -> None:
    limits, quick = RunLimits(wall_s=9.0), Execution("ok", "4")
    first = await recorded_run(Pool(tmp_path), PROGRAM, PROBLEM, limits, Run(late))
    again = await recorded_run(Pool(tmp_path), PROGRAM, PROBLEM, limits, Run(quick))
    assert (first, again) == (late, kept(late))


@pytest.mark.parametrize(
    ("program", "problem", "limits"),
    [
        (dataclasses.replace(PROGRAM, runnable="other"), PROBLEM, RunLimits(wall_s=9.0)),
        (PROGRAM, dataclasses.replace(PROBLEM, question="3 + 3?"), RunLimits(wall_s=9.0)),
        (PROGRAM, PROBLEM, RunLimits(wall_s=10.0)),
    ],
    ids=["program", "problem", "limits"],
)
async def test_another_run_is_not_taken_for_it(
    tmp_path: Path, program: Program, problem: Problem, limits: RunLimits
) -> None:
    recording, quick = Pool(tmp_path), Execution("ok", "4")
    await recorded_run(recording, PROGRAM, PROBLEM, RunLimits(wall_s=9.0), Run(LATE))
    assert await recorded_run(recording, program, problem, limits, Run(quick)) == quick


async def test_another_offset_is_another_run(tmp_path: Path) -> None:
    recording, quick = Pool(tmp_path), Execution("ok", "4")
    await recorded_run(recording, PROGRAM, PROBLEM, RunLimits(), Run(LATE), 1)
    assert await recorded_run(recording, PROGRAM, PROBLEM, RunLimits(), Run(quick)) == quick
    assert await recorded_run(recording, PROGRAM, PROBLEM, RunLimits(), Run(quick), 1) == kept(LATE)


async def test_what_ended_by_itself_is_run_again(tmp_path: Path) -> None:
    recording, limits = Pool(tmp_path), RunLimits()
    run = Run(Execution("ok", "4"), Execution("crashed", error="E"))
    for wanted in ("ok", "crashed"):
        assert (await recorded_run(recording, PROGRAM, PROBLEM, limits, run)).status == wanted
    assert len(recording) == 0
