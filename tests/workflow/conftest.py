from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from llm_as_judge.errors import SandboxError
from llm_as_judge.operators import registry
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import Sandbox


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def sandbox() -> AsyncIterator[Sandbox]:
    """One for all tests of a process: each run has a child of its own."""
    try:
        opened = await open_sandbox("auto", list(registry()))
    except SandboxError:  # this machine has no isolation; the programs are our own
        opened = await open_sandbox("subprocess", list(registry()))
    yield opened
    await opened.aclose()
