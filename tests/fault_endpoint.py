"""An OpenAI-compatible server that misbehaves on purpose and keeps its own bill."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from endpoint_modes import FAILURES, LISTS, MODES, Request, Said

FAULTS = ("500", "429", "hang", "drop", "empty", "null", "truncated", "wrong_shape", "slow_stream")
KIND_OF_FAULT = {fault: FAILURES[fault][0] for fault in FAULTS}
MOSTLY_QUICK = [fault for fault in FAULTS if KIND_OF_FAULT[fault] != "timeout"] * 6 + [
    "hang",
    "slow_stream",
]
"""Few that cost a whole deadline: it must be long, or a busy machine makes good replies late."""


class FaultEndpoint:
    """Each request meets a fault with probability ``share``; ``billed`` sums the usage it told in
    full, by the first word of the last message. A fault is one of ``MODES``."""

    def __init__(
        self,
        share: float,
        seed: int = 0,
        faults: Sequence[str] = FAULTS,
        answer: Callable[[str], str] = "echo {}".format,
        mode_of: Callable[[str], str] | None = None,
        listing: Said = LISTS["none"][1],
    ) -> None:
        """
        Args:
            answer: last message -> reply.
            mode_of: last message -> name of a mode, instead of drawn faults.
            listing: what is said where models are listed.
        """
        self.mode_of = mode_of
        self.listing = listing
        self.asked: Counter[str] = Counter()
        self.share = share
        self.answer = answer
        self.faults = tuple(faults)
        self.random = random.Random(seed)
        self.billed: Counter[str] = Counter()
        self.met: Counter[str] = Counter()

    async def __aenter__(self) -> FaultEndpoint:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        self.tasks: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        with contextlib.suppress(
            ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
        ):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET"):
                    if not await _say(writer, self.listing):
                        break
                    continue
                length = next(
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                )
                body = json.loads(await reader.readexactly(length))
                if not await self._answer(body, writer):
                    break
        writer.close()

    async def _answer(self, body: dict[str, object], writer: asyncio.StreamWriter) -> bool:
        asked = str(body["messages"][-1]["content"])  # type: ignore[index]
        if self.mode_of is not None:
            fault = self.mode_of(asked)
        else:
            fault = self.random.choice(self.faults) if self.random.random() < self.share else "ok"
        self.met[fault] += 1
        times = self.asked[asked]
        self.asked[asked] += 1
        if fault in ("ok", "empty", "null"):
            self._bill(asked)
        return await _say(writer, MODES[fault](Request(body, asked, self.answer(asked), times)))

    def _bill(self, asked: str) -> None:
        problem = asked.split()[0]
        self.billed["prompt"] += len(asked)
        self.billed["completion"] += 7
        self.billed[problem] += len(asked) + 7


@contextlib.contextmanager
def in_a_thread(server: FaultEndpoint) -> Iterator[FaultEndpoint]:
    """``server`` on a loop of its own, for what is not written for an event loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _say(writer: asyncio.StreamWriter, said: Said) -> bool:
    """Whether the connection goes on."""
    if said.hang:
        await asyncio.sleep(3600)
    if said.raw:
        writer.write(said.body)
        await writer.drain()
        return False
    extra = "".join(f"{header}\r\n" for header in said.headers).encode("latin-1")
    await _send(writer, said.status, said.body, extra, said.drip_s)
    return not said.drip_s


async def _send(
    writer: asyncio.StreamWriter, status: int, body: bytes, extra: bytes = b"", drip_s: float = 0
) -> None:
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + extra + b"\r\n")
    if drip_s:
        for byte in body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(drip_s)
    else:
        writer.write(body)
        await writer.drain()
