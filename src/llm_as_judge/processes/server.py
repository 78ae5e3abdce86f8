"""The process that makes workers: a program of its own, which forks one for each socket it gets.

``multiprocessing`` imports the caller's main module in every process that it starts, so a script
without ``if __name__ == "__main__"`` would run again in each. Here nothing of the caller is imported
but its search path. What workers need is loaded once, before they are forked: the heir of a killed
worker is there at once. This process has one thread, so that a fork leaves no lock held.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import struct
import time
import traceback
from collections.abc import Callable
from typing import Any

_LENGTH = struct.Struct("!Q")
_CHUNK = 2**20
_IDLE_CPU_S = 0.001
"""Processor seconds from one alarm to the next that are no work."""


class Raised:
    """What a function raised in a worker, and where."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.error, self.where = error, where


def send(channel: socket.socket, message: bytes) -> None:
    """One message to the other side.

    Raises:
        OSError: the other side is gone.
    """
    channel.sendall(_LENGTH.pack(len(message)) + message)


def receive(channel: socket.socket) -> bytes | None:
    """One message of the other side; None if it is gone."""
    head = _exactly(channel, _LENGTH.size)
    return None if head is None else _exactly(channel, _LENGTH.unpack(head)[0])


def _exactly(channel: socket.socket, count: int) -> bytes | None:
    found = bytearray()
    while len(found) < count:
        try:
            chunk = channel.recv(min(count - len(found), _CHUNK))
        except ConnectionError:
            return None
        if not chunk:
            return None
        found += chunk
    return bytes(found)


def main(descriptor: int) -> None:
    """Prepares as told, then forks a worker for each socket that comes, until the caller is gone.

    Args:
        descriptor: the socket to the caller.
    """
    control = socket.socket(fileno=descriptor)
    # Ctrl-C in a terminal is for the caller alone. A session of its own would do that, too, but the
    # kernel schedules sessions apart: on a busy machine a short task then took three times as long.
    os.setpgid(0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries the workers
    order = receive(control)
    if order is None:
        return
    prepare: Callable[[], None] | None = pickle.loads(order)  # noqa: S301 - of our caller
    if prepare is not None:
        prepare()
    gc.freeze()  # what was loaded stays shared between the workers
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            return
        if os.fork() == 0:
            control.close()
            _serve_and_exit(socket.socket(fileno=descriptors[0]))
        os.close(descriptors[0])


def _serve_and_exit(caller: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        _serve(caller)
    except ConnectionError:
        pass  # the caller is gone: nobody is left to be told
    except BaseException:  # noqa: BLE001 - a bug: said where the caller looks, and never run on
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _serve(caller: socket.socket) -> None:
    signal.signal(signal.SIGALRM, _IdleWatch())
    send(caller, b"ready")
    while (order := receive(caller)) is not None:
        send(caller, _reply(order))


class _IdleWatch:
    """Ends this process at the second alarm in a row since which it has not used its processor. After
    the first the whole machine may just have been stopped."""

    def __init__(self) -> None:
        self._used_s = 0.0
        self._idle_alarms = 0

    def __call__(self, *_: object) -> None:
        used_s = time.process_time()
        idle = used_s - self._used_s < _IDLE_CPU_S
        self._used_s, self._idle_alarms = used_s, (self._idle_alarms + 1) * idle
        if self._idle_alarms == 2:
            os.kill(os.getpid(), signal.SIGKILL)


def _reply(order: bytes) -> bytes:
    """The pickled result of an order, or a pickled :class:`Raised`."""
    try:
        idle_s, function, args = pickle.loads(order)  # noqa: S301 - of our caller
        signal.setitimer(signal.ITIMER_REAL, idle_s, idle_s)
        reply = pickle.dumps(function(*args))
    except Exception as error:  # noqa: BLE001 - it is raised again on the caller's side
        reply = _raised(error)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    return reply


def _raised(error: Exception) -> bytes:
    where = traceback.format_exc()
    try:
        pickled = pickle.dumps(Raised(error, where))
        pickle.loads(pickled)  # noqa: S301 - our own; some errors cannot be read back
    except Exception:  # noqa: BLE001 - an error of any kind may be one that cannot be pickled
        told: Any = RuntimeError(f"{type(error).__name__}: {error}")
        pickled = pickle.dumps(Raised(told, where))
    return pickled
