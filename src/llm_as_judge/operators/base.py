"""Base of the operators: a class with a typed ``run``, and the context of one call.

Operators run in the host; a sandboxed program only sends requests. An operator never raises for
what a model wrote: it raises :class:`ReplyError` inside ``run``, which becomes an error in the
trace and a result whose keys are all there, with empty values.
"""

from __future__ import annotations

import inspect
import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NewType

from llm_as_judge.errors import RefusedRequestError
from llm_as_judge.llm.billing import Dollars
from llm_as_judge.operators.prompts import Enhancement, OperatorPrompts
from llm_as_judge.operators.stopping import StopTable, mean_by_source
from llm_as_judge.thoughts import REPLY_FIELDS, without_thoughts
from llm_as_judge.types import (
    PROMPT_PRICE,
    ChatModel,
    ChatReply,
    ChatRequest,
    Equality,
    Json,
    Message,
    Problem,
    RunLimits,
    Sandbox,
    TestReport,
)

Result = dict[str, Json]
ArgumentType = Literal["text", "texts", "number", "ways"]
Way = NewType("Way", str)
"""In a program a function without arguments that gives a text or a result; here what one gave."""

MAX_TEXT_CHARACTERS = 200_000
MAX_TEXTS = 64
MAX_NUMBER = 16
"""Greatest number that an argument may be, and draws that one call can ask for."""
VOTE_TEMPERATURE = 0.7
"""Of repeated calls with a prompt that is first asked at 0: an ensemble would vote over copies."""
MAX_TESTED = 32
"""Different solutions whose visible tests are run for votes of one execution."""


class ReplyError(Exception):
    """The model's reply cannot be used. ``partial`` holds the result keys that are known."""

    def __init__(self, message: str, **partial: Json) -> None:
        super().__init__(message)
        self.partial = partial


class CallLimitError(Exception):
    """The program wanted one executor call more than a run may make: it ends the run."""


@dataclass(frozen=True, slots=True)
class More:
    """Instead of a result: the program draws so many times more and calls again."""

    draws: int


@dataclass(frozen=True, slots=True)
class ExecutorSettings:
    """How one executor is asked."""

    model: str = ""
    """Its name, which operator hints may depend on; empty = that of the default executor."""
    temperature: float = 0.0
    """Of operators that draft."""
    steady_temperature: float = 0.0
    """Of the others, which judge, mend or shorten what there is."""
    top_p: float = 1.0
    """Of every call: the likeliest tokens with this much of the probability."""
    prompt_price: float = PROMPT_PRICE
    """Of a prompt token, in written tokens."""
    written_price: float = 1.0
    """Of a written token, in those of the default executor."""


@dataclass(frozen=True, slots=True)
class StopSettings:
    """How ``until_worth`` decides."""

    table: StopTable
    price: float
    """What 1,000 written tokens take from a right answer."""
    round: int = 1
    """Draws asked for at once: more take less time and are decided on less often."""
    fixed: bool = False
    """Whether the price holds whatever budget a prompt names."""


@dataclass(frozen=True, slots=True)
class OperatorSettings(ExecutorSettings):
    """How operators call the default executor, and the others."""

    max_tokens: int = 1024
    """Tokens of one reply at most."""
    max_tokens_of: Mapping[str, int] = field(default_factory=dict)
    """Data set -> the same, for sets whose solutions are longer."""
    max_calls: int | None = None
    """Executor calls of one execution at most; None = no limit."""
    seed: int | None = None
    """Of the first draw; each further one has the next."""
    executors: Mapping[str, ExecutorSettings] = field(default_factory=dict)
    """Those beside the default one, by the names that programs call them."""
    stop: StopSettings | None = None
    """None = there is no stop table, and ``until_worth`` cannot be called."""
    code_limits: RunLimits = field(default_factory=lambda: RunLimits(wall_s=10.0, cpu_s=5.0))
    """Of one run of code that the executor wrote (Programmer, Test)."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operator, read from the signature of ``run``."""

    name: str
    type: ArgumentType
    default: str | int | None = None
    """None = required."""

    @property
    def required(self) -> bool:
        return self.default is None


