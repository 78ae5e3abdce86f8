"""Ctrl-C and SIGTERM: what a verb says that is stopped, and work that ends in good order."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

KEPT = {
    "quickstart": "finished parts are kept: the same command goes on",
    "train": "finished rollouts, steps and checkpoints are kept",
    "evaluate": "finished rollouts are kept",
    "judge audit": "verdicts given so far are kept",
    "pool": "replies and verdicts are kept: the same command goes on",
}
"""Of a verb, or one of a group, that is stopped, where something is. The others keep nothing, or write at their end."""

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = (
    b"\nstopping: closing what was started; what is finished is kept (Ctrl-\\ ends at once)\n"
)


class Stopped(SystemExit):
    """Ctrl-C or SIGTERM. No ``Exception``, so that nothing below takes it for a failure; and no
    ``KeyboardInterrupt``, which typer would turn into a silent exit."""

    def __init__(self, number: int, kept: str = "") -> None:
        """
        Args:
            kept: what of the work is on disk, and where; empty: as ``KEPT`` says of the verb.
        """
        super().__init__(128 + number)
        self.kept = kept


def stopped_line(arguments: Sequence[str], kept: str = "") -> str:
    """The last words of a command line that was stopped: what of it is on disk, if anything."""
    verbs = (" ".join(arguments[:words]) for words in (2, 1))
    kept = kept or next((KEPT[verb] for verb in verbs if verb in KEPT), "")
    return f"stopped; {kept}" if kept else "stopped"


@contextmanager
def signals() -> Iterator[None]:
    """Servers and sandboxes are closed on the way out of Ctrl-C and of SIGTERM alike. Once stopped,
    the process hears no other: the next would break into its last words."""
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)  # a shell's background job ignores it, and so do we
    before: dict[int, Any] = {number: signal.signal(number, _raise) for number in numbers}
    try:
        yield
    except Stopped:
        before = dict.fromkeys(numbers, signal.SIG_IGN)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


class StoppableWork:
    """Work that the first signal cancels, and no other disturbs while it closes what it started."""

    def __init__(self, kept: str) -> None:
        self._kept = kept
        self._asked = 0
        self._turns = itertools.count()
        self._cancel: Callable[[], object] | None = None

    def hear(self, number: int, frame: FrameType | None) -> None:
        """A signal has come."""
        turn = next(self._turns)  # one step: another signal may come between any two
        if turn == 0:
            self._asked = number
            if self._cancel is not None:
                self._cancel()
        elif turn == 1:
            os.write(2, _PATIENCE)  # not print: the signal may have come in the middle of one

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, in an event loop of its own.

        Raises:
            Stopped: a signal has come, and all that the work started is closed.
        """

        async def cancellable() -> T:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            assert task is not None
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            if self._asked:
                task.cancel()
            try:
                return await work
            finally:
                self._cancel = None

        try:
            result = asyncio.run(cancellable())
        except (asyncio.CancelledError, Exception):
            self.obey()  # what goes wrong while everything is closed is no news
            raise
        self.obey()
        return result

    def obey(self) -> None:
        """Raises ``Stopped`` if a signal has come."""
        if self._asked:
            raise Stopped(self._asked, self._kept) from None


@contextmanager
def stoppable(kept: str) -> Iterator[StoppableWork]:
    """Signals that would stop the verb wait until the block has come to its end, which it does soon:
    they cancel the work that it runs.

    Args:
        kept: what of the work is on disk, and where, for the verb's last words.
    Raises:
        Stopped: at the end of the block, if a signal has come.
    """
    work = StoppableWork(kept)
    heard = [number for number in _NUMBERS if signal.getsignal(number) is _raise]
    for number in heard:
        signal.signal(number, work.hear)
    try:
        yield work
        work.obey()
    finally:
        for number in heard:
            signal.signal(number, _raise)
