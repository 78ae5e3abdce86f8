from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

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


Opened = Callable[[str], Awaitable[Sandbox]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def opened() -> AsyncIterator[Opened]:
    """The sandbox of a kind: one for all tests of a process, since each run has a child of its own."""
    known: dict[str, Sandbox] = {}

    async def sandbox(kind: str) -> Sandbox:
        if kind not in known:
            known[kind] = await open_sandbox(kind, OPERATORS, max_children=4)  # type: ignore[arg-type]
        return known[kind]

    yield sandbox
    for one in known.values():
        await one.aclose()


@pytest_asyncio.fixture(
    scope="module", loop_scope="session", params=["jail", "landlock", "subprocess"]
)
async def sandbox(request: pytest.FixtureRequest, opened: Opened) -> Sandbox:
    return await opened(request.param)


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["jail", "landlock"])
async def jail(request: pytest.FixtureRequest, opened: Opened) -> Sandbox:
    return await opened(request.param)
