"""Single keys from a terminal, without Enter; from anything else, only the waiting."""

from __future__ import annotations

import os
import select
import sys
import time
from types import TracebackType
from typing import Any, TextIO


class Keys:
    """``with Keys() as keys: key = keys.wait(5.0)``: the next key, or None after that long."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdin
        self._saved: list[Any] | None = None

    def __enter__(self) -> Keys:
        if self._stream.isatty():
            import termios  # not everywhere there is Python
            import tty

            self._saved = termios.tcgetattr(self._stream)
            tty.setcbreak(self._stream)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._saved is not None:
            import termios

            termios.tcsetattr(self._stream, termios.TCSADRAIN, self._saved)

    def wait(self, seconds: float) -> str | None:
        if self._saved is None:
            time.sleep(seconds)
            return None
        ready, _, _ = select.select([self._stream], [], [], seconds)
        if not ready:
            return None
        # the file descriptor: a buffered reader would keep keys that select cannot see
        data = os.read(self._stream.fileno(), 64)
        return data.decode("utf-8", "replace")[:1] or "q"  # no data: the terminal has gone
