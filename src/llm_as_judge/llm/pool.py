"""Replies by request and draw in one SQLite file: a pool that any number of runs share, or the recording
of one run.

A reply is found by the SHA-256 of model, request and draw (:func:`request_digest`); what was asked
is kept once for all its draws, and all texts are compressed against one dictionary. SQLite's
write-ahead log is what makes it safe: a reply is in the file or not, whenever a process is killed,
and two that write wait for each other for the moment of one insert. Nothing is read but what is
asked for, so opening and memory do not grow with the pool.

JSON lines are its export (:meth:`Pool.export`): they can be compared and committed. A replay reads them into
memory, and a new pool takes in those of its folder.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from llm_as_judge.errors import ConfigError, ModelError, OutputError
from llm_as_judge.files import output_errors, write_atomically
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.llm.recording import (
    COMMON,
    Outcome,
    Texts,
    canonical,
    first_draw,
    line_of,
    read_line,
    row_digest,
    sha256,
)
from llm_as_judge.types import ChatRequest, from_json, to_json

log = logging.getLogger(__name__)

POOL = "pool.sqlite"
"""File in the folder of replies."""
FORMAT = 1
_PATIENCE_S = 60.0
"""For another process that is writing."""
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE origins (id INTEGER PRIMARY KEY, model TEXT NOT NULL, facts TEXT NOT NULL, UNIQUE (model, facts));
CREATE TABLE prompts (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, asked BLOB NOT NULL);
CREATE TABLE replies (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, prompt INTEGER NOT NULL,
    draw INTEGER NOT NULL, origin INTEGER NOT NULL, kept_at INTEGER NOT NULL, read INTEGER NOT NULL,
    written INTEGER NOT NULL, digest BLOB NOT NULL, outcome BLOB NOT NULL);
CREATE INDEX draws ON replies (prompt, draw);
CREATE TABLE notes (topic TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (topic, name)) WITHOUT ROWID;
"""


def is_pool(folder: Path) -> bool:
    """Whether the replies of this folder are in a pool."""
    return (folder / POOL).is_file()


