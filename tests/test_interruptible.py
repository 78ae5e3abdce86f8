"""Long work ends when nobody waits for it any more, with all that it started."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llm_as_judge import interruptible
from llm_as_judge.interruptible import Interrupted, in_thread


def child(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def gone(pid: int) -> bool:
    """Whether the process ends within half a minute, which is far more than it takes."""
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


async def cancelled_once(there: Path, task: asyncio.Task[None]) -> None:
    while not there.is_file():  # noqa: ASYNC110 (another process makes it)
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_child_ends_with_the_coroutine_that_waits_for_its_thread(tmp_path: Path) -> None:
    pid, ended = tmp_path / "pid", asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        code = f"import os, time; open({str(pid)!r} + '.new', 'w').write(str(os.getpid())); os.rename({str(pid)!r} + '.new', {str(pid)!r}); time.sleep(600)"
        try:
            interruptible.run(child(code))
        except Interrupted:
            loop.call_soon_threadsafe(ended.set)

    await cancelled_once(pid, asyncio.create_task(in_thread(work)))
    await ended.wait()
    assert gone(int(pid.read_text()))


async def test_who_waits_for_a_lock_stops_waiting(tmp_path: Path) -> None:
    ended, waiting = asyncio.Event(), tmp_path / "waiting"
    loop = asyncio.get_running_loop()

    def work() -> None:
        waiting.write_text("")
        try:
            with interruptible.lock(tmp_path / "lock"):
                pass
        except Interrupted:
            loop.call_soon_threadsafe(ended.set)

    with interruptible.lock(tmp_path / "lock"):
        await cancelled_once(waiting, asyncio.create_task(in_thread(work)))
        await ended.wait()


def test_what_a_child_says_and_its_status_come_back() -> None:
    done = interruptible.run(
        child("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_a_child_that_takes_too_long_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        interruptible.run(child("import time; time.sleep(600)"), timeout_s=0.2)
