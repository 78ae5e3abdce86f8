"""SIGTERM with a grace period: what a cluster sends some seconds before it kills.

The step in progress is finished if it ends within the period, for its rollouts are paid for; no other
is begun; a checkpoint is written; then the signal goes to whoever handled it before. When the period
is over, or at a second SIGTERM, it goes there at once: what is finished by then is kept all the same.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StopNotice:
    """Whether the run has been asked to end."""

    def __init__(self, grace_s: float, say: Callable[[str], None]) -> None:
        self._grace_s, self._say = grace_s, say
        self._before = signal.getsignal(signal.SIGTERM)
        self._deadline: asyncio.TimerHandle | None = None
        self.asked = False

    def hear(self) -> None:
        if self.asked:
            return self.obey()
        self.asked = True
        self._say(
            f"SIGTERM: the step in progress may end within {self._grace_s:g} s "
            "(training.grace_s), no other is begun; SIGTERM again ends at once"
        )
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._grace_s, self.obey)
        return None

    def obey(self) -> None:
        """Give the signal to whoever handled it before; nothing, where none came."""
        if self.asked:
            self.give_back()
            signal.raise_signal(signal.SIGTERM)

    def give_back(self) -> None:
        """From now on signals go where they went before."""
        if self._deadline is not None:
            self._deadline.cancel()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, self._before)


@contextmanager
def heeding_sigterm(grace_s: float, say: Callable[[str], None]) -> Iterator[StopNotice]:
    """Signals are heard inside the block, where this thread can hear them; to be entered from a
    running event loop.

    Args:
        grace_s: seconds between the signal and its taking effect, at most.
        say: told when it comes.
    """
    notice = StopNotice(grace_s, say)
    if threading.current_thread() is not threading.main_thread():
        yield notice
        return
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, notice.hear)
    try:
        yield notice
    finally:
        notice.give_back()
