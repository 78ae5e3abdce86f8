"""The host's end of a child's channel: counts what arrives before it believes any of it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from llm_as_judge.sandbox.inside.frames import MAX_FRAME, FrameBuffer, FrameError, pack

_CHUNK = 65536


class ChannelClosedError(Exception):
    """The child closed its end, in most cases by dying."""


class ProtocolError(Exception):
    """The child sent what no honest child sends."""


class HostChannel:
    """Whole messages over a non-blocking socket, with caps on their number, their bytes and the bytes of
    each.

    One task receives; any number may send. As a context manager it watches the socket only within
    the block and leaves it open.
    """

    def __init__(
        self, sock: socket.socket, max_bytes: int, max_frames: int, max_frame: int = MAX_FRAME
    ) -> None:
        self._sock = sock
        self._bytes_left = max_bytes
        self._frames_left = max_frames
        self._buffer = FrameBuffer(max_frame)
        self._sending = asyncio.Lock()
        self._fault: Exception | None = None
        self._waiting: asyncio.Future[None] | None = None

    def __enter__(self) -> HostChannel:
        asyncio.get_running_loop().add_reader(self._sock.fileno(), self._on_readable)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._sock.fileno())

    async def send(self, message: dict[str, Any]) -> None:
        """Sends one message.

        Raises:
            FrameError: the message is too long or not JSON (the caller's fault, not the child's).
            ChannelClosedError: the child is gone.
        """
        data = pack(message)
        async with self._sending:
            try:
                await asyncio.get_running_loop().sock_sendall(self._sock, data)
            except OSError:
                raise ChannelClosedError from None

    async def receive(self) -> dict[str, Any]:
        """The next message.

        Raises:
            ChannelClosedError: the child has closed its end.
            ProtocolError: unreadable, too long, too many or too much in all.
        """
        try:
            while (message := self._buffer.take()) is None:
                if self._fault is not None:
                    raise self._fault
                self._waiting = asyncio.get_running_loop().create_future()
                await self._waiting
        except FrameError as error:
            raise ProtocolError(str(error)) from None
        self._frames_left -= 1
        if self._frames_left < 0:
            raise ProtocolError("too many messages")
        return message

    def _on_readable(self) -> None:
        try:
            chunk = self._sock.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._bytes_left -= len(chunk)
        if not chunk:
            self._fault = ChannelClosedError()
        elif self._bytes_left < 0:
            self._fault = ProtocolError("too many bytes")
        else:
            self._buffer.feed(chunk)
        if self._fault is not None:
            asyncio.get_running_loop().remove_reader(self._sock.fileno())
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


async def cancelled(conversation: asyncio.Future[Any]) -> None:
    """Ends a conversation over a channel and waits for its end: only then may its socket be closed.

    What it came to has been taken before, or is of no interest any more.
    """
    conversation.cancel()
    await asyncio.wait({conversation})
    if not conversation.cancelled():
        conversation.exception()
