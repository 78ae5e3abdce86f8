from __future__ import annotations

import contextlib
import errno
import operator
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_as_judge.errors import ProcessError
from llm_as_judge.processes import ProcessPool, WorkerEnded

SOURCE = """import operator
from llm_as_judge.processes import ProcessPool
print("main runs")
pool = ProcessPool(2)
print(pool.submit(operator.add, 40, 2).result())
pool.close()
"""


class UnpicklableError(Exception):
    """Its arguments are not what it is made of."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raise_unpicklable() -> None:
    raise UnpicklableError(1, 2)


def cannot_prepare() -> None:
    raise ValueError("no algebra here")


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    with contextlib.closing(ProcessPool(2)) as opened:
        yield opened


def require_gone(group: int) -> None:
    """No process of a group is left, at the latest when the kernel has buried it."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError(f"processes of group {group} are left")


def test_a_worker_that_dies_ends_alone(pool: ProcessPool) -> None:
    dying = [pool.submit(os._exit, code) for code in (0, 3)]
    others = [pool.submit(operator.mul, n, n) for n in range(20)]
    for future in dying:
        with pytest.raises(WorkerEnded, match="_exit ended before it replied"):
            future.result()
    assert [future.result() for future in others] == [n * n for n in range(20)]


def test_a_worker_that_stands_still_is_ended(pool: ProcessPool) -> None:
    with pytest.raises(WorkerEnded):
        pool.submit(time.sleep, 3600, idle_s=0.05).result()
    assert pool.submit(operator.add, 1, 2, idle_s=600).result() == 3


def use_processor(cpu_s: float) -> float:
    while time.process_time() < cpu_s:
        pass
    return time.process_time()


def test_a_worker_that_works_may_take_longer_than_it_may_stand_still(pool: ProcessPool) -> None:
    assert pool.submit(use_processor, 1.0, idle_s=0.4).result() >= 1.0


def test_a_worker_serves_one_task_after_the_other() -> None:
    with contextlib.closing(ProcessPool(1)) as pool:
        seen = {pool.submit(os.getpid).result() for _ in range(5)}
    assert len(seen) == 1
    assert os.getpid() not in seen


def test_what_a_function_raises_is_raised_here_with_its_place(pool: ProcessPool) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        pool.submit(operator.truediv, 1, 0).result()
    assert "in a worker process:" in str(raised.value.__cause__)
    assert "ZeroDivisionError" in str(raised.value.__cause__)
    with pytest.raises(RuntimeError, match="UnpicklableError: 1 and 2"):
        pool.submit(raise_unpicklable).result()
    with pytest.raises(OSError, match=os.strerror(errno.ENOENT)):
        pool.submit(os.listdir, "/no/such/folder").result()


def test_a_preparation_that_fails_says_why() -> None:
    with contextlib.closing(ProcessPool(1, cannot_prepare)) as pool:
        for _ in range(2):
            with pytest.raises(ProcessError, match="did not start: ValueError: no algebra here"):
                pool.submit(os.getpid).result()


def test_workers_that_were_all_killed_are_started_anew(pool: ProcessPool) -> None:
    group = pool.submit(os.getpgrp).result()
    os.killpg(group, 9)
    with contextlib.suppress(ProcessError):  # one task may see that its worker has died
        pool.submit(os.getpid).result()
    assert pool.submit(os.getpgrp).result() != group


def test_closing_ends_what_is_running_and_a_later_task_starts_anew() -> None:
    pool = ProcessPool(1)
    group = pool.submit(os.getpgrp).result()
    running, waiting = pool.submit(time.sleep, 3600), pool.submit(operator.add, 1, 1)
    while not running.running():  # a task that no thread has taken yet would be cancelled
        time.sleep(0.01)
    pool.close()
    with pytest.raises(WorkerEnded):
        running.result()
    assert waiting.cancelled() or isinstance(waiting.exception(), WorkerEnded)
    require_gone(group)
    assert pool.submit(operator.add, 1, 1).result() == 2
    pool.close()


@pytest.mark.parametrize("way", ["script", "-c", "stdin", "interactive"])
def test_the_callers_program_is_not_run_again_however_it_was_started(
    way: str, tmp_path: Path
) -> None:
    (tmp_path / "plain.py").write_text(SOURCE)
    arguments, typed = {
        "script": (["plain.py"], ""),
        "-c": (["-c", SOURCE], ""),
        "stdin": (["-"], SOURCE),
        "interactive": (["-i", "-q"], SOURCE),
    }[way]
    found = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        input=typed,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert found.stdout.splitlines() == ["main runs", "42"]
    assert found.stderr.replace(">>>", "").strip() == ""
    assert found.returncode == 0


@pytest.mark.slow
def test_a_script_that_forgets_to_close_ends_with_its_workers(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(
        "import os\nfrom llm_as_judge.processes import ProcessPool\n"
        "print(ProcessPool(1).submit(os.getpgrp).result())\n"
    )
    command = [sys.executable, "plain.py"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    require_gone(int(found.stdout))
