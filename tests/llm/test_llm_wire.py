"""A response is read: its text wherever it stands, the draws in their order, a use that can be."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx
import pytest
from scripted_endpoint import Script, ask, chat_over, says

from llm_as_judge.errors import EndpointError
from llm_as_judge.llm.client import EndpointLimits
from llm_as_judge.llm.wire import read_draws, read_response


def of(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


async def test_the_text_parts_of_a_reply_are_joined() -> None:
    parts = [{"text": "4"}, {"type": "image_url"}, {"type": "output_text", "text": "2"}]
    assert (await chat_over(Script(says(parts))).chat(ask())).text == "42"


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
async def test_a_text_in_another_field_is_named(field: str) -> None:
    script = Script(says(None, "stop", **{field: "It is 42."}))
    with pytest.raises(
        EndpointError,
        match=rf"empty reply \(finish_reason stop\), its text is in '{field}': set reasoning_effort of the "
        "endpoint, or check the server's reasoning parser",
    ):
        await chat_over(script).chat(ask())


async def test_a_call_of_a_tool_is_no_text() -> None:
    script = Script(says(None, "tool_calls", tool_calls=[{"id": "1"}]))
    with pytest.raises(EndpointError, match=r"its message has 'tool_calls' instead \("):
        await chat_over(script).chat(ask())


@pytest.mark.parametrize(
    ("indices", "texts"),
    [
        ((1, 0), "ba"),
        *((told, "ab") for told in [(0, 0), (1, 2), (None, 0), ("1", "0"), (True, False)]),
    ],
)
def test_draws_stand_by_their_index_and_without_one_each_as_they_came(
    indices: tuple[object, object], texts: str
) -> None:
    choices = [
        {"index": index, "message": {"content": text}}
        for index, text in zip(indices, "ab", strict=True)
    ]
    replies, _ = read_draws(200, {}, of(choices=choices))
    assert [reply.text for reply in replies] == list(texts)


def test_half_of_a_surrogate_pair_can_be_written() -> None:
    found = read_response(200, {}, b'{"choices": [{"message": {"content": "4\\ud800"}}]}')
    assert found.text == "4?"
    assert read_draws(200, {}, b'{"choices": [{"message": {"content": "\\udfff2"}}]}')[0]


async def test_replies_of_another_model_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    def answers(request: httpx.Request) -> httpx.Response:
        text = {"choices": [{"message": {"content": "42"}}], "model": "llama-8b"}
        return httpx.Response(200, json=text)

    chat = chat_over(answers, model_name="Qwen/Qwen2.5-7B", limits=EndpointLimits(retries=0))
    for n in range(3):
        await chat.chat(ask(str(n)))
    assert [r.message.partition(": ")[2] for r in caplog.records] == [
        "asked for Qwen/Qwen2.5-7B, and its replies say llama-8b"
    ]


@pytest.mark.parametrize("named", ["qwen2.5-7b", "QWEN2.5-7B-2024-09-19", "other/Qwen2.5-7B", ""])
async def test_a_models_date_and_provider_are_no_other_model(
    named: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = {"choices": [{"message": {"content": "42"}}], "model": named}
    await chat_over(Script(httpx.Response(200, json=text)), model_name="Qwen/Qwen2.5-7B").chat(
        ask()
    )
    assert caplog.text == ""
