"""The embedded server's HTTP side: /v1/chat/completions and /v1/models, as OpenAI's API has them. A request whose client has gone is taken out of the batch."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from llm_as_judge.llm.batching import Batch, Drawn, Sampling
from llm_as_judge.refused import place_and_reason

_SEEDS = 2**31


class _Message(BaseModel):
    role: str
    content: str


class _Schema(BaseModel):
    model_config = ConfigDict(extra="ignore")
    schema_: dict[str, Any] = Field(alias="schema")


class _ResponseFormat(BaseModel):
    type: Literal["text", "json_schema"]
    json_schema: _Schema | None = None


class _Body(BaseModel):
    """Fields of a request that are honored; one of :data:`_REFUSED` is refused, others are nobody's."""

    model_config = ConfigDict(extra="allow")
    messages: list[_Message] = Field(min_length=1)
    max_tokens: int | None = Field(None, ge=1)
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Sampling(1).top_p
    seed: int = Field(0, ge=0)
    stop: str | list[str] = []
    n: int = Field(1, ge=1)
    response_format: _ResponseFormat | None = None
    logprobs: bool | None = None

    def sampling(self, room: int) -> Sampling:
        schema = self.response_format.json_schema if self.response_format else None
        return Sampling(
            max_tokens=self.max_tokens or room,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            stop=(self.stop,) if isinstance(self.stop, str) else tuple(self.stop),
            json_schema=json.dumps(schema.schema_) if schema else "",
            logprobs=bool(self.logprobs),
        )


_REFUSED = ("stream", "tools", "top_logprobs")
"""The engine has the log-probabilities of the drawn tokens alone."""


def make_app(batch: Batch, model_name: str, api_key: str, slots: int) -> Starlette:
    """The ASGI application."""
    service = _Service(batch, model_name, api_key, slots)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", service.complete, methods=["POST"]),
            Route("/v1/models", service.models),
        ],
        exception_handlers={HTTPException: _refused},
    )


class _Service:
    def __init__(self, batch: Batch, model_name: str, api_key: str, slots: int) -> None:
        self._batch = batch
        self._model_name = model_name
        self._api_key = api_key
        self._slots = slots

    async def models(self, request: Request) -> Response:
        self._authorize(request)
        entry = {"id": self._model_name, "object": "model", "owned_by": "llm-as-judge"}
        return JSONResponse({"object": "list", "data": [entry]})

    async def complete(self, request: Request) -> Response:
        self._authorize(request)
        body = await _body(request)
        if body.n > self._slots:
            raise HTTPException(400, f"n: Value must be at most {self._slots}")
        drawing = asyncio.ensure_future(self._draws(body))
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait({drawing, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not drawing.done():
                return Response(status_code=499)  # nobody reads it
            prompt_tokens, draws = drawing.result()
        finally:
            drawing.cancel()
            gone.cancel()
            await asyncio.gather(drawing, gone, return_exceptions=True)
        return JSONResponse(_completion(self._model_name, prompt_tokens, draws))

    async def _draws(self, body: _Body) -> tuple[int, list[Drawn]]:
        """Tokens of the prompt, and ``n`` replies: draw i is that of a request with its seed + i."""
        batch = self._batch
        prompt = batch.tokens(batch.prompt([m.model_dump() for m in body.messages]))
        room = batch.context_tokens - len(prompt)
        if room <= 0:
            raise HTTPException(
                400,
                f"the prompt has {len(prompt)} tokens or more, and the context size is "
                f"{batch.context_tokens}: there is no room for a reply",
            )
        first = body.sampling(room)
        seeds = [(first.seed + place) % _SEEDS for place in range(body.n)]
        replies = [batch.submit(prompt, replace(first, seed=seed)) for seed in seeds]
        return len(prompt), await asyncio.gather(*map(asyncio.wrap_future, replies))

    def _authorize(self, request: Request) -> None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._api_key.encode()):
            raise HTTPException(401, "wrong or missing API key")


async def _body(request: Request) -> _Body:
    try:
        body = _Body.model_validate_json(await request.body())
    except ValidationError as error:
        place, reason = place_and_reason(error)
        raise HTTPException(400, f"{place or 'body'}: {reason}") from None
    for name in _REFUSED:
        if (body.model_extra or {}).get(name):
            raise HTTPException(400, f"{name} is not supported")
    return body


async def _disconnected(request: Request) -> None:
    with contextlib.suppress(ClientDisconnect):
        while (await request.receive())["type"] != "http.disconnect":
            pass


def _completion(model_name: str, prompt_tokens: int, draws: list[Drawn]) -> Mapping[str, Any]:
    written = sum(draw.tokens for draw in draws)
    return {
        "object": "chat.completion",
        "model": model_name,
        "choices": [
            {
                "index": place,
                "message": {"role": "assistant", "content": draw.text},
                "finish_reason": draw.finish,
                "logprobs": _logprobs(draw),
            }
            for place, draw in enumerate(draws)
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": written,
            "total_tokens": prompt_tokens + written,
        },
    }


def _logprobs(draw: Drawn) -> Mapping[str, Any] | None:
    listed: list[dict[str, Any]] = [
        {"token": token, "logprob": value, "bytes": None, "top_logprobs": []}
        for token, value in draw.logprobs
    ]
    return {"content": listed, "refusal": None} if listed else None


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {"message": error.detail, "code": error.status_code}
    return JSONResponse({"error": said}, error.status_code)
