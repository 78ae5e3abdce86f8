"""One problem, every stage shown as it ends: prompt, reply, program, calls, execution, verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llm_as_judge.assembly import Workbench
from llm_as_judge.llm.billing import ChatLayer
from llm_as_judge.solving.writers import ProgramWriter
from llm_as_judge.types import ChatModel, ChatReply, ChatRequest, Execution, Problem

Show = Callable[[str, Any], None]
"""``show(stage, value)``; stages: prompt, reply, program, call (one each), execution, verdict."""


async def solve(
    bench: Workbench, writer: ProgramWriter, problem: Problem, show: Show, *, graded: bool
) -> Execution:
    """Solve ``problem`` with a program of ``writer``; ``graded``: it has a gold answer, so show a verdict, too."""
    written = await writer.write(problem)
    if written.prompt:
        show("prompt", written.prompt)
        show("reply", written.reply)
    show("program", written.program)
    execution = await bench.run(written.program, problem, ShownChat(bench.executor, show))
    show("execution", execution)
    if graded and execution.status == "ok":
        show("verdict", await bench.judge.grade(problem, execution.answer))
    return execution


class ShownChat(ChatLayer):
    """ChatModel that shows each call as it ends."""

    def __init__(self, model: ChatModel, show: Show) -> None:
        super().__init__(model)
        self._show = show

    async def chat(self, request: ChatRequest) -> ChatReply:
        reply = await self._model.chat(request)
        told = {
            "asked": request.messages[-1].content,
            "replied": reply.text,
            "prompt_tokens": reply.usage.prompt_tokens,
            "completion_tokens": reply.usage.completion_tokens,
            "seconds": round(reply.seconds, 3),
        }
        named = {"executor": request.executor} if request.executor else {}
        self._show("call", {**named, **told})
        return reply
