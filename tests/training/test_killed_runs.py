"""Killed with -9 at random moments, a run ends as if nothing had happened, and pays nothing twice.

``KILLS=20 pytest tests/training/test_killed_runs.py -s`` kills twenty times (``make kills``).
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from killable_runs import (
    GROUPS,
    SAMPLES,
    STEPS,
    Death,
    Endpoint,
    descendants,
    ended,
    left_over,
    load_once,
    paid_twice,
    require_equal,
    resume_options,
    started,
    unbroken,
    wait_for,
)

from llm_as_judge.jsonl import JsonLines
from llm_as_judge.runs.runlog import PENDING, ROLLOUTS

KILLS = int(os.environ.get("KILLS", "0"))
pytestmark = pytest.mark.skipif(not KILLS, reason="kills whole runs: `make kills`")
# Not under coverage either: a signal's exception inside its collector's lock hangs the run.


@pytest.fixture
def place(served_place: Path) -> Path:
    return served_place


@pytest.mark.slow
@pytest.mark.parametrize("staleness", [0, 1])
def test_a_run_killed_at_random_moments_ends_as_the_unbroken_one(
    place: Path, endpoint: Endpoint, staleness: int
) -> None:
    load_once("assembly.trainer")
    began = time.monotonic()
    unbroken(place, "reference", staleness)
    seconds = time.monotonic() - began
    moments, kills, reused, number = random.Random(staleness), 0, 0, 0
    while kills < KILLS:
        name, deaths, options = f"killed{number}", list[Death](), list[str]()
        number += 1
        run = place / name / "run"
        first_request, began = len(endpoint.asked), time.monotonic()
        while True:
            process = started(place, name, staleness, *options)
            process.join(moments.uniform(0.1, 1.0) * seconds if kills < KILLS else None)
            if process.exitcode is not None:
                break
            process.kill()
            process.join()
            kills += 1
            deaths.append(Death(ended(run), len(endpoint.asked)))
            options = resume_options(place, name)  # before its first checkpoint it had not begun
        assert process.exitcode == 0, (place / f"{name}.log").read_text()
        if not deaths:  # a machine that was busy during the reference would put all kills too late
            seconds = min(seconds, time.monotonic() - began)
        require_equal(place, name, "reference")
        assert len(endpoint.asked) > first_request
        assert paid_twice(deaths, endpoint.asked, run) == []
        reused += sum(len(death.ended) for death in deaths)
    print(  # noqa: T201
        f"\nstaleness {staleness}: {kills} kills in {number} runs of {STEPS} steps x "
        f"{GROUPS * SAMPLES} rollouts; {reused} finished rollouts found after a kill, none paid "
        "twice; rollouts, metrics and adapter equal to the unbroken run's"
    )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_training_with_one_line_and_leaves_nothing_behind(
    place: Path, number: int, status: int
) -> None:
    process = started(place, "stopped", 1)
    run, log = place / "stopped" / "run", place / "stopped.log"
    wait_for(run / ROLLOUTS)
    children = descendants(process.pid)
    os.kill(process.pid, number)
    process.join(120)
    assert process.exitcode == status, log.read_text()
    said = log.read_text()
    assert said.splitlines()[-1] == "stopped; finished rollouts, steps and checkpoints are kept"
    assert "Traceback" not in said
    assert children
    assert not left_over(children)
    resumed = started(place, "stopped", 1, "--resume")
    resumed.join()
    assert resumed.exitcode == 0, log.read_text()
    assert [row["step"] for row in JsonLines(run / "metrics.jsonl").rows()] == list(
        range(1, STEPS + 1)
    )


@pytest.mark.slow
def test_a_second_trainer_and_other_settings_are_refused_with_one_line(
    place: Path, endpoint: Endpoint
) -> None:
    endpoint.open.clear()  # the first one cannot end before the second has been refused
    first = started(place, "twice", 1)
    log = place / "twice.log"
    wait_for(place / "twice" / "run" / PENDING)
    second = started(place, "twice", 1, "--resume")
    second.join()
    first.kill()
    first.join()
    endpoint.open.set()
    assert second.exitcode == 2, log.read_text()
    assert f"process {first.pid} is training here" in log.read_text()
    changed = started(place, "twice", 1, "--resume", "--set", "training.learning_rate=0.5")
    changed.join()
    assert changed.exitcode == 2, log.read_text()
    assert "were made with training.learning_rate = 0.001, now it is 0.5" in log.read_text()
    as_before = started(place, "twice", 1, "--resume")
    as_before.join()
    assert as_before.exitcode == 0, log.read_text()
