"""One thread for all that computes on the policy's weights, which can be stopped.

The event loop stays free meanwhile: programs run, executors answer. Sampling and updates take
turns, because they share the weights. Whoever waits for the work and is cancelled (Ctrl-C) ends it
at the next layer, forward or backward, and not after the minutes that a step may take.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class PolicyWorkStoppedError(Exception):
    """Raised inside the work; seen by nobody but its own ``finally`` blocks."""


class PolicyThread:
    """Awaitable turns on the policy: ``await thread(work)``."""

    def __init__(self, base: Any) -> None:
        """
        Args:
            base: the transformers model; its decoder layers are watched.
        """
        self._turns = ThreadPoolExecutor(1, thread_name_prefix="policy")
        self._stop = threading.Event()
        """Of the turn that is taken."""
        self._busy_s = 0.0
        self._since: float | None = None
        for layer in base.model.layers:
            layer.register_forward_pre_hook(self._before_layer)

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Result of ``work()``, which runs when its turn has come. The turn is taken by the call,
        not by the ``await``: work is done in the order in which it was asked for."""
        stop = threading.Event()
        return self._ended(self._turns.submit(self._unless_stopped, work, stop), stop)

    @property
    def busy_s(self) -> float:
        """Seconds spent on work so far, that in progress included."""
        since = self._since
        return self._busy_s + (time.perf_counter() - since if since is not None else 0.0)

    async def _ended(self, turn: Future[T], stop: threading.Event) -> T:
        running = asyncio.wrap_future(turn)
        try:
            return await asyncio.shield(running)
        except BaseException:
            # the caller is gone, or has it already; one who is cancelled again below sees nothing of it
            running.add_done_callback(_seen)
            if not turn.done() and not turn.cancel():  # begun: only from inside can it be ended
                stop.set()
                await asyncio.wait({running})
            raise

    def close(self) -> None:
        self._turns.shutdown(wait=False, cancel_futures=True)

    def _unless_stopped(self, work: Callable[[], T], stop: threading.Event) -> T:
        self._stop = stop
        self._since = time.perf_counter()
        try:
            return work()
        finally:
            self._busy_s, self._since = self.busy_s, None

    def _before_layer(self, layer: Any, inputs: tuple[Any, ...]) -> None:
        self._check()
        for value in inputs:
            if getattr(value, "requires_grad", False):
                value.register_hook(self._before_backward)

    def _before_backward(self, gradient: Any) -> None:
        self._check()

    def _check(self) -> None:
        if self._stop.is_set():
            raise PolicyWorkStoppedError


def _seen(ended: asyncio.Future[Any]) -> None:
    """Its exception is not reported as one that nobody has looked at."""
    if not ended.cancelled():
        ended.exception()
