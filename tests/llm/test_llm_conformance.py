from __future__ import annotations

import json

import httpx
import pytest

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.conformance import examine

URL = "http://model.test/v1"


class Endpoint:
    """An endpoint with chosen abilities."""

    def __init__(self, *lacks: str) -> None:
        self.lacks = lacks
        self.chats = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/models"):
            return httpx.Response(200, json={"data": [{"id": "first"}, {"id": "second"}]})
        self.chats += 1
        body = json.loads(request.content)
        if "schema" in self.lacks and "response_format" in body:
            return httpx.Response(200, json=self.reply("It rains.", body))
        if "response_format" in body:
            return httpx.Response(200, json=self.reply('{"colour": "red", "count": 3}', body))
        if body.get("n") == 2 and "draws" not in self.lacks:
            cut = {"message": {"content": "one two three"}, "finish_reason": "length"}
            usage = {"prompt_tokens": 5, "completion_tokens": 8}
            return httpx.Response(200, json={"choices": [cut, cut], "usage": usage})
        if "text" in self.lacks:
            return httpx.Response(200, json=self.reply("", body))
        number = self.chats if "seed" in self.lacks else body.get("seed")
        return httpx.Response(200, json=self.reply(f"ship {number}", body))

    def reply(self, text: str, body: dict[str, object]) -> dict[str, object]:
        choice: dict[str, object] = {"message": {"content": text}, "finish_reason": "stop"}
        if body.get("logprobs") and "logprobs" not in self.lacks:
            likeliest = (
                [{"token": t, "logprob": -1.0} for t in "ab"] if body.get("top_logprobs") else []
            )
            if "likeliest" in self.lacks:
                likeliest = []
            token = {"token": "a", "logprob": -0.5, "top_logprobs": likeliest}
            choice["logprobs"] = {"content": [token]}
        if body.get("return_token_ids") and "ids" not in self.lacks:
            choice["token_ids"] = [1, 2]
        usage = {"prompt_tokens": 5, "completion_tokens": 3}
        return {"choices": [choice]} | ({} if "usage" in self.lacks else {"usage": usage})


async def test_an_endpoint_that_can_do_everything() -> None:
    report = await examine(URL, transport=httpx.MockTransport(Endpoint()), max_concurrency=4)
    assert report.model == "first"
    assert report.served == ("first", "second")
    assert (report.usage, report.seed, report.seeds_differ) == (True, True, True)
    assert (report.json_schema, report.logprobs, report.token_ids) == (True, True, True)
    assert (report.top_logprobs, report.several_draws) == (True, True)
    assert report.logprobs_to_write == "; keep them with logprobs: 5 in its entry"
    assert (report.empty_fraction, report.readable) == (0.0, 8)
    assert list(report.tokens_per_s) == [1, 2, 4]
    assert report.best_concurrency in (1, 2, 4)
    assert json.loads(json.dumps(report.as_json()))["model"] == "first"


@pytest.mark.parametrize(
    ("lack", "seen"),
    [
        ("usage", {"usage": False}),
        ("seed", {"seed": False, "seeds_differ": True}),
        ("schema", {"json_schema": False}),
        ("logprobs", {"logprobs": False, "top_logprobs": False, "logprobs_to_write": ""}),
        ("likeliest", {"logprobs": True, "top_logprobs": False}),
        ("ids", {"token_ids": False}),
        ("draws", {"several_draws": False}),
        ("text", {"empty_fraction": 1.0, "readable": 0, "seed": None, "best_concurrency": None}),
    ],
)
async def test_what_is_lacking_is_seen(lack: str, seen: dict[str, object]) -> None:
    transport = httpx.MockTransport(Endpoint(lack))
    report = await examine(URL, "second", transport=transport, max_concurrency=2)
    assert {name: getattr(report, name) for name in seen} == seen


async def test_a_model_that_is_not_served_is_said_with_those_that_are() -> None:
    with pytest.raises(ModelError, match="served: first, second"):
        await examine(URL, "third", transport=httpx.MockTransport(Endpoint()))


async def test_an_endpoint_without_a_list_needs_a_name() -> None:
    nothing = httpx.MockTransport(lambda request: httpx.Response(404))
    with pytest.raises(ModelError, match="name one with --model"):
        await examine(URL, transport=nothing)


async def test_a_refused_request_leaves_the_question_open() -> None:
    def refusing(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/models"):
            return httpx.Response(200, json={"data": [{"id": "first"}]})
        if "ship" in json.loads(request.content)["messages"][0]["content"]:
            return httpx.Response(200, json=Endpoint().reply("a ship", {}))
        return httpx.Response(400, json={"error": {"message": "no"}})

    report = await examine(URL, transport=httpx.MockTransport(refusing), samples=2)
    assert (report.logprobs, report.json_schema, report.usage) == (None, None, None)
    assert report.failures == {"http_400": 1, "no_draws": 1}
    assert report.attempts > 4
