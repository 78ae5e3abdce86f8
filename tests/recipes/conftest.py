"""A documented script, started in this process as `python SCRIPT ARGUMENTS` starts it in one of its own."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable

import pytest

from documented import ROOT

Start = Callable[..., tuple[int, str, str]]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Start:
    """(exit status, standard output, standard error) of a script, named from the root, and its arguments."""

    def started(script: str, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", [script, *arguments])
        monkeypatch.setattr(sys, "path", [*sys.path])
        capsys.readouterr()
        status = 0
        try:
            runpy.run_path(str(ROOT / script), run_name="__main__")
        except SystemExit as ended:
            status = int(ended.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    return started
