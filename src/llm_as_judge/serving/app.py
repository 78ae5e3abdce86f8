"""The HTTP side: /v1/chat/completions, /v1/models, /health, in the form of the OpenAI API.

A request whose client has gone is cancelled down to its sandbox; what runs is counted, and one too
many gets 429. The body must be JSON by its content type, so that a web page cannot make a browser
post here without asking first.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from llm_as_judge.errors import EndpointError, LlmAsJudgeError
from llm_as_judge.serving.answering import Answer, Answerer
from llm_as_judge.serving.requests import Ask, RequestError, RequestLimits, read_ask
from llm_as_judge.types import DOMAINS, Domain, Program

log = logging.getLogger(__name__)

PIECE = 400
"""Characters of one streamed piece."""
_SMALL_BODY = 64 * 2**10
"""Bytes of a body that need no share of what all unfinished ones may hold together."""
KEEP_ALIVE_S = 10.0
"""A waiting stream says something this often, so that nobody between takes it for dead."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How the server behaves to its clients."""

    model: str = "llm-as-judge"
    domain: Domain = "qa"
    api_key: str = ""
    """Empty: none is asked for."""
    concurrency: int = 64
    """Requests worked on at once; one more gets 429."""
    max_body_bytes: int = 2**20
    unfinished_bytes: int = 64 * 2**20
    """Of all requests that are being sent, beyond the first 64 KiB of each; one more gets 503."""
    limits: RequestLimits = field(default_factory=RequestLimits)
    hosts: tuple[str, ...] = ("*",)
    """Host names a client may address us by."""


def make_app(answerer: Answerer, options: ServerOptions) -> Starlette:
    """The ASGI application."""
    service = _Service(answerer, options)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", service.complete, methods=["POST"]),
            Route("/v1/models", service.models),
            Route("/v1/models/{name}", service.model),
            Route("/health", service.health),
        ],
        middleware=[
            Middleware(_OneLength),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(options.hosts)),
        ],
        exception_handlers={RequestError: _refused, 404: _not_served, 405: _not_served},
    )


