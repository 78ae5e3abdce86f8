"""An endpoint that gives several draws of a prompt, or does not, and keeps its own bill."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Literal

import httpx

Kind = Literal["all", "first", "ignores", "refuses", "silent"]
"""``all``: usage of all draws, as OpenAI and vLLM; ``first``: of the first, as llama.cpp;
``ignores``: one draw whatever is asked; ``refuses``: HTTP 400; ``silent``: no usage."""


class DrawsEndpoint:
    """Draw i of a request is the reply to its seed + i; ``written`` and ``prompts`` are what a model
    behind it worked on.

    Args:
        most: a larger ``n`` is refused.
        empty: seeds whose reply has no text.
    """

    def __init__(self, kind: Kind = "all", most: int = 8, empty: Collection[int] = ()) -> None:
        self.kind = kind
        self.most = most
        self.empty = empty
        self.bodies: list[dict[str, object]] = []
        self.prompt_tokens = 0
        self.written_tokens = 0
        self.at_once = 0

    @property
    def asked(self) -> list[tuple[int, int]]:
        """(seed, draws) of each request, the probe left out."""
        return [(int(str(b["seed"])), int(str(b.get("n", 1)))) for b in self.bodies if "seed" in b]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/models"):
            return httpx.Response(200, json={"data": [{"id": "m"}]})
        body = json.loads(request.content)
        self.bodies.append(body)
        wanted = int(body.get("n", 1))
        if wanted > (1 if self.kind == "refuses" else self.most):
            said = f"Field 'n': Value must be at most {self.most}"
            return httpx.Response(400, json={"error": {"message": said}})
        given = 1 if self.kind == "ignores" else wanted
        return httpx.Response(200, json=self._reply(body, given))

    def _reply(self, body: dict[str, object], given: int) -> dict[str, object]:
        prompt = len(str(body["messages"])) // 4
        choices, counts = [], []
        for place in range(given):
            text, tokens, finish = self._draw(body, place)
            choice: dict[str, object] = {"message": {"content": text}, "finish_reason": finish}
            if body.get("logprobs"):
                choice["logprobs"] = {"content": [{"token": "t"}] * tokens}
            choices.append(choice)
            counts.append(tokens)
        if "seed" in body:
            self.prompt_tokens += prompt
            self.written_tokens += sum(counts)
        told = counts[0] if self.kind == "first" else sum(counts)
        usage = {"prompt_tokens": prompt, "completion_tokens": told}
        return {"choices": choices} | ({} if self.kind == "silent" else {"usage": usage})

    def _draw(self, body: dict[str, object], place: int) -> tuple[str, int, str]:
        if "seed" not in body:  # the probe
            return "one two three", 4, "length"
        seed = int(str(body["seed"])) + place
        return ("" if seed in self.empty else f"draw {seed}"), 2 + seed % 5, "stop"
