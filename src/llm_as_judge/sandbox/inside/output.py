"""Printed text as messages: what a program prints goes to the host, which caps it."""

from __future__ import annotations

import codecs
import io
import sys
from typing import Any

from .frames import Channel


class _FrameOutput(io.RawIOBase):
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        text = self._decoder.decode(bytes(data))
        if text:
            self._channel.send({"t": "out", "text": text})
        return len(data)


def redirect_output(channel: Channel) -> None:
    """Points sys.stdout and sys.stderr at ``channel``, buffered by 8 KiB."""
    raw = io.BufferedWriter(_FrameOutput(channel), 8192)
    stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace")
    sys.stdout = sys.stderr = stream
    sys.stdin = io.StringIO("")
