"""A server that speaks the part of vLLM 0.32 that sampling uses, and misbehaves as it is told.

Shapes and messages are those of vllm/entrypoints (completion, models, serve/lora) in that version; the
same calls are made against a real one in test_vllm_real.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from llm_as_judge.policy.model import load_policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.types import Message, Prompt, Sampling

Written = tuple[list[int], list[float], str]
Write = Callable[[dict[str, Any], str], Written]
"""(request, path of the adapter) -> ids, log-probs, finish_reason."""

T = TypeVar("T")


async def at_once(work: Callable[[], T]) -> T:
    """A ``PolicyTurn`` without a thread."""
    return work()


FAULTS: dict[str, Callable[[dict[str, Any]], None]] = {
    "wrong_prompt": lambda reply: reply["choices"][0].update(prompt_token_ids=[9, 9]),
    "no_ids": lambda reply: reply["choices"][0].update(token_ids=None),
    "foreign_ids": lambda reply: reply["choices"][0].update(token_ids=[10**6, 1]),
    "no_logprobs": lambda reply: reply["choices"][0].update(logprobs=None),
    "short_logprobs": lambda reply: reply["choices"][0]["logprobs"]["token_logprobs"].pop(),
    "null_logprob": lambda reply: reply["choices"][0]["logprobs"].update(
        token_logprobs=[None, -1.0]
    ),
    "positive_logprob": lambda reply: reply["choices"][0]["logprobs"].update(
        token_logprobs=[2.0, -1.0]
    ),
    "aborted": lambda reply: reply["choices"][0].update(finish_reason="abort"),
    "cut_short": lambda reply: reply["choices"][0].update(finish_reason="length"),
    "other_model": lambda reply: reply.update(model="base"),
    "two_choices": lambda reply: reply["choices"].append(reply["choices"][0]),
}
"""How a whole reply of two tokens is spoiled."""


def two_tokens(body: dict[str, Any], path: str) -> Written:
    return [5 + body["seed"] % 50, 7], [-1.0, -0.5], "stop"


class ScriptedVllm:
    """The server."""

    def __init__(self, write: Write = two_tokens) -> None:
        self.write = write
        self.adapters: dict[str, str] = {}
        self.asked: list[dict[str, Any]] = []
        """Requests for completions, the probe at start left out."""
        self.said: list[str] = []
        """Path and adapter of every other request."""
        self.faults: list[str] = []
        """What the next requests for completions meet, one each."""
        self.open = asyncio.Event()
        """While it is not set, no completion is answered."""
        self.open.set()
        self.reached = asyncio.Event()
        """Set by the first request for a completion."""
        self.raw_logprobs = False
        self.refusal: Response | None = None
        """What the next adapters are answered."""
        routes = [
            Route("/v1/completions", self._completions, methods=["POST"]),
            Route("/v1/load_lora_adapter", self._load, methods=["POST"]),
            Route("/v1/unload_lora_adapter", self._unload, methods=["POST"]),
        ]
        self.app = Starlette(routes=routes)

    async def _completions(self, request: Request) -> Response:
        body = await request.json()
        if body.get("allowed_token_ids"):
            return JSONResponse(_reply("base", body, [3], [-2.5 if self.raw_logprobs else 0.0]))
        self.asked.append(body)
        self.reached.set()
        await self.open.wait()
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "500":
            return _refused(500, "EngineCore encountered an issue")
        if fault == "no_json":
            return PlainTextResponse("<html>")
        if fault == "drop":
            return StreamingResponse(_broken(), headers={"Content-Length": "1000"})
        if body["model"] not in self.adapters:
            return _refused(404, f"The model `{body['model']}` does not exist.")
        ids, logprobs, finish = self.write(body, self.adapters[body["model"]])
        reply = _reply(body["model"], body, ids, logprobs, finish)
        if fault:
            FAULTS[fault](reply)
        return JSONResponse(reply)

    async def _load(self, request: Request) -> Response:
        body = await request.json()
        name = body["lora_name"]
        self.said.append(f"load {name}")
        if self.refusal is not None:
            return self.refusal
        if name in self.adapters:
            return _refused(400, f"The lora adapter '{name}' has already been loaded.")
        if not (Path(body["lora_path"]) / "adapter_model.safetensors").is_file():
            path = body["lora_path"]
            return _refused(404, f"Loading lora {name} failed: No adapter found for {path}")
        self.adapters[name] = body["lora_path"]
        return PlainTextResponse(f"Success: LoRA adapter '{name}' added successfully.")

    async def _unload(self, request: Request) -> Response:
        name = (await request.json())["lora_name"]
        self.said.append(f"unload {name}")
        if name not in self.adapters:
            return _refused(404, f"The lora adapter '{name}' cannot be found.")
        del self.adapters[name]
        return PlainTextResponse(f"Success: LoRA adapter '{name}' removed successfully.")


class TwinOfPolicy:
    """Writes with base weights and the adapter that was synced, as the server does."""

    def __init__(self, weights: Path) -> None:
        self._weights = weights
        self._samplers: dict[str, _ByIds] = {}

    def __call__(self, body: dict[str, Any], path: str) -> Written:
        if path not in self._samplers:
            policy = load_policy(self._weights, adapter=Path(path), device="cpu", dtype="float32")
            self._samplers[path] = _ByIds(policy)
        with torch.no_grad():
            ((one,),) = self._samplers[path].complete(
                [Prompt([Message("user", json.dumps(body["prompt"]))])],
                Sampling(1, body["temperature"], body["max_tokens"], body["seed"]),
            )
        return list(one.token_ids), list(one.logprobs), one.stop


class _ByIds(HFSampler):
    def prompt_ids(self, messages: Any) -> list[int]:
        ids: list[int] = json.loads(messages[0].content)
        return ids


def _reply(
    model: str, body: dict[str, Any], ids: list[int], logprobs: list[float], finish: str = "length"
) -> dict[str, Any]:
    choice = {
        "index": 0,
        "text": "not looked at",
        "logprobs": {"token_logprobs": logprobs, "tokens": [str(i) for i in ids]},
        "finish_reason": finish,
        "stop_reason": None,
        "token_ids": ids,
        "prompt_token_ids": body["prompt"],
    }
    return {"id": "cmpl-1", "object": "text_completion", "model": model, "choices": [choice]}


def _refused(status: int, message: str) -> JSONResponse:
    error = {"message": message, "type": "error", "param": None, "code": status}
    return JSONResponse({"error": error}, status_code=status)


async def _broken() -> Any:
    yield b'{"choices": ['
