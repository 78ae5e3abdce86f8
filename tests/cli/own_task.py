"""A task of one's own: a file of rows, and init on it."""

from __future__ import annotations

import json

from called_verbs import Verbs, written

ADDRESS = "openai:some/model:7b@http://127.0.0.1:9/v1"


def rows(math: int = 12, qa: int = 0) -> str:
    given: list[dict[str, str]] = [
        {
            "problem": f"What is {n} times {n * n + 7}?",
            "answer": str(n * (n * n + 7)),
            "type": "math",
        }
        for n in range(math)
    ]
    given += [
        {"problem": f"Who keeps key number {n}?", "answer": "Ada", "type": "qa"} for n in range(qa)
    ]
    return written("mine.jsonl", "".join(json.dumps(row) + "\n" for row in given))


def began(verb: Verbs, *more: str, executor: str = ADDRESS) -> str:
    code, out, err = verb("init", "mine.jsonl", "--executor", executor, *more)
    assert code == 0, err
    return out + err


# ---------------------------------------------------------------------------------- what it writes
