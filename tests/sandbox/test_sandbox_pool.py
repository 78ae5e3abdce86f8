"""Children that are made ready beforehand: each for one run, with the limits of that run."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from processes import processes_settled

from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.sandbox.forkserver import KEPT_READY, KINDS
from llm_as_judge.types import RunLimits, Sandbox, SandboxResult

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIMITS = RunLimits(wall_s=30.0)
STATE = """
import builtins, json, random, resource
seen = getattr(builtins, "seen", 0)
builtins.seen = seen + 1

def f():
    memory = resource.getrlimit(resource.RLIMIT_AS)
    cpu = resource.getrlimit(resource.RLIMIT_CPU)
    return json.dumps([seen, random.random(), memory, cpu])
"""
MEBIBYTE = 2**20


async def state(sandbox: Sandbox, limits: RunLimits = LIMITS) -> list[Any]:
    result = await sandbox.run_function(STATE, "f", [], limits)
    assert result.status == "ok", result
    state: list[Any] = json.loads(str(result.value))
    return state


async def test_each_run_has_a_process_of_its_own_and_its_own_chance(jail: Sandbox) -> None:
    states = [await state(jail) for _ in range(3 * KEPT_READY)]
    assert {seen for seen, *_ in states} == {0}
    assert len({chance for _, chance, *_ in states}) == len(states)


async def test_limits_are_those_of_the_run_whatever_ran_before(jail: Sandbox) -> None:
    small = replace(LIMITS, memory_bytes=200 * MEBIBYTE, cpu_s=2.0)
    for limits in (LIMITS, small, LIMITS, small, small, LIMITS):
        *_, memory, cpu = await state(jail, limits)
        assert memory == [limits.memory_bytes, limits.memory_bytes]
        assert cpu == [int(limits.cpu_s), int(limits.cpu_s) + 1]


@pytest.mark.slow
async def test_after_a_burst_as_many_wait_as_ran_at_once_and_of_few_kinds() -> None:
    sandbox = await open_sandbox("auto", max_children=12)
    try:

        async def run(limits: RunLimits) -> SandboxResult:
            source = "import time\ndef f(): time.sleep(0.3)"
            return await sandbox.run_function(source, "f", [], limits)

        # bubblewrap and the server: the probe leaves no one waiting
        alone = await processes_settled(sandbox, 2, 3)
        assert alone <= 3
        results = await asyncio.gather(*(run(LIMITS) for _ in range(12)))
        assert {result.status for result in results} == {"ok"}
        assert await processes_settled(sandbox, alone + 12) == alone + 12
        for extra in range(2 * KINDS):
            limits = replace(LIMITS, memory_bytes=(256 + extra) * MEBIBYTE)
            await asyncio.gather(run(limits), run(limits))
        wanted = alone + KINDS * KEPT_READY
        assert await processes_settled(sandbox, wanted) == wanted
    finally:
        await sandbox.aclose()


async def test_children_that_are_expected_wait_before_the_first_run() -> None:
    sandbox = await open_sandbox("auto", max_children=6, expected=LIMITS)
    try:
        assert await processes_settled(sandbox, 6 + 2, 6 + 3) in (6 + 2, 6 + 3)
    finally:
        await sandbox.aclose()
