from collections.abc import AsyncIterator

import pytest_asyncio

from llm_as_judge.judge.cascade import Judge


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rules() -> AsyncIterator[Judge]:
    judge = Judge()
    yield judge
    await judge.aclose()
