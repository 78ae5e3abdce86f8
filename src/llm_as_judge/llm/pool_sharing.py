"""A pool without its rows: the replies of one, copied without what was asked.

Each reply is compressed against its prompt, so that what it repeats of a row is not in the file either:
only who asks the same can read it (:meth:`Pool.get`).
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

from llm_as_judge.errors import OutputError
from llm_as_judge.files import output_errors
from llm_as_judge.llm.pool import POOL, database_errors
from llm_as_judge.llm.recording import Texts, row_digest
from llm_as_judge.llm.rounds import NOTES


def copy_without_prompts(source: Path, folder: Path) -> int:
    """Copy the replies of the pool in ``source`` to one in ``folder``. What the pool keeps beside
    replies to calls (programs, notes) is left out.

    Returns:
        Replies copied.
    Raises:
        OutputError: there is a pool, or the folder cannot be written.
        ModelError: ``source`` holds no pool, or a damaged one.
    """
    place = folder / POOL
    if place.exists():
        raise OutputError(f"{place}: there already; name another folder")
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    part = place.with_suffix(".part")
    part.unlink(missing_ok=True)
    with database_errors(source / POOL):
        with contextlib.closing(sqlite3.connect(source / POOL)) as pool:
            pool.execute("VACUUM INTO ?", (str(part),))
        with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, which reading does not change
            copy.execute("BEGIN IMMEDIATE")
            _take_prompts_out(copy)
            (count,) = copy.execute("SELECT COUNT(*) FROM replies").fetchone()
            copy.execute("COMMIT")
            copy.execute("VACUUM")
    part.replace(place)
    return int(count)


def _take_prompts_out(copy: sqlite3.Connection) -> None:
    (common,) = copy.execute("SELECT value FROM facts WHERE name = 'common'").fetchone()
    whole = Texts(bytes(common))
    copy.execute("DROP TABLE IF EXISTS segments")  # of pools that took lines in bit by bit
    copy.execute(f"DELETE FROM notes WHERE topic NOT IN ({', '.join('?' * len(NOTES))})", NOTES)
    held = "SELECT id, asked FROM prompts WHERE length(asked) > 0"
    for number, asked in copy.execute(held).fetchall():
        text = whole.unpacked(asked)
        content = json.loads(text)
        if not (isinstance(content, dict) and "request" in content):  # not what a call asked
            copy.execute("DELETE FROM replies WHERE prompt = ?", (number,))
            copy.execute("DELETE FROM prompts WHERE id = ?", (number,))
            continue
        beside = whole.beside(text)
        replies = copy.execute(
            "SELECT id, key, outcome FROM replies WHERE prompt = ?", (number,)
        ).fetchall()
        for reply, key, packed in replies:
            apart = beside.packed(whole.unpacked(packed))
            copy.execute(
                "UPDATE replies SET outcome = ?, digest = ? WHERE id = ?",
                (apart, row_digest(key.hex(), apart), reply),
            )
        copy.execute("UPDATE prompts SET asked = x'' WHERE id = ?", (number,))
