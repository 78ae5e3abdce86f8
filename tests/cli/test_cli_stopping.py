"""Ctrl-C and SIGTERM, once and again: work is closed in order, its last word is one line."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from llm_as_judge.cli.stopping import Stopped, signals, stoppable

SLOW = """
import asyncio, signal, sys
from llm_as_judge.cli.stopping import Stopped, signals, stoppable, stopped_line

async def work():
    print("begun", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        print("closing", flush=True)
        await asyncio.sleep(1.0)
        print("closed", flush=True)

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
try:
    with signals(), stoppable("all is kept") as stopper:
        try:
            stopper.run(work())
        finally:
            print("written", flush=True)
except Stopped as stop:
    print(stopped_line(["verb"], stop.kept), file=sys.stderr)
    sys.exit(stop.code)
"""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("times", [1, 4])
def test_work_is_closed_and_written_however_often_it_is_stopped(
    number: int, status: int, times: int
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, number)
        assert process.stdout.readline() == "closing\n"
        for _ in range(times - 1):
            os.kill(process.pid, number)
            process.poll()
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (status, "closed\nwritten\n")
    lines = [line for line in err.splitlines() if line]
    assert lines[-1] == "stopped; all is kept"
    assert len(lines) == min(times, 2)
    assert times == 1 or lines[0].startswith("stopping: ")


def test_a_signal_before_or_after_the_work_stops_the_verb_too() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise AssertionError("was to be cancelled")

    def before() -> None:
        with stoppable("k") as stopper:
            os.kill(os.getpid(), signal.SIGTERM)
            stopper.run(work())

    written = []

    def after() -> None:
        with stoppable("k"):
            os.kill(os.getpid(), signal.SIGTERM)
            written.append("results")

    for block in (before, after):
        with signals(), pytest.raises(Stopped) as caught:
            block()
        assert (caught.value.code, caught.value.kept) == (143, "k")
    assert written


def test_what_goes_wrong_by_itself_is_told_as_it_is() -> None:
    async def work() -> None:
        raise ValueError("own")

    with signals(), pytest.raises(ValueError, match="own"), stoppable("k") as stopper:
        stopper.run(work())


def test_a_stopped_process_hears_no_second_signal_in_its_last_words() -> None:
    with pytest.raises(Stopped), signals():
        os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)


STOPPED = """#!/bin/sh
trap 'echo closed; exit 130' INT
echo begun
while :; do sleep 0.01; done
"""


def test_ctrl_c_of_make_run_is_no_error_of_make(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "llm-as-judge"
    command.parent.mkdir()
    command.write_text(STOPPED)
    command.chmod(0o755)
    (tmp_path / ".ready-to-run").touch()
    make, terminal = pty.fork()
    if make == 0:
        os.chdir(Path(__file__).parents[2])
        os.execvp("make", ["make", "run", f"VENV={tmp_path}"])
    seen = b""
    while b"begun" not in seen:
        seen += os.read(terminal, 1024)
    os.write(terminal, b"\x03")
    with suppress(OSError):  # the terminal has gone
        while more := os.read(terminal, 1024):
            seen += more
    os.waitpid(make, 0)
    assert b"closed" in seen
    assert b"Error" not in seen
