"""The pool: nothing that was asked is lost, doubled, mixed with other weights or given damaged."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from pool_values import WEIGHTS, ask, damaged, put, text_of

from llm_as_judge.errors import ConfigError, EndpointError, ModelError, OutputError
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.pool import POOL, Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.recording import Outcome
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.shared import request_digest
from llm_as_judge.types import ChatReply, Usage, to_json


@pytest.mark.parametrize("text", ["", "plain", "é\x00\n", "\ud800", "x" * 100_000], ids=len)
def test_an_outcome_comes_back_as_it_was_put(tmp_path: Path, text: str) -> None:
    reply = ChatReply(text, "length", Usage(1, 2, 3), None, 0.25, attempts=2)
    outcome = Outcome(reply, error="", attempts=())
    with closing(Pool(tmp_path)) as pool:
        pool.put("0" * 64, {"model": "m", "request": ask(text)}, outcome)
        assert pool.get("0" * 64) == outcome
    with closing(Pool(tmp_path)) as reopened:
        assert reopened.get("0" * 64) == outcome
        assert reopened.get("1" * 64) is None


async def test_a_reply_that_one_run_asked_for_is_known_to_the_next(tmp_path: Path) -> None:
    ledger = Ledger()
    first, second = Pool(tmp_path), Pool(tmp_path)
    await RecordedChat(ScriptedChat(["4"], ledger=ledger), first, "cache").chat(ask())
    nobody = ScriptedChat([])
    reply = await RecordedChat(nobody, second, "cache", ledger=ledger).chat(ask())
    assert (reply.text, reply.cached) == ("4", True)
    assert (ledger.total.calls, ledger.total.cached_calls) == (1, 1)
    with pytest.raises(EndpointError):
        await RecordedChat(nobody, second, "cache").chat(ask(draw=1))


async def test_a_replay_of_a_pool_gives_what_it_holds_and_refuses_the_rest(tmp_path: Path) -> None:
    await RecordedChat(ScriptedChat(["4"]), Pool(tmp_path), "cache").chat(ask())
    replay = RecordedChat(None, Pool(tmp_path), "replay", name="scripted")
    assert (await replay.chat(ask())).text == "4"
    with pytest.raises(
        ModelError, match=r"not asked this in .*pool\.sqlite \(draw 1, '2\+2\?'\).*pool fill"
    ):
        await replay.chat(ask(draw=1))


def test_the_draws_of_one_request_are_told_in_order_and_up_to_a_reply(tmp_path: Path) -> None:
    pool = Pool(tmp_path)
    assert pool.last == 0
    put(pool, "a", 3)
    put(pool, "b", 1)
    middle = pool.last
    put(pool, "a", 0)
    assert [pool.draws("m", ask(text, 2, seed=5)) for text in "abc"] == [[0, 3], [1], []]
    assert pool.draws("m", ask("a", seed=5), middle) == [3]


def test_what_was_asked_can_be_read_again(tmp_path: Path) -> None:
    pool, requests = Pool(tmp_path), [ask("a", 2, seed=5), ask("b"), ask("a", 0, seed=5)]
    for number, request in enumerate(requests):
        pool.put(f"{number:064}", {"model": "m", "request": request}, Outcome(error="down"))
    pool.put("f" * 64, ["no request"], Outcome(error="down"))
    wanted = [{"model": "m", "request": to_json(request)} for request in requests]
    assert list(Pool(tmp_path).asked()) == [*wanted, ["no request"]]


def test_what_is_asked_is_kept_once_for_all_its_draws_and_compressed(tmp_path: Path) -> None:
    pool, passage = Pool(tmp_path), " ".join(f"word{n}" for n in range(50_000))
    for draw in range(10):
        put(pool, passage, draw, said="4")
    pool.close()
    assert (tmp_path / POOL).stat().st_size < len(passage) / 2


# ------------------------------------------------------------------------------------- integrity
def test_replies_of_other_weights_under_one_name_are_refused_in_one_line(tmp_path: Path) -> None:
    pool = Pool(tmp_path)
    assert pool.of("m", WEIGHTS) == ""
    put(pool, "a")
    with pytest.raises(ConfigError, match=r"of m are of weights a{12}, and now they are b{12}"):
        Pool(tmp_path).of("m", {**WEIGHTS, "weights": "b" * 64})
    assert Pool(tmp_path).of("other", {**WEIGHTS, "weights": "b" * 64}) == ""


def test_other_prompts_or_another_seed_are_told_of_and_nothing_is_lost(tmp_path: Path) -> None:
    pool = Pool(tmp_path)
    pool.of("m", WEIGHTS)
    key = put(pool, "a")
    again = Pool(tmp_path)
    assert again.of("m", WEIGHTS) == ""
    line = again.of("m", {**WEIGHTS, "prompts": "p2", "seed": "1"})
    assert "other prompts and seed than its replies of m were asked with" in line
    put(again, "b")
    assert text_of(again.get(key)) == "reply 0 to a"
    assert Pool(tmp_path).of("m", {"weights": WEIGHTS["weights"]}) == ""  # the same model as judge


def test_a_changed_reply_is_never_given(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pool = Pool(tmp_path)
    bad, good = put(pool, "one"), put(pool, "two")
    other = sqlite3.connect(tmp_path / POOL)
    other.execute(
        "UPDATE replies SET outcome = (SELECT outcome FROM replies WHERE id = 2) WHERE id = 1"
    )
    other.commit()
    other.close()
    assert damaged(pool) == 1
    assert (pool.get(bad), text_of(pool.get(good))) == (None, "reply 0 to two")
    assert "its digest does not fit" in caplog.text
    put(pool, "one")
    assert text_of(pool.get(bad)) == "reply 0 to one"
    assert damaged(pool) == 0


def test_a_prompt_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    pool = Pool(tmp_path)
    put(pool, "one")
    pool._database.execute("UPDATE prompts SET asked = X'00'")
    with pytest.raises(ModelError, match=r"pool\.sqlite: damaged.*calls\.folder"):
        pool.export(tmp_path / "all.jsonl")


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\1" * 4096])
def test_a_file_that_is_no_pool_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / POOL).write_bytes(content)
    with pytest.raises((ModelError, OutputError), match=r"pool\.sqlite: .*calls\.folder"):
        Pool(tmp_path)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        Pool(tmp_path / "file" / "folder")


# ------------------------------------------------------------------------------------- processes
WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from test_llm_pool import put
from llm_as_judge.llm.pool import Pool
pool = Pool(Path(sys.argv[1]))
for number in range(int(sys.argv[4])):
    put(pool, f"{sys.argv[2]} {number}" if number % 2 else f"shared {number}")
    if number % 10 == 9:
        print(number, flush=True)
"""


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", WRITER, str(folder), name, here, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_of_two_processes_that_write_a_killed_one_loses_nothing_that_it_had_put(
    tmp_path: Path,
) -> None:
    killed, other = writer(tmp_path, "a", 1_000_000), writer(tmp_path, "b", 200)
    assert killed.stdout is not None
    said = [int(killed.stdout.readline()) for _ in range(5)][-1]
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert other.communicate(timeout=120)[0].endswith(b"199\n")
    pool = Pool(tmp_path)
    put_texts = [f"a {number}" for number in range(1, said + 1, 2)]
    put_texts += [f"b {number}" if number % 2 else f"shared {number}" for number in range(200)]
    for text in put_texts:
        assert text_of(pool.get(request_digest("m", ask(text, seed=5)))) == f"reply 0 to {text}"
    held = [asked["request"]["messages"][0]["content"] for asked in pool.asked()]
    assert len(held) == len(set(held)) == len(pool)
    assert damaged(pool) == 0
    put(pool, "goes on")


def test_what_another_process_adds_is_seen_while_running(tmp_path: Path) -> None:
    mine, theirs = Pool(tmp_path), Pool(tmp_path)
    key = put(theirs, "new")
    assert text_of(mine.get(key)) == "reply 0 to new"


# ---------------------------------------------------------------------------------- --------- notes
def test_notes_are_kept_by_topic_and_the_last_of_a_name_counts(tmp_path: Path) -> None:
    pool = Pool(tmp_path)
    for topic, name, value in (("t", "b", 1), ("t", "a", [2]), ("u", "a", 3), ("t", "b", {"x": 4})):
        pool.note(topic, name, value)
    assert list(Pool(tmp_path).notes("t")) == [("a", [2]), ("b", {"x": 4})]
    assert list(pool.notes("u")) == [("a", 3)]
