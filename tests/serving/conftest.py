from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from llm_as_judge.assembly import Workbench, open_workbench
from llm_as_judge.config import Config


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench() -> AsyncIterator[Workbench]:
    config = Config.model_validate(
        {
            "executor": {"model": "scripted"},
            "judge": {"model": "none"},
            "workflow": {"concurrency": 4},
        }
    )
    async with open_workbench(config) as opened:
        yield opened
