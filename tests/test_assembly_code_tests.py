"""The check of code rows: what it has found to be without fault it does not try again."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from llm_as_judge.assembly import code_tests
from llm_as_judge.assembly.code_tests import CodeTestCheck
from llm_as_judge.errors import IsolationError
from llm_as_judge.types import Problem, Sandbox

GOOD = Problem("o/t/1", "o", "code", "?", entry_point="f", hidden_tests=("assert f(1) == 2",))
BAD = Problem("o/t/2", "o", "code", "?", entry_point="f", hidden_tests=("assert True",))


async def no_sandbox(*_: object, **__: object) -> Sandbox:
    raise IsolationError("no sandbox here")


@pytest.mark.slow
def test_rows_without_a_fault_are_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    check = CodeTestCheck("auto", tmp_path)
    assert check([GOOD]) == [""]
    assert "only raises" in check([GOOD, BAD])[1]
    monkeypatch.setattr(code_tests, "open_sandbox", no_sandbox)
    with caplog.at_level(logging.WARNING):
        assert check([GOOD]) == [""]
    assert not caplog.records


def test_without_a_sandbox_it_is_said_that_nothing_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(code_tests, "open_sandbox", no_sandbox)
    assert CodeTestCheck("auto", tmp_path)([BAD]) == [""]
    assert "tests of 1 code rows are not tried: no sandbox here" in caplog.text
    assert not list(tmp_path.iterdir())
