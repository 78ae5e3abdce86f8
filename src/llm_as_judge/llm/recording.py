"""Replies kept on disk: a cache, a recording of a run, and its replay without any endpoint.

A recording is a folder of ``*.jsonl`` segments (or one such file). Each process appends to a segment
of its own, one line a reply, so processes never wait for each other and one that is killed loses
at most the line it was writing. A line is found by the SHA-256 of model, request and draw, and
carries a digest of its content; nothing is pickled or evaluated.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from llm_as_judge.errors import ContextError, EndpointError, ModelError, OutputError
from llm_as_judge.llm.billing import Attempt, Role, current_scope, metered
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.shared import InFlight, request_digest
from llm_as_judge.types import ChatModel, ChatReply, ChatRequest, from_json, to_json

log = logging.getLogger(__name__)

Mode = Literal["cache", "record", "replay"]
"""``cache``: known replies are given at once, marked ``cached``; failures are not kept.
``record``: like it, but failures are kept too and replies are given unmarked, so that a replay
sees exactly what this run saw. ``replay``: known replies only; an unknown call is an error."""

_HEAD = b'{"key":"'
_KEY_CHARS = 64


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: a reply, or the failure after all tries."""

    reply: ChatReply | None = None
    error: str = ""
    too_long: bool = False
    attempts: tuple[Attempt, ...] = ()
    """What it was billed for: a replay books the same."""

    def give(self) -> ChatReply:
        if self.reply is None:
            raise (ContextError if self.too_long else EndpointError)(self.error)
        return self.reply


