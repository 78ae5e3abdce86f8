from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_endpoint import ask

from llm_as_judge.errors import EndpointError
from llm_as_judge.llm.ledger import Price
from llm_as_judge.llm.scripted import ScriptedChat, counted_usage, well_formed_reply
from llm_as_judge.types import Usage


async def test_replies_come_from_a_function_a_mapping_or_in_turn() -> None:
    assert (await ScriptedChat(lambda r: r.messages[0].content * 2).chat(ask("ab"))).text == "abab"
    mapped = ScriptedChat({"apples": "5", "pears": "6"})
    assert (await mapped.chat(ask("how many pears?"))).text == "6"
    with pytest.raises(EndpointError, match="no reply for 'plums'"):
        await mapped.chat(ask("plums"))
    turns = ScriptedChat(["1", "2"])
    assert [(await turns.chat(ask("x"))).text for _ in range(2)] == ["1", "2"]
    with pytest.raises(EndpointError, match="ends after 2 replies"):
        await turns.chat(ask("x"))


async def test_usage_is_four_bytes_a_token_and_priced() -> None:
    chat = ScriptedChat(["12345"], price=Price(1e6, 1e6))
    reply = await chat.chat(ask("é" * 4))
    assert reply.usage == Usage(2, 2) == counted_usage(ask("é" * 4), "12345")
    assert reply.cost_usd == 4.0
    assert chat.ledger.total.tokens == 4
    assert chat.name == "scripted"


def test_the_default_depends_on_the_request_alone() -> None:
    assert well_formed_reply(ask("2+2?")) == well_formed_reply(ask("2+2?"))
    assert len({well_formed_reply(ask("2+2?", draw=d)) for d in range(20)}) > 5


def test_a_prompt_with_fields_gets_each_filled() -> None:
    reply = well_formed_reply(ask("Reply as <thought>..</thought><answer>..</answer>"))
    assert reply.startswith("<thought>")
    assert reply.endswith("</answer>")


def test_a_prompt_for_code_gets_a_function_that_parses() -> None:
    reply = well_formed_reply(ask("Write Python.\ndef add(a: int, b: int) -> int:"))
    source = reply.removeprefix("```python\n").removesuffix("\n```")
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert [a.arg for a in function.args.args] == ["a", "b"]


SCHEMA = {
    "type": "object",
    "properties": {
        "quote": {"type": "string"},
        "count": {"type": ["integer", "null"]},
        "verdict": {"enum": ["correct", "incorrect"]},
        "steps": {"type": "array", "items": {"type": "number"}, "minItems": 2},
        "sure": {"type": "boolean"},
        "version": {"const": 3},
        "nothing": {"type": "null"},
    },
}


def test_a_schema_gets_an_instance_of_it() -> None:
    reply = json.loads(well_formed_reply(ask("judge", json_schema=SCHEMA)))
    assert set(reply) == set(SCHEMA["properties"])
    assert isinstance(reply["quote"], str)
    assert isinstance(reply["count"], int)
    assert reply["verdict"] in ("correct", "incorrect")
    assert len(reply["steps"]) == 2
    assert reply["sure"] in (True, False)
    assert reply["version"] == 3
    assert reply["nothing"] is None


@given(st.text(max_size=200))
def test_there_is_a_reply_to_every_prompt(text: str) -> None:
    assert well_formed_reply(ask(text)).strip()
