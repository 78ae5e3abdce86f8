"""Errors of an endpoint: too long, filtered, no credit, a field or a role that it does not take."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from scripted_endpoint import Script, ask, chat_over, refuses, says

from llm_as_judge.errors import ContentFilterError, ContextError, EndpointError
from llm_as_judge.llm.client import EndpointLimits
from llm_as_judge.llm.refusals import ROLES, refusal
from llm_as_judge.llm.wire import alternating
from llm_as_judge.types import ChatRequest, Message

TALK = (Message("system", "Be brief."), Message("user", "6*7?"), Message("user", "Digits."))


def failed(status: int, **error: Any) -> httpx.Response:
    return httpx.Response(status, json={"error": error})


TOO_LONG = {
    "openai": refuses(400, "This model's maximum context length is 8192 tokens."),
    "llama.cpp": refuses(
        400, "request (3031 tokens) exceeds the available context size (1024 tokens)"
    ),
    "groq, a minute's tokens": failed(413, message="Request too large", code="rate_limit_exceeded"),
    "tgi": httpx.Response(
        422,
        json={
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. "
            "Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    "gemini": httpx.Response(
        400,
        json=[
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (1200000) exceeds the maximum number of tokens "
                    "allowed (1048576).",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
    ),
    "dashscope": failed(
        400,
        message="<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
        code="invalid_parameter_error",
    ),
}
FILTERED = {
    "dashscope": failed(400, message="data may be bad", code="data_inspection_failed"),
    "finish of gemini": says(None, "SAFETY"),
}


@pytest.mark.parametrize("response", TOO_LONG.values(), ids=TOO_LONG)
async def test_a_request_that_is_too_long_is_known_by_code_status_or_words(
    response: httpx.Response,
) -> None:
    script = Script(response)
    with pytest.raises(ContextError, match=r"\(1 try\)$"):
        await chat_over(script).chat(ask())


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "Range of max_tokens should be [1, 8192]"), (429, "Request too large; slow down")],
)
def test_another_error_about_size_is_not_the_requests_length(status: int, message: str) -> None:
    found = refusal(status, {}, json.dumps({"error": {"message": message}}).encode())
    assert found.kind == f"http_{status}"


@pytest.mark.parametrize("response", FILTERED.values(), ids=FILTERED)
async def test_what_is_filtered_or_refused_is_asked_once_and_counted_by_name(
    response: httpx.Response,
) -> None:
    script = Script(response)
    chat = chat_over(script)
    with pytest.raises(ContentFilterError, match=r"\(1 try\)$"):
        await chat.chat(ask())
    assert chat.ledger.failures == {"content_filter": 1}


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "Your credit balance is too low to access the API"}),
        (429, {"message": "You exceeded your current quota, please check your plan"}),
    ],
    ids=["anthropic", "by words"],
)
async def test_without_credit_there_is_one_try(status: int, error: dict[str, str]) -> None:
    script = Script(failed(status, **error))
    with pytest.raises(EndpointError, match=r": HTTP 4.*more tries do not help\) \(1 try\)"):
        await chat_over(script).chat(ask())
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (
            "seed",
            'Invalid JSON payload received. Unknown name "seed": Cannot find field.',
        ),
        (
            "max_tokens",
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead."
            ),
        ),
        (
            "temperature",
            (
                "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default "
                "(1) value is supported."
            ),
        ),
        ("temperature", "`temperature` is deprecated for this model"),
        ("reasoning_effort", "Extra inputs are not permitted: reasoning_effort"),
    ],
)
async def test_requests_under_way_when_a_field_is_refused_are_all_sent_again_without_it(
    field: str, said: str
) -> None:
    waiting: list[httpx.Request] = []
    four = asyncio.Event()

    async def refuses_after_four(request: httpx.Request) -> httpx.Response:
        waiting.append(request)
        if len(waiting) == 4:
            four.set()
        await four.wait()
        return refuses(400, said) if field in json.loads(request.content) else says("42")

    limits = EndpointLimits(retries=0, reasoning_effort="low")
    chat = chat_over(refuses_after_four, limits=limits)
    asked = [ask(f"6*7? {n}", seed=n, temperature=0.7) for n in range(4)]
    replies = await asyncio.gather(*(chat.chat(one) for one in asked))
    assert [reply.text for reply in replies] == ["42"] * 4
    assert (chat.left_out, len(waiting)) == ({field}, 8)


def test_the_field_that_an_error_names_goes_before_its_words() -> None:
    error = {"message": "stop: seed not supported", "param": "seed", "code": "unsupported_value"}
    found = refusal(400, {}, json.dumps({"error": error}).encode())
    assert found.refused_field == "seed"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "System role not supported"),
        (500, "Jinja Exception: System role not supported"),
        (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
        (400, "'messages[0].role' does not support 'system' with this model."),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (422, "Only user and assistant roles are supported!"),
    ],
)
async def test_without_a_system_role_the_system_text_begins_the_users_turn(
    status: int, said: str
) -> None:
    script = Script(refuses(status, said), says("42"))
    chat = chat_over(script)
    for _ in range(2):
        assert (await chat.chat(ChatRequest(TALK, max_tokens=16))).text == "42"
    plain = [{"role": "user", "content": "Be brief.\n\n6*7?\n\nDigits."}]
    assert [body["messages"] for body in script.bodies[1:]] == [plain, plain]
    assert chat.left_out == {ROLES}


async def test_a_refused_role_of_a_conversation_that_has_none_to_fold_is_an_error() -> None:
    script = Script(refuses(400, "System role not supported"))
    with pytest.raises(EndpointError, match=r"System role not supported \(1 try\)"):
        await chat_over(script).chat(ask())


def test_turns_alternate_and_no_word_is_lost() -> None:
    said = [Message("assistant", "42"), Message("system", "Now in words."), Message("user", "Go.")]
    assert alternating([*TALK, *said]) == [
        Message("user", "Be brief.\n\n6*7?\n\nDigits."),
        Message("assistant", "42"),
        Message("user", "Now in words.\n\nGo."),
    ]


def test_an_error_is_one_line_without_signs_that_steer_a_screen() -> None:
    said = json.dumps({"error": {"message": "no\n\x1b[2J\x07 more"}}).encode()
    assert refusal(418, {}, said).message == "HTTP 418: no \ufffd[2J\ufffd more"
