"""Log-probabilities of a reply: asked for by an option, kept with it, and never trusted."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from scripted_endpoint import Script, ask, chat_over, refuses

from llm_as_judge.llm.client import EndpointLimits
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.wire import of_first_token, of_tokens, request_body
from llm_as_judge.types import (
    ChatReply,
    ChatRequest,
    Message,
    ReplyLogProbs,
    Usage,
    from_json,
    to_json,
)

USAGE = {"prompt_tokens": 7, "completion_tokens": 3}
KEPT = ReplyLogProbs(3, -0.5, None)


def token(logprob: Any, *likeliest: Any) -> dict[str, Any]:
    return {
        "token": "t",
        "logprob": logprob,
        "top_logprobs": [{"token": str(n), "logprob": value} for n, value in enumerate(likeliest)],
    }


def choice(*tokens: Any) -> dict[str, Any]:
    message = {"message": {"content": "42"}, "finish_reason": "stop"}
    return {**message, "logprobs": {"content": list(tokens)}}


def says_with(*tokens: Any) -> httpx.Response:
    return httpx.Response(200, json={"choices": [choice(*tokens)], "usage": USAGE})


def test_the_likeliest_first_tokens_are_asked_for_by_a_request_alone_and_read() -> None:
    request = ChatRequest((Message("user", "Yes or no?"),), max_tokens=1)
    assert "top_logprobs" not in to_json(request)  # nor in a digest of it
    asked = request_body(
        replace(request, top_logprobs=20), "m", extra_tokens=0, attempt=0, left_out=()
    )
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 20)
    listed = token(-0.5, -0.1, -2, None, "-1", True, 0.5, float("nan"), -(10**400), 10**400)
    assert of_first_token(choice(listed)) == {"0": -0.1, "1": -2.0}
    reply = ChatReply("yes", "length", Usage(5, 1), first_token={"yes": -0.25})
    assert from_json(ChatReply, json.loads(json.dumps(to_json(reply)))) == reply


@pytest.mark.parametrize(
    "logprobs",
    [None, [], {"content": None}, {"content": []}, {"content": [{"token": "yes"}]}]
    + [
        {"content": [{"top_logprobs": said}]}
        for said in (3, [], [3], [{"token": 3, "logprob": -1}])
    ],
    ids=str,
)
def test_what_lists_no_first_token_gives_none(logprobs: Any) -> None:
    assert of_first_token({"logprobs": logprobs}) is None


def test_the_mean_is_over_all_tokens_and_the_entropy_over_the_likeliest_and_the_rest() -> None:
    half, quarter = math.log(0.5), math.log(0.25)
    found = of_tokens(choice(token(half, half, quarter), token(quarter, half, half)))
    assert found is not None
    assert found.tokens == 2
    assert found.mean == pytest.approx((half + quarter) / 2, abs=1e-5)
    assert found.entropy == pytest.approx((1.5 * math.log(2) + math.log(2)) / 2, abs=1e-5)


@pytest.mark.parametrize(
    "likeliest",
    [(), (-0.1,), (-0.1, None), (-0.1, -0.1), (-1.0, 0.5)],
    ids=["none", "one", "no number", "above one", "positive"],
)
def test_an_entropy_that_cannot_be_is_none(likeliest: tuple[Any, ...]) -> None:
    found = of_tokens(choice(token(-0.5, -1.0, -2.0), token(-0.5, *likeliest)))
    assert found == ReplyLogProbs(2, -0.5, None)


NO_NUMBERS: list[Any] = [None, "-0.5", True, 0.5, -1e300, 10**400, [], {}]
NO_NUMBERS += map(float, ("nan", "-inf", "inf"))
NO_CHOICES: list[Any] = [None, [], "x", 3, {}, {"logprobs": 1}, {"logprobs": {"content": {}}}]
NO_CHOICES += [{"logprobs": {"content": [1]}}]


@pytest.mark.parametrize(
    "broken", [*(choice(token(-0.5), token(value)) for value in NO_NUMBERS), *NO_CHOICES], ids=str
)
def test_what_is_no_log_probability_of_every_token_leaves_none(broken: Any) -> None:
    assert of_tokens(broken) is None


@pytest.mark.parametrize(("wanted", "sent"), [(None, {}), (0, {"logprobs": True})])
async def test_they_are_asked_for_and_kept_where_the_option_says_so(
    wanted: int | None, sent: dict[str, Any]
) -> None:
    script = Script(says_with(*[token(-0.5)] * 3))
    reply = await chat_over(script, limits=EndpointLimits(logprobs=wanted)).chat(ask())
    assert reply.logprobs == (KEPT if sent else None)
    body = script.bodies[0]
    assert {name: body[name] for name in body if "logprobs" in name} == sent


async def test_an_endpoint_that_refuses_them_is_asked_without() -> None:
    refused = refuses(400, "logprobs is not supported with this model")
    plain = httpx.Response(200, json={"choices": [{"message": {"content": "42"}}], "usage": USAGE})
    script = Script(refused, plain, plain)
    chat = chat_over(script, limits=EndpointLimits(logprobs=5))
    assert [(await chat.chat(ask())).logprobs for _ in range(2)] == [None, None]
    assert ["logprobs" in body or "top_logprobs" in body for body in script.bodies] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "said",
    [
        *({"mean": value} for value in (*NO_NUMBERS, 800) if value != -1e300),
        *({"mean": -1, "entropy": value} for value in (math.nan, math.inf, 10**400, "1")),
    ],
    ids=lambda said: str(said)[:30],
)
def test_kept_ones_that_cannot_be_are_refused_where_they_are_read(said: dict[str, Any]) -> None:
    row = json.loads(json.dumps({"tokens": 1, **said}))
    with pytest.raises(TypeError, match="ReplyLogProbs"):
        from_json(ReplyLogProbs, row)


async def test_a_kept_reply_has_them_and_one_of_before_they_were_kept_replays(
    tmp_path: Path,
) -> None:
    kept = Pool(tmp_path)
    script = Script(says_with(*[token(-0.5)] * 3))
    model = chat_over(script, limits=EndpointLimits(logprobs=0))
    await RecordedChat(model, kept, "record").chat(ask())
    kept.export(tmp_path / "lines.jsonl")
    for again in (Pool(tmp_path), Pool(tmp_path / "lines.jsonl", lines=True)):
        replayed = await RecordedChat(None, again, "replay", name=model.name).chat(ask())
        assert replayed.logprobs == KEPT
    older = to_json(ChatReply("42", "stop", Usage(7, 3)))
    assert "logprobs" not in older
    assert from_json(ChatReply, json.loads(json.dumps(older))).logprobs is None
