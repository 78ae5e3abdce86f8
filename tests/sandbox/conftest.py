from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import Sandbox

OPERATORS = ("Custom", "AnswerGenerate", "ScEnsemble")
SAMPLED = {"test_right_solutions_pass": "solution", "test_no_cheat_passes_any_test": "cheat"}
"""Tests of the split grader -> parameter of their cases."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All cases run in the jail, three in the other sandboxes, their rest in `make chaos`.

    The grader is one code in all three; what each of them stops is attacked in each.
    """
    for item in items:
        if isinstance(item, pytest.Function) and item.originalname in SAMPLED:
            case = item.callspec.indices[SAMPLED[item.originalname]]
            if item.callspec.params["sandbox"] != "jail" and case % 9:
                item.add_marker(pytest.mark.chaos)


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
