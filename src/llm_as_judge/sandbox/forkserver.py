"""The host's side of the fork server: one life of it, and the children it starts."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import tempfile
from collections import deque
from dataclasses import dataclass
from typing import IO, Any

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox.launch import Exit

__all__ = ["ForkServer", "ServerCommand"]

START_S = 30.0
"""How long a server may take to start."""
KILL_S = 5.0
"""How long a server may take to kill a child before it is taken for broken."""
_MESSAGE = 65536


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How to start a server: its command, and what it is told first."""

    command: tuple[str, ...]
    settings: dict[str, Any]


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


class ForkServer:
    """One life of the fork server."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, spares: int
    ) -> None:
        self._wanted_spares = spares
        self._spares: deque[_ForkedChild] = deque()
        self._loops = True
        self.process = process
        self.lost = False
        self.has_landlock = False
        self._control = control
        self._numbers = itertools.count(1)
        self._ends: dict[int, asyncio.Future[Exit | None]] = {}

    @classmethod
    async def launch(
        cls, form: ServerCommand, control: socket.socket, theirs: socket.socket, spares: int
    ) -> ForkServer:
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

    async def start(self, loops: bool) -> _ForkedChild:
        self._loops = loops  # spares are made for more of the same
        while self._spares:
            spare = self._spares.popleft()
            if not spare.gone:
                return spare
            spare.sock.close()
        return await self._fork()

    async def _fork(self) -> _ForkedChild:
        number = next(self._numbers)
        host, theirs = socket.socketpair()
        host.setblocking(False)
        ended: asyncio.Future[Exit | None] = asyncio.get_running_loop().create_future()
        self._ends[number] = ended
        try:
            with theirs:
                await self._order({"start": number, "loops": self._loops}, [theirs.fileno()])
        except SandboxError:
            host.close()
            raise
        return _ForkedChild(self, number, host, ended)

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


class _ForkedChild:
    def __init__(
        self,
        server: ForkServer,
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
