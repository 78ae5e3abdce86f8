from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import RunLimits, Sandbox


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = await open_sandbox("auto", max_children=4)
    yield opened
    await opened.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge(sandbox: Sandbox) -> AsyncIterator[Judge]:
    """The rules, with a sandbox for code."""
    judge = Judge(sandbox, test_limits=RunLimits(wall_s=20.0, cpu_s=5.0))
    yield judge
    await judge.aclose()
