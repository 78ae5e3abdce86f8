"""A verb called as a person calls it, and what came of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_as_judge.cli import main


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
