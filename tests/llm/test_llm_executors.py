"""Several executors behind one: routing, keys, sharing and the bill of each."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from llm_as_judge.errors import BudgetError, ModelError
from llm_as_judge.llm.ledger import Budget, Ledger
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.shared import Executors, OffsetDraws, SharedDraws, request_digest
from llm_as_judge.types import ChatRequest, Message, from_json, to_json

ASK = ChatRequest((Message("user", "x"),), 5, temperature=0.7, seed=3, draw=1)
TO_SMALL = ChatRequest(ASK.messages, 5, temperature=0.7, seed=3, draw=1, executor="small")


def executors(ledger: Ledger | None = None) -> tuple[Executors, ScriptedChat, ScriptedChat]:
    ledger = ledger or Ledger()
    default = ScriptedChat(lambda _: "from default", name="big", ledger=ledger)
    small = ScriptedChat(
        lambda _: "from small", name="little", ledger=ledger, role="executor small", written_price=0.25
    )  # fmt: skip
    return Executors(default, {"small": small}), default, small


def test_a_request_that_names_no_executor_has_the_key_that_it_always_had() -> None:
    assert request_digest("m", ASK) == (
        "6b1d32dd183a6f13a6f4d720f99dd2ffbe652e3380f0421093bc8ce49a0615e1"
    )
    assert "executor" not in to_json(ASK)
    assert request_digest("m", TO_SMALL) != request_digest("m", ASK)
    assert from_json(ChatRequest, to_json(TO_SMALL)) == TO_SMALL


async def test_each_request_reaches_the_executor_that_it_names_and_no_model_sees_the_name() -> None:
    every, default, small = executors()
    assert (await every.chat(ASK)).text == "from default"
    assert (await every.chat(TO_SMALL)).text == "from small"
    assert (default.requests, small.requests) == ([ASK], [ASK])
    assert every.name == "big"


async def test_a_name_that_no_executor_has_is_one_line() -> None:
    every, default, small = executors()
    with pytest.raises(ModelError, match=r"no executor 'tiny' \(known: default, small\)"):
        await every.chat(ChatRequest(ASK.messages, 5, executor="tiny"))
    assert not default.requests
    assert not small.requests


async def test_a_group_shares_the_draws_of_each_executor_apart_and_an_offset_is_of_both() -> None:
    ledger = Ledger()
    every, default, small = executors(ledger)
    shared = SharedDraws(OffsetDraws(every, 2), ledger)
    replies = await asyncio.gather(*(shared.chat(ask) for ask in (ASK, TO_SMALL, ASK, TO_SMALL)))
    assert [reply.text for reply in replies] == ["from default", "from small"] * 2
    assert [r.draw for r in (*default.requests, *small.requests)] == [3, 3]
    apart = {role: (sums.calls, sums.cached_calls) for role, sums in ledger.by_role.items()}
    assert apart == {"executor": (1, 1), "executor small": (1, 1)}


async def test_the_bill_counts_each_at_its_own_price() -> None:
    ledger = Ledger()
    every, _, _ = executors(ledger)
    await every.chat(ASK)
    await every.chat(TO_SMALL)
    assert ledger.by_role["executor"].cost == 3 + 0.25
    assert ledger.by_role["executor small"].cost == (3 + 0.25) * 0.25
    assert ledger.total.cost == (3 + 0.25) * 1.25


async def test_a_budget_of_cost_lets_through_what_the_cheaper_one_may_use_at_most() -> None:
    # at most 5 written tokens and 17 of the prompt: 5 + 17 / 4 = 9.25, a quarter of it at `small`
    every, default, small = executors(Ledger(Budget(cost=3.0)))
    assert (await every.chat(TO_SMALL)).text == "from small"
    with pytest.raises(BudgetError, match=r"next call may need 9\.25"):
        await every.chat(ASK)
    assert (default.ledger.total.attempts, small.ledger.total.cost) == (1, 0.8125)


async def test_both_are_kept_apart_and_a_replay_gives_and_books_the_same(tmp_path: Path) -> None:
    bills = []
    for mode in ("record", "replay"):
        recording, ledger = Pool(tmp_path), Ledger()
        _, default, small = executors(ledger)
        live = mode == "record"
        chats = {
            role: RecordedChat(
                model if live else None, recording, "record" if live else "replay",
                name=model.name, ledger=ledger, role=role,
            )
            for role, model in (("executor", default), ("executor small", small))
        }  # fmt: skip
        every = Executors(chats["executor"], {"small": chats["executor small"]})
        assert (await every.chat(ASK)).text == "from default"
        assert (await every.chat(TO_SMALL)).text == "from small"
        bills.append(ledger.snapshot())
    assert bills[0] == bills[1]
    assert len(Pool(tmp_path)) == 2
