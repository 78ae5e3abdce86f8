"""A client over a transport whose responses are scripted."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx

from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.types import ChatRequest, Message

KEY = "sk-very-secret"
URL = "http://model.test/v1"
SILENT = httpx.Response(200, json={"choices": [{"message": {"content": "four"}}]})
BOUND = 4 + 16 + 16
"""Tokens that ``ask()`` may use: its bytes, what a template puts around them, and the reply."""


def ask(text: str = "2+2?", **changes: object) -> ChatRequest:
    return ChatRequest((Message("user", text),), max_tokens=16, **changes)  # type: ignore[arg-type]


def says(text: object, finish: str = "stop", **message: object) -> httpx.Response:
    return httpx.Response(
        200,
        json={
            "choices": [{"message": {"content": text, **message}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        },
    )


def refuses(status: int, message: str = "", **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": message}}, headers=headers)


class Script:
    """A transport that gives scripted responses (or raises them) and keeps the requests."""

    def __init__(self, *steps: httpx.Response | Exception) -> None:
        self.steps = list(steps)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self.steps[min(len(self.requests), len(self.steps)) - 1]
        if isinstance(step, Exception):
            raise step
        return step

    @property
    def bodies(self) -> list[dict[str, object]]:
        return [json.loads(request.content) for request in self.requests]


def chat_over(handler: Callable[..., object], **changes: object) -> OpenAIChat:
    settings: dict[str, object] = {
        "limits": EndpointLimits(retries=2, backoff_s=0.001),
        "api_key": KEY,
    }
    settings.update(changes)
    return OpenAIChat("m", URL, transport=httpx.MockTransport(handler), **settings)  # type: ignore[arg-type]
