"""Operators over text: one reply each, read into named fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from llm_as_judge.operators.base import Operator, ReplyError, Result
from llm_as_judge.operators.replies import boolean, boxed, fields, last_inline
from llm_as_judge.types import ChatReply, Json


class Custom(Operator):
    """The executor's reply to an instruction of the program's own."""

    empty: ClassVar[Mapping[str, Json]] = {"response": ""}
    drafts = True
    prompt_names = ("answer",)

    async def run(self, input: str, instruction: str) -> Result:  # noqa: A002
        reply = await self.context.ask("answer", {"input": input, "instruction": instruction})
        return {"response": reply.text}


class AnswerGenerate(Operator):
    """Short reasoning, then an answer."""

    empty: ClassVar[Mapping[str, Json]] = {"thought": "", "answer": ""}
    drafts = True
    prompt_names = ("answer",)

    async def run(self, input: str) -> Result:  # noqa: A002
        reply = await self.context.ask("answer", {"input": input})
        thought, answer = _thought_and_answer(reply)
        if not answer:
            raise ReplyError("no answer in the reply", thought=thought)
        return {"thought": thought, "answer": answer}


def _thought_and_answer(reply: ChatReply) -> tuple[str, str]:
    found = fields(reply.text, ["thought", "answer"])
    answer = found.get("answer") or last_inline(reply.text, "answer") or boxed(reply.text) or ""
    lines = reply.text.splitlines()
    if not answer and "answer" not in found and reply.finish_reason != "length":
        # A reply that ended by itself states its answer last; one cut off does not.
        answer = lines[-1].strip(" *#")
    thought = found.get("thought") or reply.text.partition("Answer:")[0].strip()
    return thought, answer


class Review(Operator):
    """Is the solution right, and what should change?"""

    empty: ClassVar[Mapping[str, Json]] = {"review_result": False, "feedback": ""}
    results_wanted = ("solution",)
    prompt_names = ("review",)

    async def run(self, problem: str, solution: str) -> Result:
        reply = await self.context.ask("review", {"problem": problem, "solution": solution})
        found = fields(reply.text, ["review_result", "result", "verdict", "feedback"])
        stated = next(
            (found[k] for k in ("review_result", "result", "verdict") if k in found), None
        )
        verdict = boolean(reply.text if stated is None else stated)
        feedback = found.get("feedback", "")
        if verdict is None:
            raise ReplyError("the review says neither true nor false", feedback=feedback)
        return {"review_result": verdict, "feedback": feedback or reply.text}


class Revise(Operator):
    """The solution, mended by the feedback."""

    empty: ClassVar[Mapping[str, Json]] = {"solution": ""}
    results_wanted = ("solution",)
    prompt_names = ("revise",)

    async def run(self, problem: str, solution: str, feedback: str) -> Result:
        values = {"problem": problem, "solution": solution, "feedback": feedback}
        return {"solution": _solution(await self.context.ask("revise", values))}


class Format(Operator):
    """The bare final answer of a longer solution."""

    empty: ClassVar[Mapping[str, Json]] = {"solution": ""}
    results_wanted = ("solution",)
    prompt_names = ("format",)

    async def run(self, problem: str, solution: str) -> Result:
        reply = await self.context.ask("format", {"problem": problem, "solution": solution})
        return {"solution": _solution(reply)}


def _solution(reply: ChatReply) -> str:
    found = fields(reply.text, ["solution", "answer"])
    solution = found.get("solution") or found.get("answer") or reply.text
    if not solution.strip():
        raise ReplyError("no solution in the reply")
    return solution.strip()
