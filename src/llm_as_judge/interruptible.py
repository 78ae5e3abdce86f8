"""Long work in a thread that ends soon after the coroutine which waits for it is cancelled.

Nothing stops a thread from outside. What takes minutes in a library (a download, the unpacking of weights) runs
in a child process, which can be ended; loops and waits of our own call :func:`check` between their parts.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_WAIT_S = 0.05


class Interrupted(Exception):  # noqa: N818 (no error: nobody waits any more)
    """The coroutine that waited for this work was cancelled."""


class _Work:
    """What one thread has in hand."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._children: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()

    def stop(self) -> None:
        self.stopped.set()
        with self._guard:
            for child in self._children:
                _kill(child)

    @contextmanager
    def holding(self, child: subprocess.Popen[bytes]) -> Iterator[None]:
        with self._guard:
            self._children.add(child)
        if self.stopped.is_set():
            _kill(child)
        try:
            yield
        finally:
            with self._guard:
                self._children.discard(child)


_WORK: ContextVar[_Work | None] = ContextVar("work", default=None)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``asyncio.to_thread`` whose child processes, waits and loops end when this is cancelled."""
    work = _Work()
    token = _WORK.set(work)
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except asyncio.CancelledError:
        work.stop()
        raise
    finally:
        _WORK.reset(token)


def check() -> None:
    """
    Raises:
        Interrupted: nobody waits for this thread's work any more.
    """
    work = _WORK.get()
    if work is not None and work.stopped.is_set():
        raise Interrupted


def run(
    command: Sequence[str], *, timeout_s: float | None = None, show_errors: bool = False
) -> subprocess.CompletedProcess[str]:
    """A child process and what it wrote. Its standard input ends with this process, however that ends.

    Args:
        show_errors: its standard error is ours: for progress that a person watches.
    Raises:
        Interrupted: nobody waits any more; the child is gone.
        subprocess.TimeoutExpired: likewise, after ``timeout_s``.
    """
    work = _WORK.get()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=None if show_errors else errors,
            start_new_session=True,  # signals of the terminal are for us, who end it with its children
        )
        try:
            with contextlib.nullcontext() if work is None else work.holding(child):
                child.wait(timeout_s)
        finally:
            _kill(child)
            child.wait()
            assert child.stdin is not None
            child.stdin.close()
        check()
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return subprocess.CompletedProcess(command, child.returncode, *texts)


def _kill(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the file ``path``, made if it is missing, once no other process does.

    Raises:
        Interrupted: nobody waits any more.
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                check()
                time.sleep(_WAIT_S)
        yield