class _Service:
    def __init__(self, answerer: Answerer, options: ServerOptions) -> None:
        self._answerer = answerer
        self._options = options
        self._running = 0
        self._unfinished = 0
        self._started = int(time.time())

    # ------------------------------------------------------------------------------------- routes
    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "running": self._running})

    async def models(self, request: Request) -> Response:
        self._authorize(request)
        return JSONResponse({"object": "list", "data": [self._entry(n) for n in self._names()]})

    async def model(self, request: Request) -> Response:
        self._authorize(request)
        name = request.path_params["name"]
        if name not in self._names():
            said = f"model {name[:80]!r} is not served"
            raise RequestError(404, said, "model_not_found", "model")
        return JSONResponse(self._entry(name))

    async def complete(self, request: Request) -> Response:
        self._authorize(request)
        options = self._options
        try:
            body = await self._json_body(request)
        except ClientDisconnect:
            return Response(status_code=499)  # nobody reads it
        ask = read_ask(body, options.model, options.domain, options.limits, self._answerer.budget)
        if self._running >= options.concurrency:
            said = f"{self._running} requests are being worked on; try again soon"
            raise RequestError(429, said, "overloaded")
        self._running += 1  # no await since the check: two requests cannot take one place
        if ask.stream:
            return _Stream(self._events(ask), self._leave)
        try:
            return await self._whole(request, ask)
        finally:
            self._leave()

    def _leave(self) -> None:
        self._running -= 1

    # ------------------------------------------------------------------------------------ answers
    async def _whole(self, request: Request, ask: Ask) -> Response:
        work = asyncio.create_task(self._answerer.answer(ask))
        gone = asyncio.create_task(_disconnected(request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return Response(status_code=499)  # nobody reads it
            with _as_request_errors():
                answer = work.result()
        finally:
            await _ended(work)
            await _ended(gone)
        return JSONResponse(_completion(_new_id(), ask, answer))

    async def _events(self, ask: Ask) -> AsyncIterator[str]:
        id_, stages = _new_id(), asyncio.Queue[Program]()
        work = asyncio.create_task(self._answerer.answer(ask, stages.put_nowait))
        try:
            yield _chunk(id_, ask, {"role": "assistant", "content": ""})
            async for event in _waiting(work, stages):
                yield _chunk(id_, ask, {}, workflow=event) if event else ": working\n\n"
            try:
                with _as_request_errors():
                    answer = work.result()
            except RequestError as error:  # the status has been sent: the error is an event
                yield f"data: {json.dumps(error.body())}\n\n"
                return
            for start in range(0, len(answer.text), PIECE):
                yield _chunk(id_, ask, {"content": answer.text[start : start + PIECE]})
            yield _chunk(id_, ask, {}, finish="stop", workflow=answer.described(ask))
            if ask.include_usage:
                yield _chunk(id_, ask, None, usage=_usage(answer))
            yield "data: [DONE]\n\n"
        finally:
            await _ended(work)

    # --------------------------------------------------------------------------------------- parts
    async def _json_body(self, request: Request) -> object:
        limit = self._options.max_body_bytes
        _require_json(request, limit)
        data, counted = bytearray(), 0
        try:
            async for piece in request.stream():
                data += piece
                if len(data) > limit:
                    raise _too_large(limit)
                if len(data) - _SMALL_BODY > counted:
                    self._unfinished += len(data) - _SMALL_BODY - counted
                    counted = len(data) - _SMALL_BODY
                    if self._unfinished > self._options.unfinished_bytes:
                        message = "too much is being sent at once; try again soon"
                        raise RequestError(503, message, "overloaded")
        finally:
            self._unfinished -= counted
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise RequestError(400, "the body is no JSON") from None

    def _authorize(self, request: Request) -> None:
        key = self._options.api_key
        if not key:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode(), key.encode())
        if scheme.lower() != "bearer" or not same:
            raise RequestError(401, "wrong or missing API key", "invalid_api_key")

    def _names(self) -> list[str]:
        return [self._options.model, *(f"{self._options.model}:{d}" for d in DOMAINS)]

    def _entry(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._started, "owned_by": "llm-as-judge"}


class _Stream(StreamingResponse):
    """Server-sent events; ``leave`` is called exactly once, however the client goes."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[str], leave: Callable[[], None]) -> None:
        super().__init__(events, headers={"cache-control": "no-store"})
        self._events, self._leave = events, leave

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            try:
                await self._events.aclose()  # type: ignore[attr-defined]  # an async generator
            finally:
                self._leave()


# --------------------------------------------------------------------------------------- requests
class _OneLength:
    """Refuses a request with two lengths: a front before us might believe the other one, and take what
    follows the first for a request of somebody else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope.get("headers", ())}
        if {b"content-length", b"transfer-encoding"} <= names:
            error = RequestError(400, "content-length beside transfer-encoding: send one of them")
            reply = JSONResponse(error.body(), error.status, {"connection": "close"})
            await reply(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _require_json(request: Request, limit: int) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(415, f"content type {kind[:80] or 'none'}: wanted application/json")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> RequestError:
    return RequestError(413, f"the request is larger than {limit} bytes", "request_too_large")


async def _disconnected(request: Request) -> None:
    with contextlib.suppress(ClientDisconnect):
        while (await request.receive())["type"] != "http.disconnect":
            pass


async def _waiting(
    work: asyncio.Task[Answer], stages: asyncio.Queue[Program]
) -> AsyncIterator[dict[str, Any] | None]:
    """The program when it is written, and None now and then, until the work is done."""
    while not work.done():
        stage = asyncio.ensure_future(stages.get())
        try:
            await asyncio.wait(
                {work, stage}, timeout=KEEP_ALIVE_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            stage.cancel()  # nothing, where it is done
        if stage.done() and not stage.cancelled():
            program = stage.result()
            yield {"program": program.source, "operators": list(program.operators)}
        elif not work.done():
            yield None


async def _ended(task: asyncio.Task[Any]) -> None:
    """Cancelled if it still runs, and waited for: no run outlives its request."""
    task.cancel()
    waiting: Awaitable[Any] = asyncio.gather(task, return_exceptions=True)
    await asyncio.shield(waiting)


@contextlib.contextmanager
def _as_request_errors() -> Any:
    """What went wrong on our side, as a status; a bug goes on as it is. The details (addresses,
    paths) are for whoever runs the server, in its log."""
    try:
        yield
    except LlmAsJudgeError as error:
        log.warning("a request failed: %s: %s", type(error).__name__, error)
        if isinstance(error, EndpointError):
            raise RequestError(502, "the executor gave no reply", "executor") from error
        raise RequestError(500, "a fault of the server", "internal") from error


async def _not_served(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    asked = request.url.path
    said = (
        f"{request.method} {asked[:80]!r} is not served; wanted POST /v1/chat/completions, GET /v1/models or "
        "GET /health"
    )
    if asked == "/v1/responses":
        said += "; the official client asks the first by client.chat.completions.create"
    reply = await _refused(request, RequestError(error.status_code, said, "not_served"))
    reply.headers.update(error.headers or {})  # a wrong method: those that are allowed
    return reply


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    headers = {"retry-after": "1"} if error.status in (429, 503) else {}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(error.body(), error.status, headers)


# -------------------------------------------------------------------------------------- responses
def _new_id() -> str:
    return f"chatcmpl-{uuid.uuid4().hex}"


def _usage(answer: Answer) -> dict[str, int]:
    usage = answer.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def _completion(id_: str, ask: Ask, answer: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text}
    return {
        "id": id_,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": ask.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": _usage(answer),
        "workflow": answer.described(ask),
    }


def _chunk(
    id_: str,
    ask: Ask,
    delta: Mapping[str, str] | None,
    *,
    finish: str | None = None,
    usage: Mapping[str, int] | None = None,
    workflow: Mapping[str, Any] | None = None,
) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk: dict[str, Any] = {
        "id": id_,
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": ask.model,
        "choices": [] if delta is None else [choice],
    }
    if usage is not None:
        chunk["usage"] = usage
    if workflow is not None:
        chunk["workflow"] = workflow
    return f"data: {json.dumps(chunk)}\n\n"
