"""An executor that knows the answers, and a workbench around it with real sandbox and judge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from llm_as_judge.assembly import Workbench, open_workbench
from llm_as_judge.config import Config
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.evaluation.baselines import workflows_dir
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.types import ChatRequest, Problem

Answer = Callable[[Problem], str]


def sample_problems(name: str, count: int) -> list[Problem]:
    """The first rows of the built-in sample."""
    from importlib import resources
    from pathlib import Path

    dataset = CATALOG[name]
    root = Path(str(resources.files("llm_as_judge.data") / "sample"))
    rows = list(dataset.rows(dataset.find(root)))[:count]
    return [dataset.convert(row, dataset.split) for row in rows]


def gold(problem: Problem) -> str:
    if problem.domain == "code":
        return f"```python\n{problem.meta['reference']}\n```"
    return problem.answers[0] if problem.answers else "unanswerable"


def wrong(problem: Problem) -> str:
    if problem.domain == "code":
        return f"```python\ndef {problem.entry_point}(*values):\n    return 'zebra'\n```"
    return "-98765.4321" if problem.domain == "math" else "seventeen purple zebras"


def empty(problem: Problem) -> str:
    return ""


def oracle(problems: Sequence[Problem], answer: Answer) -> ScriptedChat:
    """Answers by the problem whose question a prompt holds; keeps every request."""

    def reply(request: ChatRequest) -> str:
        asked = request.messages[-1].content
        of = max((p for p in problems if p.question in asked), key=lambda p: len(p.question))
        return answer(of)

    return ScriptedChat(reply, name="oracle")


def bench_with(chat: ScriptedChat) -> Callable[[Config], object]:
    @asynccontextmanager
    async def opened(config: Config) -> AsyncIterator[Workbench]:
        async with open_workbench(config) as bench:
            yield Workbench(config, chat, bench.judge, bench.work, bench.ledger)

    return opened


def workflow_texts(name: str) -> dict[str, str]:
    return {path.stem: path.read_text() for path in (workflows_dir() / name).glob("*.py")}
