"""Entry point of a child: one task from the host, one way to run it, one way out."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from . import confine, packages
from .frames import Channel
from .functions import describe_error, run_function

Runner = Callable[[Channel, dict[str, Any]], None]


def perform(channel: Channel, task: dict[str, Any]) -> None:
    """Runs one task and reports how it ended."""
    try:
        _runner(task["kind"])(channel, task)
    except MemoryError:
        channel.send({"t": "result", "status": "limit", "error": "MemoryError: memory limit"})
    except BaseException as error:  # noqa: BLE001 - SystemExit is one way for a program to fail
        message = describe_error(error)
        error.__traceback__ = None
        _flush_output()
        channel.send({"t": "result", "status": "error", "error": message})


def _runner(kind: str) -> Runner:
    # Imported where needed: asyncio alone costs a fresh interpreter 80 ms.
    if kind in ("solution", "tests", "stubs"):
        from . import grading

        return {
            "solution": grading.serve_solution,
            "tests": grading.run_tests,
            "stubs": grading.try_stubs,
        }[kind]
    if kind == "workflow":
        from . import workflow

        return workflow.run_workflow
    return run_function


def _flush_output() -> None:
    with contextlib.suppress(ValueError):  # closed by the program
        sys.stdout.flush()


def main(descriptor: int, limits: str, folders: str) -> None:  # pragma: no cover - in the child
    """Begins a child that is an interpreter of its own.

    Args:
        limits: JSON, as :func:`confine.limit_resources` takes it.
        folders: JSON, as :func:`packages.show` takes it.
    """
    bounds = json.loads(limits)
    packages.show(json.loads(folders))
    serve_task(descriptor, {descriptor}, lambda: confine.limit_resources(bounds))


def serve_task(
    descriptor: int,
    keep: set[int],
    seal: Callable[[], None],
    warm_up: Callable[[], object] = int,
) -> None:  # pragma: no cover - in the child
    """Serves the one task that arrives on ``descriptor`` and ends the process.

    Args:
        keep: descriptors that stay open; 1 and 2 become what 0 is.
        seal: gives up every right that a program must not have, before the task is even heard.
        warm_up: done while nobody waits yet.
    """
    try:
        confine.close_other_files(keep)
        channel = Channel(socket.socket(fileno=descriptor))
        redirect_output(channel)
        os.environ.clear()
        sys.argv[:] = [""]
        seal()
        if not channel.has_news():
            warm_up()
        perform(channel, channel.receive())
    except (EOFError, OSError):
        os._exit(1)  # the host has hung up
    finally:
        # No atexit handler, no finalizer, no flush of the program's files.
        os._exit(0)


class _FrameOutput(io.RawIOBase):
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        text = self._decoder.decode(bytes(data))
        if text:
            self._channel.send({"t": "out", "text": text})
        return len(data)


def redirect_output(channel: Channel) -> None:
    """Points sys.stdout and sys.stderr at ``channel``, buffered by 8 KiB."""
    raw = io.BufferedWriter(_FrameOutput(channel), 8192)
    stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace")
    sys.stdout = sys.stderr = stream
    sys.stdin = io.StringIO("")
