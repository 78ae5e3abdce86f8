"""Worker processes that may die: each runs one function of this package at a time.

They start with the first task, so importing and building cost nothing. They work wherever Python
does: in a script with or without a main guard, in a notebook, and in an interactive session. One that
overruns or is killed ends alone; its neighbors go on and another takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any, TypeVar

from llm_as_judge.errors import ProcessError
from llm_as_judge.processes.server import Raised, receive, send

Result = TypeVar("Result")

_BOOT = (
    "import sys; sys.path[:] = sys.argv[2:]; from llm_as_judge.processes.server import main;"
    "main(int(sys.argv[1]))"
)
"""Arguments: a descriptor, and the caller's search path in place of this interpreter's own."""


class WorkerEnded(ProcessError):  # noqa: N818  an outcome that callers handle
    """A worker was killed, overran its time, stood still or ran out of memory before it replied."""


class ProcessPool:
    """Runs functions of this package in processes.

    Args:
        workers: processes at once.
        prepare: run once before workers are made, e.g. to bound their memory and load libraries.
    """

    def __init__(self, workers: int, prepare: Callable[[], None] | None = None) -> None:
        self._workers = workers
        self._prepare = prepare
        self._threads = ThreadPoolExecutor(workers)
        self._lock = threading.Lock()
        """Of what follows: it is held while a server starts, and never by the caller's thread."""
        self._life = 0
        """How often all workers were ended: a task of an earlier life starts none."""
        self._server: _Server | None = None
        self._idle: list[socket.socket] = []

    def submit(
        self, function: Callable[..., Result], *args: Any, idle_s: float = 0.0
    ) -> Future[Result]:
        """``function(*args)`` from a worker.

        Args:
            idle_s: the worker is ended when it has used no processor for this long (at most three
                times as long), as one that waits for what never comes; 0 = it may wait for ever.
                A machine under load ends no worker.
        Returns:
            Its result, or what it raised. :class:`WorkerEnded` if the worker died,
            :class:`ProcessError` if none could be started.
        """
        return self._threads.submit(self._ask, self._life, idle_s, function, args)

    async def run(self, function: Callable[..., Result], *args: Any, idle_s: float = 0.0) -> Result:
        """The same, awaited.

        Raises:
            WorkerEnded: the worker died.
            ProcessError: none could be started.
        """
        return await asyncio.wrap_future(self.submit(function, *args, idle_s=idle_s))

    def close(self) -> None:
        """Ends all workers and what they are at; a later task starts new ones."""
        with self._lock:
            ending, self._threads = self._threads, ThreadPoolExecutor(self._workers)
            self._life += 1
            self._drop_server()
        ending.shutdown(cancel_futures=True)

    async def aclose(self) -> None:
        """The same, awaited."""
        await asyncio.to_thread(self.close)

    # --------------------------------------------------------------------------------- one worker
    def _ask(
        self, life: int, idle_s: float, function: Callable[..., Result], args: tuple[Any, ...]
    ) -> Result:
        order = pickle.dumps((idle_s, function, args))
        server, channel = self._worker(life)
        try:
            send(channel, order)
            reply = receive(channel)
        except OSError:
            reply = None
        if reply is None:
            channel.close()
            name = getattr(function, "__name__", "a function")
            raise WorkerEnded(f"the worker process of {name} ended before it replied")
        self._give_back(server, channel)
        result = pickle.loads(reply)  # noqa: S301 - of our own worker
        if isinstance(result, Raised):
            raise result.error from RuntimeError(f"in a worker process:\n{result.where}")
        answer: Result = result
        return answer

    def _worker(self, life: int) -> tuple[_Server, socket.socket]:
        with self._lock:
            if life != self._life:
                raise WorkerEnded("the worker processes were closed before the task began")
            if self._server is not None:
                channel = self._idle.pop() if self._idle else self._server.worker()
                if channel is not None:
                    return self._server, channel
                self._drop_server()  # it has died
            server = _Server(self._prepare)
            channel = server.worker()
            if channel is None:
                raise ProcessError(f"a worker process did not start: {server.last_words()}")
            self._server = server
            return server, channel

    def _give_back(self, server: _Server, channel: socket.socket) -> None:
        with self._lock:
            if server is self._server:
                self._idle.append(channel)
                return
        channel.close()

    def _drop_server(self) -> None:
        while self._idle:
            self._idle.pop().close()
        if self._server is not None:
            self._server.close()
        self._server = None


class _Server:
    """One life of the process that makes the workers.

    Raises:
        ProcessError: it cannot be started.
    """

    def __init__(self, prepare: Callable[[], None] | None) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with it
        self._control, theirs = socket.socketpair()
        with theirs:  # the only copy left is the server's: its death is then seen
            self._process = self._started(theirs.fileno())
        with contextlib.suppress(OSError):  # it has ended: it will make no worker
            send(self._control, pickle.dumps(prepare))

    def _started(self, descriptor: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [sys.executable, "-c", _BOOT, str(descriptor), *sys.path],
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
            )
        except OSError as error:
            self._control.close()
            self._said.close()
            where = sys.executable or "no interpreter"
            raise ProcessError(f"cannot start a worker process: {where}: {error}") from error

    def worker(self) -> socket.socket | None:
        """The channel to a new worker; None if the server has died."""
        ours, theirs = socket.socketpair()
        with theirs, contextlib.suppress(OSError):
            socket.send_fds(self._control, [b"w"], [theirs.fileno()])
        if receive(ours) is not None:
            return ours
        ours.close()
        return None

    def last_words(self) -> str:
        """What a server that has died said at last; ends it."""
        self._end()
        self._said.seek(0)
        words = self._said.read().decode("utf-8", "replace").strip().splitlines()
        self._said.close()
        return words[-1] if words else "no word of why"

    def close(self) -> None:
        """Ends it and its workers, whatever they are at."""
        self._end()
        self._said.close()

    def _end(self) -> None:
        self._control.close()
        # Before it is waited for: its number is its own, and so is that of its group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()  # it may not have made its group yet
        self._process.wait()
