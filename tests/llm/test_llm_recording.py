from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.errors import ContextError, EndpointError, ModelError, OutputError
from llm_as_judge.llm.billing import billed_to
from llm_as_judge.llm.ledger import Ledger, Price
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.recording import Outcome, Recording
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.shared import OffsetDraws, request_digest
from llm_as_judge.types import ChatReply, ChatRequest, Message, Usage


def ask(text: str = "2+2?", draw: int = 0) -> ChatRequest:
    return ChatRequest((Message("user", text),), max_tokens=16, draw=draw)


async def test_a_known_reply_is_given_without_asking_and_says_so(tmp_path: Path) -> None:
    ledger = Ledger()
    first = RecordedChat(ScriptedChat(["4"], ledger=ledger), Recording(tmp_path), "cache")
    assert (await first.chat(ask())).cached is False
    again = RecordedChat(
        ScriptedChat([]), Recording(tmp_path), "cache", name="scripted", ledger=ledger
    )
    reply = await again.chat(ask())
    assert (reply.text, reply.cached) == ("4", True)
    assert (ledger.total.calls, ledger.total.cached_calls) == (1, 1)
    with pytest.raises(EndpointError):
        await again.chat(ask(draw=1))


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

    paid, replayed = Ledger(), Ledger()
    model = ScriptedChat(answer, name="m", price=Price(1.0, 2.0), ledger=paid, delay_s=0.001)
    seen = await run(RecordedChat(model, Recording(tmp_path / "r"), "record", ledger=paid))
    for ledger in (replayed, Ledger()):
        replay = RecordedChat(None, Recording(tmp_path / "r"), "replay", name="m", ledger=ledger)
        assert await run(replay) == seen
    assert seen[3:5] == [
        ("EndpointError", "executor: timeout (4 tries)"),
        ("ContextError", "executor: too_long"),
    ]
    assert replayed.total.cost_usd == paid.total.cost_usd
    assert replayed.total.tokens == paid.total.tokens
    assert replayed.total.cached_calls == paid.total.cached_calls == 1


async def test_an_unknown_call_in_a_replay_is_a_clear_error_not_a_lost_rollout(
    tmp_path: Path,
) -> None:
    await RecordedChat(ScriptedChat(["4"]), Recording(tmp_path), "record").chat(ask())
    replay = RecordedChat(None, Recording(tmp_path), "replay", name="scripted")
    with pytest.raises(ModelError, match=r"was not asked this .* \(draw 3, '2\+2\?'\)"):
        await replay.chat(ask(draw=3))


def test_a_replay_of_nothing_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no recorded calls"):
        RecordedChat(None, Recording(tmp_path / "none"), "replay")
    with pytest.raises(ValueError, match="needs a model"):
        RecordedChat(None, Recording(tmp_path), "cache")


async def test_failures_are_not_cached(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    with pytest.raises(EndpointError):
        await RecordedChat(ScriptedChat([], name="m"), recording, "cache").chat(ask())
    chat = RecordedChat(ScriptedChat(["4"], name="m"), recording, "cache")
    assert (await chat.chat(ask())).text == "4"


async def test_a_draw_is_the_same_reply_whoever_asks_for_it(tmp_path: Path) -> None:
    model = ScriptedChat(["one", "two", "three"])
    chat = RecordedChat(model, Recording(tmp_path), "record")
    sampled = ChatRequest((Message("user", "2+2?"),), 16, temperature=0.7, seed=3)
    texts = []
    for rollout, offset in (("r1", 0), ("r2", 0), ("r1", 1), ("r3", 1)):
        with billed_to(rollout=rollout):
            texts.append((await OffsetDraws(chat, offset).chat(sampled)).text)
    texts.append((await chat.chat(sampled.later(1))).text)  # the second call from offset 0
    texts.append((await OffsetDraws(chat, 1).chat(sampled.later(1))).text)
    assert texts == ["one", "one", "two", "two", "two", "three"]


def put(recording: Recording, text: str) -> str:
    key = request_digest("m", ask(text))
    reply = ChatReply(f"reply to {text}", "stop", Usage(1, 2), 0.5, 1.25)
    recording.put(key, {"model": "m", "request": ask(text)}, Outcome(reply))
    return key


def text_of(outcome: Outcome | None) -> str:
    assert outcome is not None
    assert outcome.reply is not None
    return outcome.reply.text


@given(st.text(max_size=60))
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("recording")
    with closing(Recording(folder)) as recording:
        key = put(recording, text)
    with closing(Recording(folder)) as reopened:
        assert text_of(reopened.get(key)) == f"reply to {text}"


def test_a_half_written_line_costs_only_itself(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    first, second = put(recording, "one"), put(recording, "two")
    recording.close()
    (segment,) = tmp_path.glob("*.jsonl")
    segment.write_bytes(segment.read_bytes()[:-20])
    reopened = Recording(tmp_path)
    assert text_of(reopened.get(first)) == "reply to one"
    assert reopened.get(second) is None
    put(reopened, "two")
    assert text_of(Recording(tmp_path).get(second)) == "reply to two"


def test_damaged_lines_are_set_aside_and_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recording = Recording(tmp_path)
    good, bad = put(recording, "one"), put(recording, "two")
    (segment,) = tmp_path.glob("*.jsonl")
    lines = segment.read_bytes().splitlines(keepends=True)
    changed = lines[1].replace(b"reply to two", b"reply to TWO")
    segment.write_bytes(b"\x00\xffgarbage\n" + lines[0] + changed)
    reopened = Recording(tmp_path)
    assert text_of(reopened.get(good)) == "reply to one"
    assert reopened.get(bad) is None
    assert reopened.damaged == 2
    assert segment.with_suffix(".damaged").read_bytes() == b"\x00\xffgarbage\n"
    assert "its digest does not fit" in caplog.text


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_llm_recording import put
from llm_as_judge.llm.recording import Recording
recording = Recording(Path(sys.argv[1]))
for number in range(200):
    put(recording, f"{sys.argv[2]} {number}" if number % 2 else f"shared {number}")
"""


def test_processes_write_at_once_without_loss(tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, name, here]) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    recording = Recording(tmp_path)
    assert len(recording) == 300
    assert recording.damaged == 0
    assert text_of(recording.get(request_digest("m", ask("b 199")))) == "reply to b 199"


def test_replies_of_another_process_are_seen_while_running(tmp_path: Path) -> None:
    mine, theirs = Recording(tmp_path), Recording(tmp_path)
    key = put(theirs, "new")
    assert text_of(mine.get(key)) == "reply to new"


def test_a_packed_recording_is_one_file_equal_for_equal_content(tmp_path: Path) -> None:
    for name, order in (("x", "abc"), ("y", "cab")):
        recording = Recording(tmp_path / name)
        for text in order:
            put(recording, text)
        recording.pack(tmp_path / f"{name}.jsonl")
    packed = (tmp_path / "x.jsonl").read_bytes()
    assert packed == (tmp_path / "y.jsonl").read_bytes()
    assert all(json.loads(line)["content"]["asked"]["model"] == "m" for line in packed.splitlines())
    key = request_digest("m", ask("b"))
    assert text_of(Recording(tmp_path / "x.jsonl").get(key)) == "reply to b"


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        put(Recording(tmp_path / "file" / "folder"), "x")
    recording = Recording(tmp_path / "ok")
    put(recording, "x")
    with pytest.raises(OutputError, match="cannot be written"):
        recording.pack(tmp_path / "file" / "packed.jsonl")
