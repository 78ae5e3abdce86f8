"""The policy as reader names the likeliest letter, the same each time, and books its tokens."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import torch

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.executors import READER_ROLE
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.policy.reader import (
    PolicyReader,
    letter_ids,
    reader_prompt_ids,
)
from llm_as_judge.types import ChatRequest, Message


@pytest.fixture(scope="module")
def policy(tiny_weights: Path) -> Policy:
    return load_policy(
        tiny_weights, adapter=AdapterSpec(4, 8, ("q_proj",)), device="cpu", dtype="float32"
    )


def asked(text: str, letters: str = "ABC") -> ChatRequest:
    return ChatRequest((Message("user", text),), 1, json_schema={"enum": list(letters)})


@pytest.mark.parametrize("text", ["Which?", "What is 3 + 4?", "A B C D"])
async def test_the_letter_is_the_likeliest_of_those_listed(policy: Policy, text: str) -> None:
    reader = PolicyReader(policy, asyncio.to_thread, Ledger())
    reply = await reader.chat(asked(text))
    ids = reader_prompt_ids(policy.tokenizer, [Message("user", text)])
    with torch.no_grad():
        logits = policy.base(input_ids=torch.tensor([ids])).logits[0, -1]
    likeliest = int(logits[letter_ids(policy.tokenizer, "ABC")].argmax())
    assert json.loads(reply.text) == "ABC"[likeliest]
    assert reply.usage.prompt_tokens == len(ids)
    assert reply.usage.completion_tokens == 1
    assert (await reader.chat(asked(text))).text == reply.text


async def test_its_tokens_are_booked_apart_and_cost_no_dollars(policy: Policy) -> None:
    ledger = Ledger()
    reply = await PolicyReader(policy, asyncio.to_thread, ledger, written_price=0.5).chat(
        asked("Q")
    )
    booked = ledger.by_role[READER_ROLE]
    assert ledger.total.calls == booked.calls == 1
    assert ledger.total.spent_usd == 0
    assert booked.prompt_tokens == reply.usage.prompt_tokens
    assert booked.cost == 0.5 * (reply.usage.prompt_tokens / 4 + 1)


def test_a_letter_of_several_tokens_is_refused(policy: Policy) -> None:
    with pytest.raises(ModelError, match="writes 'A long word' as more than one token"):
        letter_ids(policy.tokenizer, ["A long word"])


def test_the_turn_begins_without_the_fence_of_a_program(policy: Policy) -> None:
    ids = reader_prompt_ids(policy.tokenizer, [Message("user", "Q")])
    assert "```" not in policy.tokenizer.decode(ids)
