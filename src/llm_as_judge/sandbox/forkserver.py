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
from dataclasses import dataclass, field
from typing import IO, Any

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox.launch import ChildKind, Exit

START_S = 30.0
"""How long a server may take to start."""
KILL_S = 5.0
"""How long a server may take to kill a child before it is taken for broken."""
KEPT_READY = 4
"""Idle children of a kind that are replaced at once, so that a run does not wait for a fork."""
REFILL_S = 0.02
"""Pause between the forks that make ready as many as ran at once before: a burst finds them, and
what else runs on the machine hardly feels them being made."""
KINDS = 4
"""Kinds of children of which idle ones are kept; the kind longest unused gives way."""
_MESSAGE = 65536


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
        self, process: subprocess.Popen[bytes], control: socket.socket, most_idle: int
    ) -> None:
        self._most_idle = most_idle
        self._pools: dict[ChildKind, _Pool] = {}
        self._refilling: asyncio.Task[None] | None = None
        self.process = process
        self.lost = False
        self.has_landlock = False
        self._control = control
        self._numbers = itertools.count(1)
        self._awaited: dict[tuple[str, int], asyncio.Future[Any]] = {}
        """(``ended`` or ``seen``, number of the child) -> what the server will say of it."""

    @classmethod
    async def launch(
        cls,
        command: tuple[str, ...],
        settings: dict[str, Any],
        control: socket.socket,
        theirs: socket.socket,
        most_idle: int,
    ) -> ForkServer:
        """Starts the server and waits until it is ready.

        Args:
            settings: what it is told first.
        Raises:
            SandboxError: it ended before, with what it said.
        """
        with tempfile.TemporaryFile() as said:
            process = _spawn(command, theirs.fileno(), said)
            theirs.close()  # the only copy left is the server's: its death is then seen
            server = cls(process, control, most_idle)
            try:
                await server._greet(settings)
            except (OSError, ValueError, asyncio.TimeoutError):
                await server.aclose()
                said.seek(0)
                words = said.read().decode("utf-8", "replace").strip().splitlines()
                reason = words[-1] if words else "no word of why"
                raise SandboxError(
                    f"sandbox server did not start ({command[0]}): {reason}"
                ) from None
            except BaseException:  # cancelled: nobody else knows of the process
                server._kill()
                process.wait()
                raise
        return server

    async def _greet(self, settings: dict[str, Any]) -> None:
        loop = asyncio.get_running_loop()
        self._control.setblocking(False)
        await loop.sock_sendall(self._control, json.dumps(settings).encode())
        greeting = await asyncio.wait_for(loop.sock_recv(self._control, _MESSAGE), START_S)
        self.has_landlock = bool(json.loads(greeting)["landlock"])
        loop.add_reader(self._control.fileno(), self._on_readable)

    async def start(self, kind: ChildKind) -> _ForkedChild:
        pool = self._pool(kind)
        pool.runs += 1
        pool.busy += 1
        pool.most = max(pool.most, pool.busy)
        while pool.idle:
            spare = pool.idle.popleft()
            if not spare.ended.done():
                return spare
            spare.sock.close()
        try:
            return await self._fork(kind)
        except BaseException:
            pool.busy -= 1
            raise

    def _pool(self, kind: ChildKind) -> _Pool:
        """The pool of a kind, which becomes the one used last."""
        pool = self._pools.pop(kind) if kind in self._pools else _Pool()
        self._pools[kind] = pool
        for other in list(self._pools)[:-KINDS]:
            if not self._pools[other].busy:
                self._pools.pop(other).drop()
        return pool

    async def _fork(self, kind: ChildKind) -> _ForkedChild:
        number = next(self._numbers)
        host, theirs = socket.socketpair()
        host.setblocking(False)
        ended: asyncio.Future[Exit | None] = asyncio.get_running_loop().create_future()
        self._awaited["ended", number] = ended
        try:
            with theirs:
                order = {"start": number, "loops": kind.loops, "limits": kind.limits}
                await self._order(order, [theirs.fileno()])
        except BaseException:
            host.close()
            raise
        return _ForkedChild(self, kind, number, host, ended)

    async def _order(self, order: dict[str, Any], descriptors: list[int]) -> None:
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
            about = "seen" if "seen" in message else "ended"
            future = self._awaited.pop((about, message[about]), None)
            if future is not None and not future.done():
                used = message["cpu_s"]
                future.set_result(used if about == "seen" else Exit.of(message["code"], used))

    def _lose(self) -> None:
        if not self.lost:
            self.lost = True
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop().remove_reader(self._control.fileno())
            for future in self._awaited.values():
                if not future.done():
                    future.set_result(None)
            self._awaited.clear()
            for pool in self._pools.values():
                pool.drop()
            self._pools.clear()
            if self._refilling is not None:
                self._refilling.cancel()

    async def replace(self, kind: ChildKind) -> None:
        """A child of this kind has ended: idle ones are made ready for the next runs."""
        pool = self._pools.get(kind)
        if pool is None or self.lost:
            return
        pool.busy -= 1
        if not pool.goes_on:
            return
        with contextlib.suppress(SandboxError):  # it has died: the next run starts another
            while len(pool.idle) < KEPT_READY and self._pools.get(kind) is pool:
                await self._make_ready(kind, pool)
        self._refill_slowly()

    def expect(self, kind: ChildKind, count: int) -> None:
        """So many children of a kind will be wanted at once: they are made ready by and by."""
        pool = self._pool(kind)
        pool.most = max(pool.most, count)
        pool.expected = True
        self._refill_slowly()

    def _refill_slowly(self) -> None:
        if self._refilling is None or self._refilling.done():
            self._refilling = asyncio.ensure_future(self._refill())

    async def _refill(self) -> None:
        with contextlib.suppress(SandboxError):  # it has died: the next run starts another
            while kind := self._short_kind():
                await self._make_ready(kind, self._pools[kind])
                await asyncio.sleep(REFILL_S)

    async def _make_ready(self, kind: ChildKind, pool: _Pool) -> None:
        pool.idle.append(await self._fork(kind))
        if self._pools.get(kind) is not pool:  # it has given way meanwhile
            pool.drop()

    def _short_kind(self) -> ChildKind | None:
        """A kind of which fewer are there than ran at once; None if as many wait as may."""
        if sum(len(pool.idle) for pool in self._pools.values()) >= self._most_idle:
            return None
        return next((kind for kind, pool in self._pools.items() if pool.short), None)

    async def look(self, number: int) -> float | None:
        """Processor seconds of a child so far; None if it has ended."""
        seen: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
        self._awaited["seen", number] = seen
        try:
            await self._order({"look": number}, [])
        except SandboxError:  # who waits for the child hears of it
            return None
        return await seen

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
        self._kill()
        await asyncio.get_running_loop().run_in_executor(None, self.process.wait)

    def _kill(self) -> None:
        self._lose()
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@dataclass(slots=True)
class _Pool:
    """The children of one kind: each serves one run and ends."""

    idle: deque[_ForkedChild] = field(default_factory=deque)
    runs: int = 0
    busy: int = 0
    most: int = 0
    """That were busy at once, or are expected to be."""
    expected: bool = False

    @property
    def goes_on(self) -> bool:
        """More runs are likely: after a first one, as the probe's, perhaps none of its kind is."""
        return self.expected or self.runs > 1

    @property
    def short(self) -> bool:
        return self.goes_on and len(self.idle) + self.busy < self.most

    def drop(self) -> None:
        """Lets the idle ones end: each sees that its channel is closed."""
        while self.idle:
            self.idle.popleft().sock.close()


@dataclass(slots=True, eq=False)
class _ForkedChild:
    server: ForkServer
    kind: ChildKind
    number: int
    sock: socket.socket
    ended: asyncio.Future[Exit | None]

    @property
    def lost(self) -> bool:
        return self.ended.done() and self.ended.result() is None

    async def processor_s(self) -> float | None:
        return await self.server.look(self.number)

    async def end(self, clean: bool = False) -> Exit:
        self.sock.close()
        ended = await self.server.kill(self.number, self.ended, wait=not clean)
        await self.server.replace(self.kind)
        return ended or Exit(None, None, 0.0)
