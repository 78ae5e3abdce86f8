from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import Sandbox

OPERATORS = ("Custom", "AnswerGenerate", "ScEnsemble")


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=["jail", "landlock", "subprocess"]
)
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    opened = await open_sandbox(request.param, OPERATORS, max_children=4)
    yield opened
    await opened.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["jail", "landlock"])
async def jail(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    opened = await open_sandbox(request.param, ["Custom"], max_children=4)
    yield opened
    await opened.aclose()
