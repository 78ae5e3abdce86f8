"""The recording of one run: outcomes of calls as lines of text, found by a key.

What runs share is the pool (``pool.py``); a recording repeats one run byte for byte, and can be read,
compared and committed. It is a folder of ``*.jsonl`` segments (or one such file). Each process appends to a segment
of its own, one line an outcome, so processes never wait for each other and one that is killed loses
at most the line it was writing. A line is found by its key, a SHA-256,
and carries a digest of its content; nothing is pickled or evaluated.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from llm_as_judge.errors import ContentFilterError, ContextError, EndpointError
from llm_as_judge.files import output_errors, write_atomically
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.llm.billing import Attempt
from llm_as_judge.types import ChatReply, Completion, Execution, from_json, to_json
from llm_as_judge.types.plain import said_if_set

log = logging.getLogger(__name__)

_HEAD = b'{"key":"'
_KEY_CHARS = 64


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: a reply, or the failure after all tries; or a run cut off in time; or
    what the policy wrote for a prompt."""

    reply: ChatReply | None = None
    execution: Execution | None = None
    completions: tuple[Completion, ...] | None = None
    error: str = ""
    too_long: bool = False
    filtered: bool = said_if_set(False)
    attempts: tuple[Attempt, ...] = ()
    """What it was billed for: a replay books the same."""

    def give(self) -> ChatReply:
        if self.reply is None:
            if self.filtered:
                raise ContentFilterError(self.error)
            raise (ContextError if self.too_long else EndpointError)(self.error)
        return self.reply


class Outcomes(Protocol):
    """Outcomes by key, on disk: a :class:`Recording` or a pool."""

    @property
    def path(self) -> Path: ...

    @property
    def remedy(self) -> str:
        """What to do about a call that is not there."""
        ...

    def __len__(self) -> int: ...

    def get(self, key: str, asked: Any = None) -> Outcome | None:
        """What is known; ``asked`` as for ``put``."""
        ...

    def put(self, key: str, asked: Any, outcome: Outcome) -> None: ...

    def close(self) -> None: ...


class Recording:
    """Outcomes by key, in ``path``: a folder (made if missing), or one file to be replayed."""

    remedy = "the run differs from the recorded one: record again"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        """Lines that could not be used and were set aside."""
        self._places: dict[str, tuple[Path, int, int]] = {}
        self._read_to: dict[Path, int] = {}
        self._own: Path | None = None
        self._refresh()

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: str, asked: Any = None) -> Outcome | None:
        """What is known for ``key``; replies that other processes just wrote are seen too."""
        if key not in self._places:
            self._refresh()
        place = self._places.get(key)
        if place is None:
            return None
        try:
            return read_line(_read(*place))[2]
        except (OSError, ValueError, TypeError, KeyError) as error:
            del self._places[key]
            self._report(place[0], str(error))
            return None

    def put(self, key: str, asked: Any, outcome: Outcome) -> None:
        """Append one outcome.

        Args:
            asked: dataclass or JSON; for whoever reads the file.
        Raises:
            OutputError: the folder cannot be written.
        """
        if key in self._places:
            return
        if self._own is None:
            with output_errors(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
            self._own = self.path / f"calls-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        JsonLines(self._own).append(_line(key, asked, outcome))
        self._refresh()

    def close(self) -> None:
        """What is put after this goes to another segment."""
        self._own = None

    # -------------------------------------------------------------------------------------- index
    def _refresh(self) -> None:
        for segment in _segments(self.path):
            start = self._read_to.get(segment, 0)
            try:
                if segment.stat().st_size <= start:
                    continue
                self._scan(segment, start)
            except FileNotFoundError:
                continue  # pruned by another process meanwhile

    def _scan(self, segment: Path, start: int) -> None:
        """Index the whole lines behind ``start``; a line still being written waits."""
        bad: list[bytes] = []
        for begin, end, line in JsonLines(segment).lines(start):
            key = line[len(_HEAD) : len(_HEAD) + _KEY_CHARS].decode("ascii", "replace")
            if line.startswith(_HEAD) and line[len(_HEAD) + _KEY_CHARS :][:2] == b'",':
                self._places.setdefault(key, (segment, begin, end - begin))
            else:
                bad.append(line)
            self._read_to[segment] = end
        if bad:
            self.damaged += len(bad)
            _set_aside(segment, bad)

    def _report(self, segment: Path, what: str) -> None:
        self.damaged += 1
        log.warning("%s: a damaged reply is not used and will be asked again: %s", segment, what)

    def pack(self, target: Path) -> None:
        """All outcomes in one file, sorted by key: equal recordings give equal bytes."""
        with write_atomically(target) as file:
            for key in sorted(self._places):
                file.write(_read(*self._places[key]))


# ------------------------------------------------------------------------------------------- lines
def _line(key: str, asked: Any, outcome: Outcome) -> str:
    content = {"asked": to_json(asked), "outcome": to_json(outcome)}
    text = _canonical({"content": content, "digest": _digest(content)})
    return (_HEAD + key.encode() + b'",' + text[1:]).decode()


def read_line(line: bytes) -> tuple[str, Any, Outcome]:
    """(key, what was asked, outcome) of a line.

    Raises:
        ValueError, TypeError, KeyError: it is damaged.
    """
    data = json.loads(line)
    content = data["content"]
    if _digest(content) != data["digest"]:
        raise ValueError("its digest does not fit")
    return data["key"], content["asked"], from_json(Outcome, content["outcome"])


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: Any) -> str:
    return hashlib.sha256(_canonical(content)).hexdigest()[:16]


def _read(segment: Path, start: int, length: int) -> bytes:
    with segment.open("rb") as file:
        file.seek(start)
        return file.read(length)


def _segments(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(path.glob("*.jsonl"))
    elif path.is_file():
        yield path


def _set_aside(segment: Path, lines: list[bytes]) -> None:
    """Keep what could not be read beside its segment, for whoever wants to know what happened."""
    aside = segment.with_suffix(".damaged")
    log.warning("%s: %d damaged lines, copied to %s; the run goes on", segment, len(lines), aside)
    try:
        aside.write_bytes(b"".join(lines))
    except OSError as error:
        log.warning("%s: cannot be written: %s", aside, error)