class Pool:
    """Outcomes by key in ``folder/pool.sqlite``, which is made if missing.

    A pool in a folder that cannot be written is read alone.

    Args:
        one_run: a new one is the recording of one run: it belongs to no weights, and its draws are those
            of that run.
        lines: ``folder`` holds JSON lines, or is a file of them, and no pool: they are read into memory, and
            nothing is written.
    Raises:
        ModelError: the file is no pool, or damaged.
        OutputError: the folder cannot be written.
    """

    def __init__(self, folder: Path, *, one_run: bool = False, lines: bool = False) -> None:
        self.path = folder if lines else folder / POOL
        self.damaged = 0
        """Replies that could not be used."""
        self._origins: dict[str, str] = {}
        self._writable = lines or not is_pool(folder) or os.access(folder, os.W_OK)
        if not lines:
            with output_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
        self._texts = Texts(COMMON)
        memory = sqlite3.connect(":memory:", isolation_level=None) if lines else None
        self._database = memory or self._opened()
        with self._errors():
            if self._writable:
                self._make_tables(folder, one_run or lines)
            facts = dict(self._database.execute("SELECT name, value FROM facts"))
        if facts.get("format") != FORMAT:
            raise ModelError(
                f"{self.path}: a pool of format {facts.get('format')}, wanted {FORMAT}; it is of "
                "another version: name another calls.folder"
            )
        self._texts = Texts(bytes(facts["common"]))
        self.one_run = bool(facts.get("one_run"))

    def __len__(self) -> int:
        with self._errors():
            return int(self._database.execute("SELECT COUNT(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Nothing is asked of it after this."""
        self._database.close()

    @property
    def remedy(self) -> str:
        """What to do about a call that is not there."""
        if self.one_run:
            return "the run differs from the recorded one: record again"
        return "fill the pool for it (llm-as-judge pool fill), or ask what is missing: calls.mode=cache"

    # ------------------------------------------------------------------------------------ replies
    def get(self, key: str, asked: Any = None) -> Outcome | None:
        """What is known for ``key``, also by another process and since a moment ago.

        Args:
            asked: as for :meth:`put`; a reply whose prompt the pool does not hold is read with it.
        """
        with self._errors():
            found = self._database.execute(
                "SELECT r.digest, r.outcome, length(p.asked) = 0 FROM replies r "
                "JOIN prompts p ON p.id = r.prompt WHERE r.key = ?",
                (bytes.fromhex(key),),
            ).fetchone()
        if found is None:
            return None
        digest, packed, apart = found
        texts = self._texts
        if apart:
            texts = texts.beside(canonical(first_draw(to_json(asked))[0]))
        try:
            if row_digest(key, packed) != digest:
                raise ValueError("its digest does not fit")  # noqa: TRY301
            outcome: Outcome = from_json(Outcome, json.loads(texts.unpacked(packed)))
        except (ValueError, TypeError, zlib.error) as error:
            self.damaged += 1
            log.warning(
                "%s: a damaged reply is not used and will be asked again: %s", self.path, error
            )
            if self._writable:
                with self._writing() as database:
                    database.execute("DELETE FROM replies WHERE key = ?", (bytes.fromhex(key),))
            return None
        return outcome

    def put(self, key: str, asked: Any, outcome: Outcome) -> None:
        """Keep one outcome; the first of a key stays.

        Args:
            asked: ``{"model", "request"}`` of a call, or what else was asked, dataclass or JSON.
        Raises:
            OutputError: the file cannot be written, or another process does not let go of it.
        """
        with self._writing():
            self._insert(key, to_json(asked), outcome)

    def draws(self, model: str, request: ChatRequest, until: int | None = None) -> list[int]:
        """The draws of this request that are held, in order.

        Args:
            until: number of the last reply that counts (:attr:`last`); None = all count.
        """
        asked, _ = first_draw({"model": model, "request": to_json(request)})
        with self._errors():
            rows = self._database.execute(
                "SELECT draw FROM replies WHERE prompt = (SELECT id FROM prompts WHERE digest = ?) "
                "AND id <= coalesce(?, id) ORDER BY draw",
                (sha256(canonical(asked)), until),
            )
            return [draw for (draw,) in rows]

    @property
    def last(self) -> int:
        """Number of the reply that was put last; they only grow. 0 = there is none."""
        with self._errors():
            (last,) = self._database.execute("SELECT coalesce(max(id), 0) FROM replies").fetchone()
        return int(last)

    def asked(self) -> Iterator[Any]:
        """What was asked for each reply, as JSON, the oldest first; nothing of prompts it does not hold."""
        with self._errors():
            for packed, draw in self._database.execute(
                "SELECT p.asked, r.draw FROM replies r JOIN prompts p ON p.id = r.prompt "
                "WHERE length(p.asked) > 0 ORDER BY r.id"
            ):
                first = json.loads(self._texts.unpacked(packed))
                request = first.get("request") if isinstance(first, dict) else None
                if not isinstance(request, dict):
                    yield first
                    continue
                seed = request["seed"]
                later = {"draw": draw, "seed": None if seed is None else seed + draw}
                yield {**first, "request": {**request, **later}}

    def export(self, target: Path) -> None:
        """All outcomes as JSON lines, sorted by key: equal pools give equal bytes.

        Raises:
            ModelError: a reply is damaged, or cannot be read without its prompt, which is not here.
            OutputError: the file cannot be written.
        """
        with self._errors():
            keys = [key for (key,) in self._database.execute("SELECT key FROM replies ORDER BY id")]
        asked = list(self.asked())
        if len(asked) < len(keys):
            raise ModelError(f"{self.path}: a pool without its prompts cannot be exported")
        with write_atomically(target) as file:
            for key, one in sorted(zip((key.hex() for key in keys), asked, strict=True)):
                outcome = self.get(key)
                if outcome is None:
                    raise ModelError(f"{self.path}: a reply is damaged; export again without it")
                file.write(line_of(key, one, outcome))

    # ------------------------------------------------------------------------------------ origins
    def of(self, model: str, facts: Mapping[str, str]) -> str:
        """From now on replies of ``model`` come from what ``facts`` say: ``weights``, which must be
        those of all its replies, and what else decides what is asked (``prompts``, ``seed``).

        Returns:
            A line where all its replies were asked otherwise, so that none of them may fit; else "".
        Raises:
            ConfigError: the pool has replies of other weights under this name.
        """
        with self._errors():
            rows = self._database.execute(
                "SELECT facts FROM origins WHERE model = ? ORDER BY id", (model,)
            ).fetchall()
        earlier: list[dict[str, str]] = [json.loads(text) for (text,) in rows]
        for other in earlier:
            if other.get("weights", facts["weights"]) != facts["weights"]:
                raise ConfigError(
                    f"{self.path}: its replies of {model} are of weights {other['weights'][:12]}, "
                    f"and now they are {facts['weights'][:12]}; name another calls.folder"
                )
        self._origins[model] = json.dumps(dict(facts), sort_keys=True)
        alike = (all(one.get(n, v) == v for n, v in facts.items()) for one in earlier)
        if not earlier or any(alike):
            return ""
        changed = sorted(n for n, v in facts.items() if earlier[-1].get(n, v) != v)
        return (
            f"{self.path}: other {' and '.join(changed)} than its replies of {model} were asked "
            "with: what is asked otherwise now is asked anew, and kept beside them"
        )

    # -------------------------------------------------------------------------------------- notes
    def note(self, topic: str, name: str, value: Any) -> None:
        """Keep a JSON value beside the replies; a later one of the same name counts."""
        with self._writing() as database:
            database.execute(
                "INSERT OR REPLACE INTO notes VALUES (?, ?, ?)",
                (topic, name, self._texts.packed(canonical(value))),
            )

    def notes(self, topic: str) -> Iterator[tuple[str, Any]]:
        """(name, value) of each note of a topic, by name."""
        with self._errors():
            for name, value in self._database.execute(
                "SELECT name, value FROM notes WHERE topic = ? ORDER BY name", (topic,)
            ):
                yield name, json.loads(self._texts.unpacked(value))

    # -------------------------------------------------------------------------------------- parts
    def _opened(self) -> sqlite3.Connection:
        mode = "rwc" if self._writable else "ro"
        if not self._writable and not self.path.with_name(f"{POOL}-wal").exists():
            mode = "ro&immutable=1"  # nobody writes, and the log's index cannot be made here
        with self._errors():
            return sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_PATIENCE_S,
                isolation_level=None,
            )

    def _make_tables(self, folder: Path, one_run: bool) -> None:
        database = self._database
        known = "SELECT 1 FROM sqlite_master WHERE name = 'facts'"
        if database.execute(known).fetchone() is None:
            database.execute("PRAGMA journal_mode = WAL")
            with self._writing():
                if database.execute(known).fetchone() is None:  # another process was first
                    for statement in filter(str.strip, _TABLES.split(";")):
                        database.execute(statement)
                    facts = [("format", FORMAT), ("common", COMMON), ("one_run", int(one_run))]
                    database.executemany("INSERT INTO facts VALUES (?, ?)", facts)
                    for lines in sorted(folder.glob("*.jsonl")) if folder.is_dir() else [folder]:
                        self._take_in(lines)
        # A killed process loses nothing; a power cut at most what came last, and never the file.
        database.execute("PRAGMA synchronous = NORMAL")

    def _insert(self, key: str, asked: Any, outcome: Outcome) -> None:
        database, reply = self._database, outcome.reply
        shown, draw = first_draw(asked)
        text = canonical(shown)
        digest = sha256(text)
        database.execute(
            "INSERT OR IGNORE INTO prompts (digest, asked) VALUES (?, ?)",
            (digest, self._texts.packed(text)),
        )
        ((apart,),) = database.execute(
            "SELECT length(asked) = 0 FROM prompts WHERE digest = ?", (digest,)
        )
        texts = self._texts.beside(text) if apart else self._texts
        packed = texts.packed(canonical(to_json(outcome)))
        model = shown.get("model", "") if isinstance(shown, Mapping) else ""
        origin = self._origins.get(model, "{}")
        database.execute(
            "INSERT OR IGNORE INTO origins (model, facts) VALUES (?, ?)", (model, origin)
        )
        database.execute(
            "INSERT OR IGNORE INTO replies (key, prompt, draw, origin, kept_at, read, written, digest, "
            "outcome) VALUES (?, (SELECT id FROM prompts WHERE digest = ?), ?, (SELECT id FROM origins "
            "WHERE model = ? AND facts = ?), ?, ?, ?, ?, ?)",
            (
                bytes.fromhex(key),
                digest,
                draw,
                model,
                origin,
                int(time.time()),
                reply.usage.prompt_tokens if reply else 0,
                reply.usage.completion_tokens if reply else 0,
                row_digest(key, packed),
                packed,
            ),
        )

    def _take_in(self, lines: Path) -> None:
        """What a file of JSON lines holds; none where there is no such file."""
        if not lines.is_file():
            return
        for begin, _, line in JsonLines(lines).lines():
            try:
                key, asked, outcome = read_line(line)
            except (ValueError, TypeError, KeyError) as error:
                self.damaged += 1
                log.warning("%s: damaged at byte %d, not taken in: %s", lines, begin, error)
                continue
            self._insert(key, asked, outcome)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of the block, or nothing."""
        with self._errors():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def _errors(self) -> contextlib.AbstractContextManager[None]:
        return database_errors(self.path)


@contextlib.contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """What SQLite says of a pool's file, in our words.

    Raises:
        OutputError: it cannot be opened or written.
        ModelError: it is damaged.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OutputError(
            f"{path}: cannot be used: {error}; free the disk, mend its rights, or name "
            "another calls.folder"
        ) from None
    except (sqlite3.DatabaseError, zlib.error, json.JSONDecodeError, UnicodeError) as error:
        raise ModelError(
            f"{path}: damaged, or no pool: {' '.join(str(error).split())}; move it away and fill another, or name "
            "another calls.folder"
        ) from None
