from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pool_values import ask, put, text_of

from llm_as_judge.errors import ContextError, EndpointError, ModelError, OutputError
from llm_as_judge.llm.billing import billed_to
from llm_as_judge.llm.ledger import Ledger, Price
from llm_as_judge.llm.pool import POOL, Pool
from llm_as_judge.llm.pool_sharing import copy_without_prompts
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.recording import Outcome
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.shared import OffsetDraws, request_digest
from llm_as_judge.types import ChatReply, ChatRequest, Execution, Message


async def test_a_replay_gives_replies_failures_and_bill_of_the_recorded_run(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        asked = request.messages[0].content
        if asked == "down":
            raise EndpointError("executor: timeout (4 tries)")
        if asked == "long":
            raise ContextError("executor: too_long")
        return f"echo {asked} {request.draw}"

    async def run(chat: RecordedChat) -> list[object]:
        requests = [ask("a"), ask("a", 1), ask("b"), ask("down"), ask("long"), ask("a")]
        outcomes = await asyncio.gather(*map(chat.chat, requests), return_exceptions=True)
        return [(type(o).__name__, str(o)) if isinstance(o, Exception) else o for o in outcomes]

    def unmarked(outcomes: list[object]) -> list[object]:
        return [replace(o, cached=False) if isinstance(o, ChatReply) else o for o in outcomes]

    paid, replayed = Ledger(), Ledger()
    model = ScriptedChat(answer, name="m", price=Price(1.0, 2.0), ledger=paid, delay_s=0.001)
    seen = await run(RecordedChat(model, Pool(tmp_path / "r"), "record", ledger=paid))
    for ledger in (replayed, Ledger()):
        replay = RecordedChat(None, Pool(tmp_path / "r"), "replay", name="m", ledger=ledger)
        assert unmarked(await run(replay)) == unmarked(seen)
    assert seen[3:5] == [
        ("EndpointError", "executor: timeout (4 tries)"),
        ("ContextError", "executor: too_long"),
    ]
    assert replayed.total.cost_usd == paid.total.cost_usd
    assert replayed.total.tokens == paid.total.tokens
    assert replayed.total.cached_calls == paid.total.cached_calls == 1


def test_a_replay_of_nothing_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no recorded calls"):
        RecordedChat(None, Pool(tmp_path / "none"), "replay")
    with pytest.raises(ValueError, match="needs a model"):
        RecordedChat(None, Pool(tmp_path), "cache")


async def test_failures_are_not_cached(tmp_path: Path) -> None:
    recording = Pool(tmp_path)
    with pytest.raises(EndpointError):
        await RecordedChat(ScriptedChat([], name="m"), recording, "cache").chat(ask())
    chat = RecordedChat(ScriptedChat(["4"], name="m"), recording, "cache")
    assert (await chat.chat(ask())).text == "4"


async def test_a_draw_is_the_same_reply_whoever_asks_for_it(tmp_path: Path) -> None:
    model = ScriptedChat(["one", "two", "three"])
    chat = RecordedChat(model, Pool(tmp_path), "record")
    sampled = ChatRequest((Message("user", "2+2?"),), 16, temperature=0.7, seed=3)
    texts = []
    for rollout, offset in (("r1", 0), ("r2", 0), ("r1", 1), ("r3", 1)):
        with billed_to(rollout=rollout):
            texts.append((await OffsetDraws(chat, offset).chat(sampled)).text)
    texts.append((await chat.chat(sampled.later(1))).text)  # the second call from offset 0
    texts.append((await OffsetDraws(chat, 1).chat(sampled.later(1))).text)
    assert texts == ["one", "one", "two", "two", "two", "three"]


@settings(max_examples=30)
@given(st.text(max_size=60))
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("recording")
    with closing(Pool(folder)) as recording:
        key = put(recording, text)
        recording.export(folder / "lines.jsonl")
    with closing(Pool(folder / "lines.jsonl", lines=True)) as reopened:
        assert text_of(reopened.get(key)) == f"reply 0 to {text}"


def test_a_half_written_and_a_damaged_line_cost_only_themselves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recording = Pool(tmp_path / "recorded")
    texts = {put(recording, text): text for text in ("one", "two", "three")}
    lines = tmp_path / "lines.jsonl"
    recording.export(lines)
    first, second, third = lines.read_bytes().splitlines(keepends=True)
    lines.write_bytes(
        b"\x00\xffgarbage\n" + first.replace(b"reply", b"REPLY") + second + third[:-20]
    )
    reopened = Pool(lines, lines=True)
    found = [reopened.get(key) for key in sorted(texts)]
    assert [outcome is not None for outcome in found] == [False, True, False]
    assert text_of(found[1]) == f"reply 0 to {texts[sorted(texts)[1]]}"
    assert reopened.damaged == 2
    assert f"{lines}: damaged at byte 0, not taken in" in caplog.text
    assert "its digest does not fit" in caplog.text


def test_exported_lines_are_equal_for_equal_content_and_a_new_pool_takes_them_in(
    tmp_path: Path,
) -> None:
    for name, order in (("x", "abc"), ("y", "cab")):
        recording = Pool(tmp_path / name, one_run=True)
        for text in order:
            put(recording, text)
        recording.put("f" * 64, {"program": "p"}, Outcome(execution=Execution("timeout")))
        recording.export(tmp_path / f"{name}.jsonl")
    packed = (tmp_path / "x.jsonl").read_bytes()
    assert packed == (tmp_path / "y.jsonl").read_bytes()
    key = request_digest("m", ask("b", seed=5))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "calls.jsonl").write_bytes(packed)
    replayed = Pool(tmp_path / "new", lines=True)
    assert not (tmp_path / "new" / POOL).exists()
    for pool in (replayed, Pool(tmp_path / "new")):
        assert text_of(pool.get(key)) == "reply 0 to b"
        assert pool.get("f" * 64) == Outcome(execution=Execution("timeout"))
    assert (replayed.one_run, Pool(tmp_path / "x").one_run, pool.one_run) == (True, True, False)


def test_a_pool_without_its_prompts_is_not_exported(tmp_path: Path) -> None:
    put(Pool(tmp_path / "whole"), "a")
    copy_without_prompts(tmp_path / "whole", tmp_path / "bare")
    with pytest.raises(ModelError, match="without its prompts cannot be exported"):
        Pool(tmp_path / "bare").export(tmp_path / "lines.jsonl")


def test_lines_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    recording = Pool(tmp_path / "ok")
    put(recording, "x")
    with pytest.raises(OutputError, match="cannot be written"):
        recording.export(tmp_path / "file" / "packed.jsonl")
