"""Log-probabilities of a first token are asked for by a request alone, and an endpoint's are not trusted."""

import json
from typing import Any

import pytest

from llm_as_judge.llm.wire import read_response, request_body
from llm_as_judge.types import ChatReply, ChatRequest, Message, Usage, from_json, to_json

ASKED = ChatRequest((Message("user", "Yes or no?"),), max_tokens=1, top_logprobs=20)


def body(request: ChatRequest) -> dict[str, Any]:
    return request_body(request, "m", extra_tokens=0, attempt=0, left_out=())


def response(logprobs: Any) -> bytes:
    choice = {"message": {"content": "yes"}, "finish_reason": "length", "logprobs": logprobs}
    return json.dumps({"choices": [choice]}).encode()


def listed(*tokens: Any) -> Any:
    return {"content": [{"token": "yes", "top_logprobs": list(tokens)}]}


def test_only_a_request_that_wants_them_asks_for_them() -> None:
    asked = body(ASKED)
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 20)
    assert "logprobs" not in body(ChatRequest(ASKED.messages, max_tokens=1))
    assert "top_logprobs" not in to_json(ChatRequest(ASKED.messages, max_tokens=1))


def test_the_listed_tokens_are_read() -> None:
    said = response(listed({"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2}))
    assert read_response(200, {}, said).first_token == {"Yes": -0.1, "No": -2.0}


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        [],
        {"content": None},
        {"content": []},
        {"content": [{"token": "yes"}]},
        {"content": [{"top_logprobs": 3}]},
        listed(),
        listed({"token": "yes"}),
        listed({"token": 3, "logprob": -1.0}),
        listed({"token": "yes", "logprob": "-1"}),
        listed({"token": "yes", "logprob": True}),
        listed({"token": "yes", "logprob": 0.5}),
        listed({"token": "yes", "logprob": float("-inf")}),
        listed({"token": "yes", "logprob": float("nan")}),
    ],
)
def test_what_lists_no_log_probability_gives_none(logprobs: Any) -> None:
    assert read_response(200, {}, response(logprobs)).first_token is None


def test_a_reply_with_first_tokens_is_recorded_as_it_is() -> None:
    reply = ChatReply("yes", "length", Usage(5, 1), first_token={"yes": -0.25})
    assert from_json(ChatReply, json.loads(json.dumps(to_json(reply)))) == reply
