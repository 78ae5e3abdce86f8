"""A pool that is copied without its rows holds no text of them, and is read by who asks the same."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from pool_values import WEIGHTS, ask, damaged, put, text_of

from llm_as_judge.errors import ModelError, OutputError
from llm_as_judge.llm.pool import POOL, Pool
from llm_as_judge.llm.pool_sharing import copy_without_prompts
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.recording import COMMON, Outcome
from llm_as_judge.llm.rounds import fill_to, filled
from llm_as_judge.llm.scripted import ScriptedChat


def asked(text: str, draw: int = 0) -> dict[str, object]:
    return {"model": "m", "request": ask(text, draw, seed=5)}


ROW = "A very particular shop in Zaragoza sells 48 turquoise clips in April"


def test_a_pool_without_prompts_is_read_by_who_asks_and_holds_no_text_of_a_row(
    tmp_path: Path,
) -> None:
    said = [f"{ROW}, so 48 + {draw} are sold." for draw in range(3)]
    with closing(Pool(tmp_path / "whole")) as pool:
        pool.of("m", WEIGHTS)
        keys = [put(pool, ROW, draw, said[draw]) for draw in range(3)]
        pool.put("f" * 64, {"program": ROW}, Outcome(error="cut off"))
        pool.note("drawn", "a row", {"question": ROW})
        fill_to(pool, "m", 3)
        assert copy_without_prompts(pool.path.parent, tmp_path / "bare") == 3
        assert text_of(pool.get(keys[1])) == said[1]  # the pool itself stays as it was
    with closing(Pool(tmp_path / "bare")) as bare:
        assert [text_of(bare.get(key, asked(ROW, n))) for n, key in enumerate(keys)] == said
        assert (damaged(bare), filled(bare, "m"), list(bare.notes("drawn"))) == (0, 3, [])
        assert (list(bare.asked()), bare.get("f" * 64)) == ([], None)
        assert bare.draws("m", ask(ROW, seed=5)) == [0, 1, 2]
        texts = [bare._texts.packed(b"")]
        with closing(sqlite3.connect(tmp_path / "bare" / POOL)) as database:
            texts += [blob for (blob,) in database.execute("SELECT outcome FROM replies")]
    held = (tmp_path / "bare" / POOL).read_bytes()
    for word in ("Zaragoza", "turquoise", "clips"):
        assert word.encode() not in held
    for blob in texts[1:]:
        with pytest.raises(zlib.error):
            zlib.decompress(blob)
        with pytest.raises(zlib.error):
            zlib.decompressobj(zdict=COMMON).decompress(blob)


def test_replies_that_a_pool_without_prompts_gets_later_are_read_like_the_others(
    tmp_path: Path,
) -> None:
    with closing(Pool(tmp_path / "whole")) as pool:
        put(pool, ROW, 0)
        copy_without_prompts(pool.path.parent, tmp_path / "bare")
    with closing(Pool(tmp_path / "bare")) as bare:
        later, other = put(bare, ROW, 1), put(bare, "another", 0)
        assert text_of(bare.get(later, asked(ROW, 1))) == f"reply 1 to {ROW}"
        assert text_of(bare.get(other, asked("another"))) == "reply 0 to another"
        assert [one["request"]["messages"][0]["content"] for one in bare.asked()] == ["another"]
        assert damaged(bare) == 0
        again = copy_without_prompts(bare.path.parent, tmp_path / "again")
    with closing(Pool(tmp_path / "again")) as second:
        assert again == len(second) == 3
        assert text_of(second.get(later, asked(ROW, 1))) == f"reply 1 to {ROW}"
        assert text_of(second.get(other, asked("another"))) == "reply 0 to another"


async def test_a_run_replays_a_pool_without_prompts(tmp_path: Path) -> None:
    first = Pool(tmp_path / "whole")
    await RecordedChat(ScriptedChat(["4"]), first, "cache", name="m").chat(ask())
    copy_without_prompts(first.path.parent, tmp_path / "bare")
    before = (tmp_path / "bare" / POOL).read_bytes()
    with closing(Pool(tmp_path / "bare")) as bare:
        replay = RecordedChat(None, bare, "replay", name="m")
        assert (await replay.chat(ask())).text == "4"
        with pytest.raises(ModelError, match="was not asked this"):
            await replay.chat(ask("3+3?"))
    assert (tmp_path / "bare" / POOL).read_bytes() == before


def test_a_copy_without_prompts_replaces_no_pool(tmp_path: Path) -> None:
    with closing(Pool(tmp_path)) as pool:
        with pytest.raises(OutputError, match="there already; name another folder"):
            copy_without_prompts(pool.path.parent, tmp_path)
        assert len(pool) == 0


def test_a_damaged_reply_of_a_pool_without_prompts_is_found(tmp_path: Path) -> None:
    with closing(Pool(tmp_path / "whole")) as pool:
        key = put(pool, "one")
        copy_without_prompts(pool.path.parent, tmp_path / "bare")
    with closing(sqlite3.connect(tmp_path / "bare" / POOL)) as database, database:
        database.execute("UPDATE replies SET outcome = CAST(outcome || x'00' AS BLOB)")
    with closing(Pool(tmp_path / "bare")) as bare:
        assert damaged(bare) == 1
        assert (bare.get(key, asked("one")), bare.damaged) == (None, 1)


def test_the_script_says_what_it_wrote_or_what_is_missing(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "recipes" / "pool_without_prompts.py"

    def said(folder: Path) -> tuple[int, str]:
        command = [sys.executable, str(script), str(folder), str(tmp_path / "out")]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    with closing(Pool(tmp_path / "pool")) as pool:
        put(pool, "one")
    assert said(tmp_path / "none") == (
        2,
        f"error: {tmp_path / 'none'}: no pool.sqlite in it; run: llm-as-judge pool fill\n",
    )
    status, words = said(tmp_path / "pool")
    assert (status, words.startswith("1 replies without prompts in ")) == (0, True)