@dataclass(slots=True, eq=False)
class ExecutionContext:
    """What the operator calls of one execution share: never used by two executions."""

    executor: ChatModel
    sandbox: Sandbox
    problem: Problem
    settings: OperatorSettings
    enhancements: tuple[Enhancement, ...] = ()
    """Operator hints, see :mod:`llm_as_judge.operators.prompts`."""
    equality: Equality | None = None
    """Which answers are the same; None = those spelled alike."""
    dollars: Dollars = field(default_factory=Dollars)
    spent: float = 0.0
    """Of all calls so far, in written tokens of the default executor."""
    likelihoods: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    """Text that one reply gave -> of each such reply who gave it, and its :attr:`ReplyLogProbs.likelihood`."""
    _draws: Counter[tuple[str, str]] = field(default_factory=Counter)
    _reports: dict[str, TestReport] = field(default_factory=dict)

    async def classes(self, answers: Sequence[str]) -> list[int]:
        """For each answer the number of its class; the gold is not shown."""
        asked = replace(self.problem, answers=(), hidden_tests=())
        return await (self.equality or spelled_alike)(asked, answers)

    def likelihood(self, texts: Sequence[str]) -> dict[str, float]:
        """Who gave one of ``texts`` -> mean over these replies; empty where it is not known."""
        return mean_by_source(one for text in set(texts) for one in self.likelihoods.get(text, ()))

    async def tested(self, code: str) -> TestReport:
        """The visible tests on ``code``, run once for equal code.

        Raises:
            ReplyError: too many solutions were tested.
        """
        if code not in self._reports:
            if len(self._reports) == MAX_TESTED:
                raise ReplyError(f"{MAX_TESTED} solutions were tested, the most of one run")
            problem = self.problem
            self._reports[code] = await self.sandbox.run_tests(
                code,
                problem.entry_point,
                problem.visible_tests,
                self.settings.code_limits,
                problem.setup_code,
            )
        return self._reports[code]

    def asking(self, executor: str) -> ExecutorSettings:
        """How the executor of this name is asked; empty = the default one."""
        return self.settings.executors[executor] if executor else self.settings

    def request(self, prompt: str, *, drafts: bool = False, executor: str = "") -> ChatRequest:
        """The request for ``prompt``; its ``draw`` counts equal prompts of this execution to the same
        executor.

        Args:
            drafts: for an operator that drafts.
            executor: which one is asked; empty = the default one.
        Raises:
            CallLimitError: the execution has made all the calls that it may make.
        """
        settings = self.settings
        if settings.max_calls is not None and self._draws.total() >= settings.max_calls:
            raise CallLimitError(
                f"executor call {settings.max_calls + 1} of a run that may make {settings.max_calls} "
                "(workflow.max_calls)"
            )
        draw = self._draws[executor, prompt]
        self._draws[executor, prompt] += 1
        asking = self.asking(executor)
        first = asking.temperature if drafts else asking.steady_temperature
        return ChatRequest(
            messages=(Message("user", prompt),),
            max_tokens=settings.max_tokens_of.get(self.problem.dataset, settings.max_tokens),
            # Where the first draw is a sample, all are samples of one distribution: which of them
            # comes first is then a matter of the offset alone.
            temperature=first if first or not draw else VOTE_TEMPERATURE,
            top_p=asking.top_p,
            seed=settings.seed,
            executor=executor,
        ).later(draw)


@dataclass(slots=True, eq=False)
class CallContext:
    """One operator call: asks the executor, and counts what that used."""

    operator: str
    execution: ExecutionContext
    prompts: OperatorPrompts
    drafts: bool = False
    """Whether the operator drafts."""
    executor: str = ""
    """Which one it asks; empty = the default one."""
    replies: list[ChatReply] = field(default_factory=list)
    costs_usd: list[float | None] = field(default_factory=list)
    """Of the replies; a prompt that several share counts at the first of them in the execution."""
    cost: float = 0.0
    """Of the replies, in written tokens of the default executor; a prompt counts at the first call with it in the execution."""
    notes: list[str] = field(default_factory=list)
    error: str = "cut off"
    """Why there is no result; empty = there is one."""
    began: float = field(default_factory=time.monotonic)
    seconds: float | None = None
    """None: it goes on."""

    @property
    def problem(self) -> Problem:
        return self.execution.problem

    @property
    def sandbox(self) -> Sandbox:
        return self.execution.sandbox

    async def ask(self, prompt_name: str, values: Mapping[str, str]) -> ChatReply:
        """The executor's reply to the named prompt of this operator.

        Raises:
            ReplyError: the reply is empty; or the text is too long for the executor's context, or
                filtered: the doing of the program, which built it.
            EndpointError: the executor gave none; our fault, it passes through.
            CallLimitError: it was one call too many; it ends the run.
        """
        execution, asking = self.execution, self.execution.asking(self.executor)
        prompt, applied = self.prompts.render(
            prompt_name,
            values,
            enhancements=execution.enhancements,
            domain=execution.problem.domain,
            question=execution.problem.question,
            executor=asking.model or execution.executor.name,
        )
        for name in applied:
            self.note(f"enhanced: {name}")
        request = execution.request(prompt, drafts=self.drafts, executor=self.executor)
        try:
            reply = await execution.executor.chat(request)
        except RefusedRequestError as error:
            raise ReplyError(f"the executor does not take this request: {error}") from None
        self._count(request, reply, asking)
        text = without_thoughts(reply.text, fields=REPLY_FIELDS).strip()
        if not text:
            raise ReplyError("the reply is empty")
        return replace(reply, text=text)

    def _count(self, request: ChatRequest, reply: ChatReply, asking: ExecutorSettings) -> None:
        self.replies.append(reply)
        self.costs_usd.append(self.execution.dollars.of(request, reply))
        tokens = float(reply.usage.completion_tokens)
        if request.draw == 0:
            tokens += reply.usage.prompt_tokens * asking.prompt_price
        self.cost += tokens * asking.written_price
        self.execution.spent += tokens * asking.written_price

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


