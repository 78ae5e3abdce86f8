"""The host's end of a child's channel: counts what arrives before it believes any of it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from llm_as_judge.sandbox.inside.frames import FrameBuffer, FrameError, pack

__all__ = ["ChannelClosedError", "HostChannel", "ProtocolError"]


class ChannelClosedError(Exception):
    """The child closed its end, in most cases by dying."""


class ProtocolError(Exception):
    """The child sent what no honest child sends."""


class HostChannel:
    """Whole messages over a non-blocking socket, with caps on their number and their bytes."""

    def __init__(self, sock: socket.socket, max_bytes: int, max_frames: int) -> None:
        self._sock = sock
        self._bytes_left = max_bytes
        self._frames_left = max_frames
        self._buffer = FrameBuffer()
        self._sending = asyncio.Lock()

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
        loop = asyncio.get_running_loop()
        try:
            while (message := self._buffer.take()) is None:
                try:
                    chunk = await loop.sock_recv(self._sock, 65536)
                except OSError:
                    raise ChannelClosedError from None
                if not chunk:
                    raise ChannelClosedError
                self._count(len(chunk))
                self._buffer.feed(chunk)
        except FrameError as error:
            raise ProtocolError(str(error)) from None
        self._frames_left -= 1
        if self._frames_left < 0:
            raise ProtocolError("too many messages")
        return message

    def _count(self, received: int) -> None:
        self._bytes_left -= received
        if self._bytes_left < 0:
            raise ProtocolError("too many bytes")
