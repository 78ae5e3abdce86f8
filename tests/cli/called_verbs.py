"""A verb called as a person calls it and what came of it; rows to evaluate, and a task of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llm_as_judge.cli import main
from llm_as_judge.types import Problem

ROWS = {
    "gsm8k": [
        Problem(f"gsm8k/test/{n}", "gsm8k", "math", f"What is {n} + 1?", (str(n + 1),))
        for n in range(4)
    ],
    "hotpotqa": [
        Problem(f"hotpotqa/test/{n}", "hotpotqa", "qa", f"Who lit lamp {n}?", ("Edna",))
        for n in range(2)
    ],
}
OPTIONS = (
    *("--config", "embedded", "--executor", "scripted", "--set", "judge.kind=llm"),
    *("--set", "data.sets=[gsm8k,hotpotqa]", "--limit", "3"),
)
"""Of a small evaluation of ``ROWS``."""
ADDRESS = "openai:some/model:7b@http://127.0.0.1:9/v1"


class Verbs:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """(exit status, standard output, standard error)"""
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(list(arguments))
        captured = self._capsys.readouterr()
        assert isinstance(caught.value.code, int)
        return caught.value.code, captured.out, captured.err

    def done(self, *arguments: str) -> tuple[str, str]:
        """(standard output, standard error) of a verb that ends well."""
        code, out, err = self(*arguments)
        assert code == 0, out + err
        return out, err

    def refused(self, *arguments: str, status: int = 2) -> str:
        """The one line that the error is."""
        code, out, err = self(*arguments)
        assert code == status, out + err
        lines = [line for line in err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1
        assert "Traceback" not in out + err
        return lines[0]


def written(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def rows(math: int = 12, qa: int = 0) -> str:
    """The file of a task of one's own, with so many rows of each type."""
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
    """What init said of that file."""
    out, err = verb.done("init", "mine.jsonl", "--executor", executor, *more)
    return out + err
