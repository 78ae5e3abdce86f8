"""A long command says how much is done; what was done before does not count as work to come."""

import re

import pytest

from llm_as_judge.cli import pace
from llm_as_judge.cli.pace import Pace


def test_work_done_before_takes_no_time_and_is_not_expected_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(now)))
    monkeypatch.setattr(pace, "SAY_EVERY_S", 0.0)
    monkeypatch.setattr(pace, "ENOUGH", 2)
    work = Pace("runs made", 10)
    work.found(6)
    for _ in range(4):
        work.did()
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [
        "1 runs made of about 4, 6 were there before",
        "2 runs made of about 4, 0:00:02 left, 6 were there before",
    ]
    assert lines[-1].startswith("4 runs made of about 4, 0:00:00 left")


def test_more_than_expected_leaves_nothing_and_not_less(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pace, "SAY_EVERY_S", 0.0)
    monkeypatch.setattr(pace, "ENOUGH", 1)
    work = Pace("runs made", 1)
    work.did()
    work.did()
    assert re.match(
        r"2 runs made of about 2, 0:00:00 left$", capsys.readouterr().err.splitlines()[-1]
    )