class Operator(ABC):
    """Base of all operators. A subclass states its contract as class attributes and in ``run``.

    ``run`` takes ``str``, ``list[str]`` and ``int`` arguments by name or position; an argument with
    a default is optional. One of ``list[Way]`` holds what a program's functions have given so far. The
    argument ``executor`` of an operator that asks is not among them: its context has it.
    """

    empty: ClassVar[Mapping[str, Json]]
    """Result keys, each with its empty value: ``""`` for text, False for a boolean."""
    worst_case_calls: ClassVar[int] = 1
    """Greatest number of executor calls of one operator call; the calls of its ways are theirs."""
    expected_calls: ClassVar[float | None] = None
    """Of one operator call, if it stops at each point where it may with an even chance; None = as
    many as in the worst case."""
    drafts: ClassVar[bool] = False
    """Whether it writes a solution of its own, so that another draw may be another solution: it asks
    at ``executor.temperature``, the others at 0."""
    results_wanted: ClassVar[tuple[str, ...]] = ()
    """Arguments that must hold what an operator produced: an ensemble over constants is none."""
    answers: ClassVar[bool] = True
    """Whether its result is one of the executor's; False: a part of what it was given."""
    wants_stop_table: ClassVar[bool] = False
    """Whether it can be called only where there is a stop table: see :attr:`OperatorSettings.stop`."""
    prompt_names: ClassVar[tuple[str, ...]] = ()
    prompt_values: ClassVar[tuple[str, ...]] = ()
    """Placeholders of the prompts besides the arguments."""

    def __init__(self, context: CallContext) -> None:
        self.context = context

    @abstractmethod
    async def run(self, *args: Any, **kwargs: Any) -> Result | More: ...

    @classmethod
    def calls_at_most(cls, numbers: Mapping[str, int], ways: Sequence[float]) -> float:
        """Executor calls of one operator call in the worst case.

        Args:
            numbers: the greatest value of each argument that is a number.
            ways: calls of one draw in each way, at most.
        """
        return cls.worst_case_calls

    @classmethod
    def calls_expected(cls, numbers: Mapping[str, int], ways: Sequence[float]) -> float:
        """The same as ``expected_calls`` counts."""
        return cls.worst_case_calls if cls.expected_calls is None else cls.expected_calls

    @classmethod
    def arguments(cls) -> tuple[Argument, ...]:
        """Arguments in order, from the signature of ``run``.

        Raises:
            TypeError: an annotation other than ``str``, ``list[str]``, ``int`` or ``list[Way]``.
        """
        parameters = list(inspect.signature(cls.run, eval_str=True).parameters.values())[1:]
        return tuple(_argument(cls.__name__, parameter) for parameter in parameters)


_TYPES: dict[Any, ArgumentType] = {
    str: "text",
    list[str]: "texts",
    int: "number",
    list[Way]: "ways",
}


def _argument(operator: str, parameter: inspect.Parameter) -> Argument:
    kind = _TYPES.get(parameter.annotation)
    if kind is None or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
        raise TypeError(
            f"{operator}.run: argument {parameter.name!r} must be annotated str, list[str], int "
            "or list[Way]"
        )
    default = None if parameter.default is parameter.empty else parameter.default
    if default is not None and kind != "number":
        default = str(default)
    return Argument(parameter.name, kind, default)


async def spelled_alike(problem: Problem, answers: Sequence[str]) -> list[int]:
    """``Equality`` by spelling, white space aside."""
    seen: dict[str, int] = {}
    return [seen.setdefault(" ".join(answer.split()), len(seen)) for answer in answers]


def tries(least: int, most: int) -> float:
    """Mean number of tries of which ``least`` are made, and each further one with an even chance."""
    return least + sum(0.5**n for n in range(1, most - least + 1))


def snake_case(class_name: str) -> str:
    """``AnswerGenerate`` -> ``answer_generate``: the name a program calls the operator by."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()
