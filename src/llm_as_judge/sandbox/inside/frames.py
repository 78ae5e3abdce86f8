"""Messages between host and child: a four-byte length, then one JSON object.

JSON and nothing else: a hostile peer can send a wrong value, never an object that runs code.
"""

from __future__ import annotations

import json
import re
import select
import socket
import struct
from typing import Any

MAX_FRAME = 4 * 2**20
"""Bytes of one message; a longer one is refused by both sides."""
MAX_CALL = 2**20
"""Bytes of one message that a program or solution chose: the host reads each in one go, and all else
waits for it."""

_HEADER = struct.Struct(">I")
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_DECODER = json.JSONDecoder()
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    r"(\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""In a JSON text: what stands for itself, a pair of surrogates included, or else a lone one."""


class FrameError(ValueError):
    """A message that is too long, not JSON, nested too deeply or not an object."""


class LengthError(FrameError):
    """A message that is too long to be sent."""


def pack(message: dict[str, Any], most: int = MAX_FRAME) -> bytes:
    """The bytes of one message.

    Raises:
        LengthError: longer than ``most`` bytes.
        FrameError: holds what JSON cannot hold.
    """
    try:
        body = _ENCODER.encode(message).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"not a JSON value: {error}") from None
    if len(body) > most:
        raise LengthError(f"message of {len(body)} bytes, at most {most} can be sent")
    return _HEADER.pack(len(body)) + body


def unpack(body: bytes) -> dict[str, Any]:
    """The inverse of :func:`pack` without the length.

    Lone surrogates, which would fail later in a file or a request, are replaced.

    Raises:
        FrameError: not JSON, nested too deeply, or not an object.
    """
    try:
        text = body.decode("utf-8")
        if _SURROGATE.search(text):  # in the text: a walk over all values takes five times as long
            text = _ESCAPES.sub(lambda found: found[1] or "\\ufffd", text)
        message: Any = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"message is not JSON: {type(error).__name__}") from None
    if type(message) is not dict:
        raise FrameError(f"message is {type(message).__name__}, not an object")
    return message


class FrameBuffer:
    """Cuts a stream of bytes into messages of ``most`` bytes."""

    def __init__(self, most: int = MAX_FRAME) -> None:
        self._bytes = bytearray()
        self._most = most

    def feed(self, chunk: bytes) -> None:
        self._bytes += chunk

    def take(self) -> dict[str, Any] | None:
        """The next whole message, or None.

        Raises:
            FrameError: the announced length is over the limit, or the message cannot be read.
        """
        if len(self._bytes) < _HEADER.size:
            return None
        (length,) = _HEADER.unpack_from(self._bytes)
        if length > self._most:
            raise FrameError(f"message of {length} bytes announced, at most {self._most} allowed")
        end = _HEADER.size + length
        if len(self._bytes) < end:
            return None
        body = bytes(self._bytes[_HEADER.size : end])
        del self._bytes[:end]
        return unpack(body)


class Channel:
    """The child's end: sends and receives whole messages on a blocking socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = FrameBuffer()

    def fileno(self) -> int:
        return self._sock.fileno()

    def send(self, message: dict[str, Any], most: int = MAX_FRAME) -> None:
        self._sock.sendall(pack(message, most))

    def receive(self) -> dict[str, Any]:
        """Waits for a message.

        Raises:
            EOFError: the host has closed the channel.
        """
        while (message := self._buffer.take()) is None:
            self._read(0)
        return message

    def has_news(self) -> bool:
        """Whether something has arrived that is not yet received."""
        return bool(select.select([self._sock], [], [], 0)[0])

    def receive_ready(self) -> list[dict[str, Any]]:
        """The messages that have arrived, without waiting for more.

        Raises:
            EOFError: the host has closed the channel.
        """
        try:
            self._read(socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        messages = []
        while (message := self._buffer.take()) is not None:
            messages.append(message)
        return messages

    def _read(self, flags: int) -> None:
        chunk = self._sock.recv(65536, flags)
        if not chunk:
            raise EOFError
        self._buffer.feed(chunk)
