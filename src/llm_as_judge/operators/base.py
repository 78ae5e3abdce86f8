"""What an operator is: a class with a typed ``run``, and the room in which one call happens.

Operators run in the host; a sandboxed program only sends requests. An operator never raises for
what a model wrote: it raises :class:`ReplyError` inside ``run``, which becomes an error in the
trace and a result whose keys are all there, with empty values.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from llm_as_judge.errors import ContextError
from llm_as_judge.operators.prompts import Enhancement, OperatorPrompts
from llm_as_judge.types import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Json,
    Limits,
    Message,
    Problem,
    Sandbox,
)

__all__ = [
    "Argument",
    "CallRoom",
    "ExecutionRoom",
    "Operator",
    "OperatorSettings",
    "ReplyError",
    "Result",
    "snake_case",
]

Result = dict[str, Json]
ArgumentType = Literal["text", "texts"]

MAX_TEXT_CHARACTERS = 200_000
MAX_TEXTS = 64


class ReplyError(Exception):
    """The model's reply cannot be used. ``partial`` holds the result keys that are known."""

    def __init__(self, message: str, **partial: Json) -> None:
        super().__init__(message)
        self.partial = partial


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """How operators call the executor."""

    max_tokens: int = 1024
    """Tokens of one reply at most."""
    temperature: float = 0.0
    """Of the first call with a given prompt in an execution."""
    vote_temperature: float = 0.7
    """Of repeated calls with the same prompt: at 0 an ensemble would vote over copies."""
    top_p: float = 1.0
    """Of every call: the likeliest tokens with this much of the probability."""
    seed: int | None = None
    """Sent as ``seed + draw`` where given."""
    code_limits: Limits = field(default_factory=lambda: Limits(wall_s=10.0, cpu_s=5.0))
    """Of one run of code that the executor wrote (Programmer, Test)."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operator, read from the signature of ``run``."""

    name: str
    type: ArgumentType
    default: str | None = None
    """None = required."""

    @property
    def required(self) -> bool:
        return self.default is None


class ExecutionRoom:
    """What the operator calls of one execution share: never used by two executions.

    Args:
        executor: the frozen model.
        enhancements: layer 2, see :mod:`llm_as_judge.operators.prompts`.
    """

    def __init__(
        self,
        executor: ChatModel,
        sandbox: Sandbox,
        problem: Problem,
        settings: OperatorSettings,
        enhancements: tuple[Enhancement, ...] = (),
    ) -> None:
        self.executor = executor
        self.sandbox = sandbox
        self.problem = problem
        self.settings = settings
        self.enhancements = enhancements
        self._draws: Counter[str] = Counter()

    def request(self, prompt: str) -> ChatRequest:
        """The request for ``prompt``; its ``draw`` counts equal prompts of this execution."""
        settings = self.settings
        draw = self._draws[prompt]
        self._draws[prompt] += 1
        repeated = max(settings.temperature, settings.vote_temperature)
        return ChatRequest(
            messages=(Message("user", prompt),),
            max_tokens=settings.max_tokens,
            temperature=repeated if draw else settings.temperature,
            top_p=settings.top_p,
            seed=None if settings.seed is None else settings.seed + draw,
            draw=draw,
        )


@dataclass(slots=True)
class CallRoom:
    """One operator call: asks the executor, and counts what that used."""

    operator: str
    execution: ExecutionRoom
    prompts: OperatorPrompts
    replies: list[ChatReply] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def problem(self) -> Problem:
        return self.execution.problem

    @property
    def sandbox(self) -> Sandbox:
        return self.execution.sandbox

    @property
    def code_limits(self) -> Limits:
        return self.execution.settings.code_limits

    async def ask(self, prompt_name: str, values: Mapping[str, str]) -> ChatReply:
        """The executor's reply to the named prompt of this operator.

        Raises:
            ReplyError: the reply is empty, or the text is too long for the executor's context: the
                doing of the program, which built it.
            EndpointError: the executor gave none; our fault, it passes through.
        """
        execution = self.execution
        prompt, applied = self.prompts.render(
            prompt_name,
            values,
            enhancements=execution.enhancements,
            domain=execution.problem.domain,
            executor=execution.executor.name,
        )
        for name in applied:
            self.note(f"enhanced: {name}")
        try:
            reply = await execution.executor.chat(execution.request(prompt))
        except ContextError as error:
            raise ReplyError(f"the text is too long for the executor: {error}") from None
        self.replies.append(reply)
        text = without_thinking(reply.text)
        if not text:
            raise ReplyError("the reply is empty")
        return replace(reply, text=text)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


class Operator(ABC):
    """Base of all operators. A subclass states its contract as class attributes and in ``run``.

    ``run`` takes ``str`` and ``list[str]`` arguments by name or position; an argument with a
    default is optional.
    """

    empty: ClassVar[Mapping[str, Json]]
    """Result keys, each with its empty value: ``""`` for text, False for a boolean."""
    worst_case_calls: ClassVar[int] = 1
    """Greatest number of executor calls of one operator call."""
    results_wanted: ClassVar[tuple[str, ...]] = ()
    """Arguments that must hold what an operator produced: an ensemble over constants is none."""
    prompt_names: ClassVar[tuple[str, ...]] = ()
    prompt_values: ClassVar[tuple[str, ...]] = ()
    """Placeholders of the prompts besides the arguments."""

    def __init__(self, room: CallRoom) -> None:
        self.room = room

    @abstractmethod
    async def run(self, *args: Any, **kwargs: Any) -> Result: ...

    @classmethod
    def arguments(cls) -> tuple[Argument, ...]:
        """Arguments in order, from the signature of ``run``.

        Raises:
            TypeError: an annotation other than ``str`` or ``list[str]``.
        """
        parameters = list(inspect.signature(cls.run, eval_str=True).parameters.values())[1:]
        return tuple(_argument(cls.__name__, parameter) for parameter in parameters)


def _argument(operator: str, parameter: inspect.Parameter) -> Argument:
    types: dict[Any, ArgumentType] = {str: "text", list[str]: "texts"}
    kind = types.get(parameter.annotation)
    if kind is None or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
        raise TypeError(
            f"{operator}.run: argument {parameter.name!r} must be annotated str or list[str]"
        )
    default = None if parameter.default is parameter.empty else str(parameter.default)
    return Argument(parameter.name, kind, default)


def snake_case(class_name: str) -> str:
    """``AnswerGenerate`` -> ``answer_generate``: the name a program calls the operator by."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()


def without_thinking(text: str) -> str:
    """The reply without a leading ``<think>`` block, which reasoning models may write."""
    text = text.strip()
    if text.startswith("<think>"):
        _, closed, rest = text.partition("</think>")
        return rest.strip() if closed else ""
    return text
