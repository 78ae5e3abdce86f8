"""Answers the operator calls of one execution, and keeps their trace."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from llm_as_judge.llm.billing import billed_to
from llm_as_judge.llm.shared import among_known
from llm_as_judge.operators.base import (
    MAX_NUMBER,
    MAX_TEXT_CHARACTERS,
    MAX_TEXTS,
    Argument,
    CallContext,
    ExecutionContext,
    More,
    ReplyError,
    Result,
)
from llm_as_judge.operators.registry import EXECUTOR, OperatorEntry, Registry
from llm_as_judge.quoting import quoted
from llm_as_judge.runs.spans import operator_span
from llm_as_judge.types import DEFAULT_EXECUTOR, Json, OperatorCall


class OperatorService:
    """``ServeOperator`` of one execution: ``await service("AnswerGenerate", args, kwargs)``.

    The trace belongs to this object alone, so executions that run at the same time never mix.
    """

    def __init__(self, operators: Registry, context: ExecutionContext) -> None:
        self._operators = operators
        self._context = context
        self._begun: list[CallContext] = []

    @property
    def calls(self) -> tuple[OperatorCall, ...]:
        """The calls in the order they began; one that was cut off says so in ``error``."""
        return tuple(map(_in_trace, self._begun))

    async def __call__(self, name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
        """The operator's result: all keys, whatever the executor wrote. ``{"more": n}`` in its place
        asks the program for n more draws of its ways, see :mod:`sandbox.inside.workflow`.

        Raises:
            TypeError: unknown operator, unknown or missing argument (the program is wrong).
            EndpointError, SandboxError: our fault.
        """
        entry = self._operators.get(name)
        if entry is None:
            raise TypeError(f"there is no operator {name!r}")
        executor, kwargs = self._chosen(entry, kwargs)
        values = bind(entry, args, kwargs)
        call = CallContext(name, self._context, entry.prompts, entry.operator.drafts, executor)
        self._begun.append(call)
        try:
            with billed_to(operator=name), operator_span(name) as failed:
                result, error = await self._run(entry, call, values)
                if error:
                    failed("unusable_reply")
        finally:
            call.seconds = time.monotonic() - call.began
        call.error = error
        if isinstance(result, More):  # the call goes on, and is in the trace when it ends
            self._begun.remove(call)
            return {"more": result.draws}
        self._note_likelihood(call, result)
        return result

    def _note_likelihood(self, call: CallContext, result: Result) -> None:
        """What a later vote over the texts of ``result`` knows of the one reply that they came from."""
        if len(call.replies) == 1 and (of_reply := call.replies[0].logprobs) is not None:
            known = (f"{call.operator} {call.executor}", of_reply.likelihood)
            for text in {value.strip() for value in result.values() if isinstance(value, str)}:
                self._context.likelihoods.setdefault(text, []).append(known)

    def _chosen(self, entry: OperatorEntry, kwargs: dict[str, Json]) -> tuple[str, dict[str, Json]]:
        """(executor that the call names, its other arguments); empty = the default one.

        Raises:
            TypeError: there is no such executor: a program may have computed the name.
        """
        if not entry.asks or EXECUTOR not in kwargs:
            return "", kwargs
        others = self._context.settings.executors
        named = kwargs[EXECUTOR]
        if not isinstance(named, str) or named not in (DEFAULT_EXECUTOR, *others):
            why = among_known(str(named), others)
            raise TypeError(f"{entry.description.call}: there is no executor {why}")
        rest = {name: value for name, value in kwargs.items() if name != EXECUTOR}
        return "" if named == DEFAULT_EXECUTOR else named, rest

    async def _run(
        self,
        entry: OperatorEntry,
        call: CallContext,
        values: Mapping[str, Json],
    ) -> tuple[Result | More, str]:
        try:
            arguments = {a.name: _checked(a, values[a.name]) for a in entry.arguments}
            result = await entry.operator(call).run(**arguments)
            return result if isinstance(result, More) else {**entry.empty, **result}, ""
        except ReplyError as error:
            return {**entry.empty, **error.partial}, str(error)


def _in_trace(call: CallContext) -> OperatorCall:
    unknown = None in call.costs_usd
    return OperatorCall(
        operator=call.operator,
        prompt_tokens=sum(reply.usage.prompt_tokens for reply in call.replies),
        completion_tokens=sum(reply.usage.completion_tokens for reply in call.replies),
        cost_usd=None if unknown else sum(cost or 0 for cost in call.costs_usd),
        seconds=time.monotonic() - call.began if call.seconds is None else call.seconds,
        cost=call.cost,
        llm_calls=len(call.replies),
        cached=sum(reply.cached for reply in call.replies),
        error=call.error,
        notes=tuple(call.notes),
        executor=call.executor,
        logprobs=tuple(r.logprobs for r in call.replies if r.logprobs is not None),
    )


def bind(entry: OperatorEntry, args: list[Json], kwargs: Mapping[str, Json]) -> dict[str, Json]:
    """Positional and keyword arguments by name, defaults filled in.

    Raises:
        TypeError: too many, unknown, repeated or missing arguments; names the call's form.
    """
    form = entry.description.call
    names = [argument.name for argument in entry.arguments]
    if len(args) > len(names):
        raise TypeError(f"{form} takes {len(names)} arguments, {len(args)} were given")
    values = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{form} has no argument {name!r}")
        if name in values:
            raise TypeError(f"{form} got argument {name!r} twice")
        values[name] = value
    for argument in entry.arguments:
        if argument.name not in values:
            if argument.default is None:
                raise TypeError(f"{form} misses argument {argument.name!r}")
            values[argument.name] = argument.default
    return values


def _checked(argument: Argument, value: Json) -> str | int | list[str]:
    if argument.type == "text":
        return _text(argument.name, value)
    if argument.type == "number":
        return _number(argument.name, value)
    if isinstance(value, str | dict) or not isinstance(value, list):
        raise ReplyError(f"argument {argument.name}: a list of texts was wanted")
    if len(value) > MAX_TEXTS:
        raise ReplyError(f"argument {argument.name}: {len(value)} texts, at most {MAX_TEXTS}")
    items = map(_given, value) if argument.type == "ways" else value
    return [_text(f"{argument.name}[{i}]", item) for i, item in enumerate(items)]


def _given(value: Json) -> Json:
    """What a way gave: of a whole result its last text, which is the answer in all operators."""
    if not isinstance(value, dict):
        return value
    return next((held for held in reversed(value.values()) if isinstance(held, str)), None)


def _number(where: str, value: Json) -> int:
    if type(value) is not int or not 1 <= value <= MAX_NUMBER:
        raise ReplyError(f"argument {where}: a whole number from 1 to {MAX_NUMBER} was wanted")
    return value


def _text(where: str, value: Json) -> str:
    """Text as it is; numbers and truth values as Python prints them; None as nothing."""
    if isinstance(value, dict | list):
        raise ReplyError(
            f"argument {where}: a text was wanted, not {quoted(json.dumps(value), 60)}"
        )
    text = "" if value is None else str(value)
    if len(text) > MAX_TEXT_CHARACTERS:
        raise ReplyError(f"argument {where}: {len(text)} characters, at most {MAX_TEXT_CHARACTERS}")
    return text
