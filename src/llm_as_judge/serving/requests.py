"""A request in the form of the OpenAI API -> what the solver is asked; all of it untrusted.

What we cannot honor is refused with a sentence, not ignored: a client that asks for tools or three
choices must not believe it got them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llm_as_judge.refused import dotted, place_and_reason
from llm_as_judge.types import DOMAINS, Budget, Domain, Message, Problem


class RequestError(Exception):
    """What the sender must mend: an HTTP status, a sentence, and OpenAI's name of the kind."""

    def __init__(self, status: int, message: str, code: str = "", param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param

    def body(self) -> dict[str, Any]:
        kinds = {401: "authentication_error", 429: "rate_limit_error"}
        other = "server_error" if self.status >= 500 else "invalid_request_error"
        told = {"message": self.message, "type": kinds.get(self.status, other)}
        return {"error": {**told, "param": self.param, "code": self.code or None}}


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Bounds of one request; a request may ask for less, never for more."""

    calls: int = 32
    """Executor calls of its program."""
    tokens: int = 100_000
    """Prompt and completion tokens of those calls."""
    seconds: float = 180.0
    """From the program's first line to its answer."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A checked request."""

    model: str
    messages: tuple[Message, ...]
    problem: Problem
    limits: RequestLimits
    stream: bool = False
    include_usage: bool = False
    reply_tokens: int | None = None
    """Of each executor reply at most; None = as configured."""
    temperature: float | None = None
    """Of the policy that writes the program; None = as configured."""
    seed: int | None = None
    stop: tuple[str, ...] = ()
    budget: Budget | None = None
    """That the policy is told; None: none."""


class _Part(BaseModel):
    type: Literal["text"]
    text: str


class _Message(BaseModel):
    model_config = ConfigDict(extra="allow")
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]

    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class _StreamOptions(BaseModel):
    include_usage: bool = False


class _Workflow(BaseModel):
    model_config = ConfigDict(extra="forbid")
    domain: Domain | None = None
    budget: Budget | None = None
    entry_point: str = Field("", max_length=200)
    max_calls: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=1)
    timeout_s: float | None = Field(None, gt=0, allow_inf_nan=False)


class _Body(BaseModel):
    model_config = ConfigDict(extra="allow")  # of what is extra, the known-but-refused is refused
    model: str = Field(max_length=200)
    messages: list[_Message] = Field(min_length=1, max_length=256)
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    n: int | None = 1
    workflow: _Workflow | None = None


_REFUSED = {
    "tools": "tools are not served: operators are the tools here",
    "functions": "functions are not served: operators are the tools here",
    "logprobs": "log-probs of an answer that several calls made do not exist",
    "audio": "only text is served",
    "prediction": "predicted outputs are not served",
}
"""Field -> why it is refused when it asks for something."""


def read_ask(
    body: object,
    served: str,
    default_domain: Domain,
    limits: RequestLimits,
    budget: Budget | None = None,
) -> Ask:
    """The request of a parsed JSON body.

    Args:
        served: name of the model here; ``NAME:math`` and the like choose the domain.
        limits: the greatest that a request may ask for.
        budget: of a request that names none; None = no policy here is told one.
    Raises:
        RequestError: 400 what is wrong with it, 404 another model.
    """
    try:
        data = _Body.model_validate(body)
    except ValidationError as error:
        place, reason = place_and_reason(error)
        first = error.errors()[0]
        field = dotted(first["loc"])
        if first["type"] == "extra_forbidden":
            reason = f"no such key (known: {', '.join(_Workflow.model_fields)})"
        raise RequestError(400, f"{place or 'body'}: {reason}", param=field or None) from None
    _refuse(data)
    wanted = data.workflow or _Workflow()
    domain = _domain(data.model, served, wanted.domain, default_domain)
    if wanted.budget is not None and budget is None:
        raise RequestError(
            400,
            "workflow.budget: what is served here is told no budget (a program file, or a policy under "
            "another reward.scheme than priced)",
            param="workflow.budget",
        )
    messages = tuple(_message(message) for message in data.messages)
    if messages[-1].role != "user" or not messages[-1].content.strip():
        raise RequestError(400, "messages: the last must be the user's and not empty")
    stop = [data.stop] if isinstance(data.stop, str) else data.stop or []
    asked = transcript(messages)
    problem = Problem("request/problem/0", "custom", domain, asked, entry_point=wanted.entry_point)
    return Ask(
        model=data.model,
        messages=messages,
        problem=problem,
        limits=RequestLimits(
            min(wanted.max_calls or limits.calls, limits.calls),
            min(wanted.max_tokens or limits.tokens, limits.tokens),
            min(wanted.timeout_s or limits.seconds, limits.seconds),
        ),
        stream=bool(data.stream),
        include_usage=bool(data.stream_options and data.stream_options.include_usage),
        reply_tokens=data.max_completion_tokens or data.max_tokens,
        temperature=data.temperature,
        seed=data.seed,
        stop=tuple(text for text in stop if text),
        budget=wanted.budget or budget,
    )


def transcript(messages: tuple[Message, ...]) -> str:
    """What a program receives as ``problem``: a lone question as it is, a conversation with roles."""
    if len(messages) == 1:
        return messages[0].content
    *before, last = messages
    told = "\n\n".join(f"{message.role}: {message.content}" for message in before)
    return f"{told}\n\nuser: {last.content}"


def _refuse(data: _Body) -> None:
    if (data.n or 1) != 1:
        raise RequestError(400, f"n: {data.n} choices asked for, one is served", param="n")
    extra = data.model_extra or {}
    for name, reason in _REFUSED.items():
        if extra.get(name):
            raise RequestError(400, f"{name}: {reason}", param=name)
    form = extra.get("response_format")
    if isinstance(form, dict) and form.get("type") not in (None, "text"):
        raise RequestError(400, "response_format: only text is served", param="response_format")


def _domain(model: str, served: str, wanted: Domain | None, default: Domain) -> Domain:
    if wanted is not None and model == served:
        return wanted
    names: dict[str, Domain] = {served: default, **{f"{served}:{d}": d for d in DOMAINS}}
    if model not in names:
        said = f"model {model[:80]!r} is not served; here: {', '.join(names)}"
        raise RequestError(404, said, "model_not_found", "model")
    return wanted or names[model]


def _message(message: _Message) -> Message:
    role = "system" if message.role == "developer" else message.role
    text = message.text()
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise RequestError(400, "messages: half of a surrogate pair is no text", param="messages")
    return Message(role, text)
