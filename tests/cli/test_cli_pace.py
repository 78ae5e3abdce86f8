"""A long command says how much is done; what was done before does not count as work to come."""

import pytest

from llm_as_judge.views import console as pace
from llm_as_judge.views.console import Pace, clock


class Clock:
    """The seconds that a test says it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)

    def did(self, work: Pace, *at: float) -> None:
        for self.now in at:
            work.did()


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_work_done_before_counts_and_takes_no_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seconds: Clock
) -> None:
    monkeypatch.setattr(pace, "SAY_EVERY_S", 0.0)
    monkeypatch.setattr(pace, "ENOUGH", 2)
    work = Pace("runs", 10)
    work.found(6)
    seconds.did(work, 1, 2, 3, 4)
    work.ended()
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [
        "7 of about 10 runs, 6 of them from before",
        "8 of about 10 runs, 6 of them from before, about 0:02 left",
    ]
    assert lines[3] == "10 of about 10 runs, 6 of them from before, about 0:00 left"
    assert lines[4:] == ["10 runs, 6 of them from before, 0:04"]


def test_the_first_line_comes_with_the_first_that_is_done_and_the_last_says_how_long_it_took(
    capsys: pytest.CaptureFixture[str], seconds: Clock
) -> None:
    work = Pace("runs", 104)
    seconds.did(work, *range(2, 27, 3), 41, 50, 517)
    work.ended()
    assert capsys.readouterr().err.splitlines() == [
        "1 of about 104 runs",
        "10 of about 104 runs, about 6:25 left",
        "12 of about 104 runs, about 1:06:04 left",
        "12 runs, 8:37",
    ]


def test_more_than_expected_leaves_nothing_and_not_less(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pace, "SAY_EVERY_S", 0.0)
    monkeypatch.setattr(pace, "ENOUGH", 1)
    work = Pace("runs", 1)
    work.did()
    work.did()
    assert capsys.readouterr().err.splitlines()[-1] == "2 of about 2 runs, about 0:00 left"


def test_nothing_done_now_has_no_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    work = Pace("runs", 3)
    work.found(3)
    work.ended()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("seconds_", "shown"), [(0, "0:00"), (59.6, "1:00"), (3723, "1:02:03")])
def test_a_time_is_shown_as_a_clock_does(seconds_: float, shown: str) -> None:
    assert clock(seconds_) == shown
