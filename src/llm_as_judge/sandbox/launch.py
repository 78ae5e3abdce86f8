"""Launch of a child: a fresh interpreter for each run.

The weaker of the two mechanisms. The child has its own process group, resource limits, an empty
environment and no inherited descriptor; it still sees the host's files and network.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox.inside.confine import processor_clock
from llm_as_judge.sandbox.interpreter import host_interpreter, package_folders
from llm_as_judge.types import RunLimits

BOOT = (
    "import sys; sys.path[0] = sys.argv[1]; from inside import {module}; del sys.path[0];"
    "{module}.main(int(sys.argv[2]), *sys.argv[3:])"
)
"""Runs one module of ``inside``: arguments are the folder that holds it, a descriptor, and more."""


@dataclass(frozen=True, slots=True)
class ChildKind:
    """What a child is made for; made ready and sealed, it can serve no run of another kind.

    Args:
        loops: an event loop will run in it (a workflow).
        cpu_s: processor time.
        memory_bytes: address space.
        packages: the packages of :mod:`llm_as_judge.sandbox.interpreter` can be imported.
    """

    loops: bool
    cpu_s: float
    memory_bytes: int
    packages: bool = False

    @property
    def limits(self) -> dict[str, float]:
        return {"cpu_s": self.cpu_s, "memory_bytes": self.memory_bytes}


def child_kind(limits: RunLimits, loops: bool, packages: bool = False) -> ChildKind:
    """What a run with these limits needs."""
    return ChildKind(loops, limits.cpu_s, limits.memory_bytes, packages)


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended: one of exit code and signal, and its processor time."""

    code: int | None
    signal: int | None
    cpu_s: float

    @classmethod
    def of(cls, code: int, cpu_s: float) -> Exit:
        """Of a return code as :mod:`subprocess` gives it: a signal's number is negative."""
        return cls(code, None, cpu_s) if code >= 0 else cls(None, -code, cpu_s)

    def describe(self) -> str:
        if self.signal is None:
            return f"exit code {self.code}"
        try:
            return signal.Signals(self.signal).name
        except ValueError:
            return f"signal {self.signal}"


class Child(Protocol):
    """A running child with the host's end of its channel."""

    @property
    def sock(self) -> socket.socket: ...

    @property
    def lost(self) -> bool:
        """True if the sandbox itself broke before the child's end was seen."""
        ...

    async def processor_s(self) -> float | None:
        """Processor seconds that it has used; None if it has ended."""
        ...

    async def end(self, clean: bool = False) -> Exit:
        """Kills the child with all its descendants and frees what it held.

        Args:
            clean: the child has given its result; how it ends need not be waited for.
        """
        ...


class Launcher(Protocol):
    """Starts children. ``mechanism`` is the name in the isolation report."""

    @property
    def mechanism(self) -> str: ...

    async def start(self, kind: ChildKind) -> Child:
        """
        Raises:
            SandboxError: no child can be started.
        """
        ...

    async def expect(self, kind: ChildKind, count: int) -> None:
        """Children of this kind will be wanted, so many at once: may be made ready meanwhile."""
        ...

    async def aclose(self) -> None: ...


class SubprocessLauncher:
    """A bare interpreter (no site packages, no environment) for each run."""

    mechanism = "subprocess"

    def __init__(self, python: str | None = None) -> None:
        self._python = python or str(host_interpreter().executable)

    async def start(self, kind: ChildKind) -> Child:
        host, child = socket.socketpair()
        folder = tempfile.TemporaryDirectory(prefix="llmaj-run-")
        host.setblocking(False)
        inside = str(Path(__file__).parent)
        packages = package_folders() if kind.packages else {}
        try:
            process = await asyncio.create_subprocess_exec(
                *(self._python, "-B", "-s", "-S", "-c", BOOT.format(module="child")),
                *(inside, str(child.fileno()), json.dumps(kind.limits)),
                json.dumps({name: str(path) for name, path in packages.items()}),
                pass_fds=[child.fileno()],
                env={"PYTHONHASHSEED": "0"},
                cwd=folder.name,
                start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except BaseException as error:  # given up while it starts, too
            host.close()
            folder.cleanup()
            if isinstance(error, OSError):
                raise SandboxError(f"cannot start {self._python}: {error}") from error
            raise
        finally:
            child.close()
        return _SubprocessChild(host, process, folder)

    async def expect(self, kind: ChildKind, count: int) -> None:
        """An interpreter that waits would hold ten times what a forked child does."""

    async def aclose(self) -> None:
        """Nothing outlives a run."""


@dataclass(eq=False)
class _SubprocessChild:
    sock: socket.socket
    process: asyncio.subprocess.Process
    folder: tempfile.TemporaryDirectory[str]
    started: float = field(default_factory=time.monotonic)
    lost = False

    async def processor_s(self) -> float | None:
        if self.process.returncode is not None:
            return None
        try:
            return time.clock_gettime(processor_clock(self.process.pid))
        except (AttributeError, OSError):  # not Linux: the elapsed time bounds it
            return time.monotonic() - self.started

    async def end(self, clean: bool = False) -> Exit:
        self.sock.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = await self.process.wait()
        self.folder.cleanup()
        # asyncio reaps without the usage record: the elapsed time bounds the processor time.
        return Exit.of(code, time.monotonic() - self.started)