class Recording:
    """Outcomes by key, in ``path``: a folder (made if missing), or one file to be replayed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        """Lines that could not be used and were set aside."""
        self._places: dict[str, tuple[Path, int, int]] = {}
        self._read_to: dict[Path, int] = {}
        self._own: int | None = None
        self._refresh()

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: str) -> Outcome | None:
        """What is known for ``key``; replies that other processes just wrote are seen too."""
        if key not in self._places:
            self._refresh()
        place = self._places.get(key)
        if place is None:
            return None
        try:
            return _parse(_read(*place))
        except (OSError, ValueError, TypeError, KeyError) as error:
            del self._places[key]
            self._report(place[0], str(error))
            return None

    def put(self, key: str, model: str, request: ChatRequest, outcome: Outcome) -> None:
        """Append one outcome.

        Raises:
            OutputError: the folder cannot be written.
        """
        if key in self._places:
            return
        try:
            if self._own is None:
                self._own = self._open_segment()
            os.write(self._own, _line(key, model, request, outcome))
        except OSError as error:
            raise OutputError(f"recording {self.path}: cannot be written: {error}") from None
        self._refresh()

    def close(self) -> None:
        if self._own is not None:
            os.close(self._own)
            self._own = None

    def _open_segment(self) -> int:
        self.path.mkdir(parents=True, exist_ok=True)
        name = f"calls-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        return os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

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
        with segment.open("rb") as file:
            file.seek(start)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                key = line[len(_HEAD) : len(_HEAD) + _KEY_CHARS].decode("ascii", "replace")
                if line.startswith(_HEAD) and line[len(_HEAD) + _KEY_CHARS :][:2] == b'",':
                    self._places.setdefault(key, (segment, start, len(line)))
                else:
                    bad.append(line)
                start += len(line)
        self._read_to[segment] = start
        if bad:
            self.damaged += len(bad)
            _set_aside(segment, bad)

    def _report(self, segment: Path, what: str) -> None:
        self.damaged += 1
        log.warning("%s: a damaged reply is not used and will be asked again: %s", segment, what)

    # ------------------------------------------------------------------------------------- upkeep
    def prune(self, max_bytes: int) -> int:
        """Delete the oldest segments, never our own, until at most ``max_bytes`` are left.

        Returns:
            Bytes freed.
        """
        own = os.fstat(self._own).st_ino if self._own is not None else -1
        stats = [(s, s.stat()) for s in _segments(self.path)]
        total = before = sum(stat.st_size for _, stat in stats)
        for segment, stat in sorted(stats, key=lambda item: item[1].st_mtime):
            if total <= max_bytes:
                break
            if stat.st_ino != own:
                segment.unlink(missing_ok=True)
                total -= stat.st_size
                self._places = {k: p for k, p in self._places.items() if p[0] != segment}
        return before - total

    def pack(self, target: Path) -> None:
        """All outcomes in one file, sorted by key: equal recordings give equal bytes."""
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        try:
            with temporary.open("wb") as file:
                for key in sorted(self._places):
                    file.write(_read(*self._places[key]))
            temporary.replace(target)
        except OSError as error:
            raise OutputError(f"{target}: cannot be written: {error}") from None
        finally:
            temporary.unlink(missing_ok=True)


class RecordedChat:
    """ChatModel that keeps the replies of ``model`` in a recording, or gives only recorded ones.

    Args:
        model: None in mode ``replay``.
        name: in mode ``replay``, the name of the recorded model.
        by_rollout: keep equal calls of different rollouts apart (``group_draws: independent``).
    """

    def __init__(
        self,
        model: ChatModel | None,
        recording: Recording,
        mode: Mode,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        role: Role = "executor",
        by_rollout: bool = False,
    ) -> None:
        if model is None and mode != "replay":
            raise ValueError(f"mode {mode!r} needs a model")
        if mode == "replay" and not len(recording):
            raise ModelError(f"replay: no recorded calls in {recording.path}; record a run first")
        self._model = model
        self._recording = recording
        self._mode = mode
        self._name = name or (model.name if model is not None else "")
        self._ledger = ledger
        self._role: Role = role
        self._by_rollout = by_rollout
        self._in_flight: InFlight[Outcome] = InFlight()
        self._billed: set[str] = set()

    @property
    def name(self) -> str:
        return self._name

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply, recorded or new.

        Raises:
            ModelError: replay of a call that was not recorded.
            EndpointError: from the model, or as it was recorded.
        """
        extra = current_scope().rollout if self._by_rollout else ""
        key = request_digest(self._name, request, extra)
        known = self._recording.get(key)
        if known is not None and known.reply is None and self._mode == "cache":
            known = None
        if known is None and self._mode == "replay":
            asked = request.messages[-1].content[:80] if request.messages else ""
            raise ModelError(
                f"replay: {self._name} was not asked this in {self._recording.path} (draw "
                f"{request.draw}, {asked!r} ...); the run differs from the recorded one: record again"
            )
        if known is None:
            joined = self._in_flight.has(key)
            outcome = await self._in_flight.run(key, lambda: self._ask(key, request))
            return self._given(outcome, again=joined)
        if self._mode == "replay":
            self._bill(key, known)
        return self._given(known, again=self._mode != "replay")

    async def _ask(self, key: str, request: ChatRequest) -> Outcome:
        assert self._model is not None
        with metered() as attempts:
            try:
                outcome = Outcome(reply=await self._model.chat(request))
            except EndpointError as error:
                if self._mode == "cache":
                    raise
                outcome = Outcome(error=str(error), too_long=isinstance(error, ContextError))
        outcome = replace(outcome, attempts=tuple(attempts))
        self._recording.put(key, self._name, request, outcome)
        return outcome

    def _given(self, outcome: Outcome, *, again: bool) -> ChatReply:
        if again and self._ledger is not None:
            self._ledger.record_cached(self._role)
        reply = outcome.give()
        return replace(reply, cached=True) if again and self._mode == "cache" else reply

    def _bill(self, key: str, known: Outcome) -> None:
        """A replayed call is booked once, as the recorded run paid it: its sums are the same."""
        if self._ledger is None:
            return
        if key in self._billed:
            self._ledger.record_cached(self._role)
            return
        self._billed.add(key)
        self._ledger.record_call(self._role)
        for a in known.attempts:
            self._ledger.record_attempt(
                self._role, a.usage, a.cost_usd, a.seconds, a.failure, a.number
            )


# ------------------------------------------------------------------------------------------- lines
def _line(key: str, model: str, request: ChatRequest, outcome: Outcome) -> bytes:
    content = {"model": model, "request": to_json(request), "outcome": to_json(outcome)}
    text = _canonical({"content": content, "digest": _digest(content)})
    return _HEAD + key.encode() + b'",' + text[1:] + b"\n"


def _parse(line: bytes) -> Outcome:
    data = json.loads(line)
    if _digest(data["content"]) != data["digest"]:
        raise ValueError("its digest does not fit")
    outcome: Outcome = from_json(Outcome, data["content"]["outcome"])
    return outcome


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
