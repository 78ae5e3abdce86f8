"""Estimates that scripts/estimates.py holds against the truth."""

from __future__ import annotations

import sys
from pathlib import Path

import estimates


def test_an_estimate_is_held_against_the_time_until_the_next_part_begins() -> None:
    lines = [
        (0.0, " 0:00  part 1 of 2, bank: 0 of 8 runs"),
        (10.0, "part 1 of 2, bank: 1 of 8 runs, about 9 min left"),  # before a quarter
        (40.0, "part 1 of 2, bank: 4 of 8 runs, about 45 s left; busy: others take 1 of 2 cores"),
        (50.0, "warm start: 12 updates"),
        (60.0, "part 1 of 2, bank: 6 of 8 runs, about 1 h 2 min left"),
        (90.0, "part 1 of 2, bank: 7 of 8 runs, about 5 s left"),  # in the last half minute
        (100.0, "part 2 of 2, training: 0 of 2 steps"),
        (100.0, "step 1 of 2: 60 s, right 50%, about 2 min left; operators custom 2"),
        (220.0, "checkpoint step_2"),
        (230.0, "part 2 of 2, training: 0 of 2 steps"),
    ]
    bank, training, again = estimates.parts_of(lines, 300.0)
    assert (bank.name, bank.seconds) == ("part 1 of 2, bank", 100.0)
    assert bank.ratios == (45 / 60, 3720 / 40)
    assert bank.near == 1
    assert training.ratios == (1.0,)
    assert (training.seconds, again.seconds, again.ratios) == (120.0, 70.0, ())


def test_a_followed_file_is_read_to_its_end(tmp_path: Path) -> None:
    log = tmp_path / "walk.log"
    code = f"open({str(log)!r}, 'w').write('runs: 1 of 2 rows, about 2 min left\\n')"
    lines, seconds, status = estimates.lines_of([sys.executable, "-c", code], log)
    assert [line for _, line in lines] == ["runs: 1 of 2 rows, about 2 min left"]
    assert (status, [part.name for part in estimates.parts_of(lines, seconds)]) == (0, ["runs"])
