"""Requests and replies that tests of the pool keep and read."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recording import Outcome, row_digest
from llm_as_judge.llm.shared import request_digest
from llm_as_judge.types import ChatReply, ChatRequest, Message, Usage

WEIGHTS = {"weights": "a" * 64, "prompts": "p1", "seed": "0"}


def ask(text: str = "2+2?", draw: int = 0, seed: int | None = None) -> ChatRequest:
    first = ChatRequest((Message("user", text),), 16, temperature=0.7, seed=seed)
    return first.later(draw)


def put(kept: Pool, text: str, draw: int = 0, said: str | None = None) -> str:
    request = ask(text, draw, seed=5)
    key = request_digest("m", request)
    said = f"reply {draw} to {text}" if said is None else said
    reply = ChatReply(said, "stop", Usage(3, 2), 0.5, 1.25)
    kept.put(key, {"model": "m", "request": request}, Outcome(reply))
    return key


def damaged(kept: Pool) -> int:
    """Replies in the file that are not as they were put."""
    with closing(sqlite3.connect(kept.path)) as database:
        assert database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        rows = database.execute("SELECT key, digest, outcome FROM replies").fetchall()
    return sum(row_digest(key.hex(), packed) != digest for key, digest, packed in rows)


def text_of(outcome: Outcome | None) -> str:
    assert outcome is not None
    assert outcome.reply is not None
    return outcome.reply.text
