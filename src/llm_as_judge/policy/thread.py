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
        self._busy_s = 0.0
        self._since: float | None = None
        for layer in base.model.layers:
            layer.register_forward_pre_hook(self._before_layer)

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]:
        """Result of ``work()``, which runs when its turn has come. The turn is taken by the call,
        not by the ``await``: work is done in the order in which it was asked for."""
        return self._ended(self._turns.submit(self._unless_stopped, work))

    @property
    def busy_s(self) -> float:
        """Seconds spent on work so far, that in progress included."""
        since = self._since
        return self._busy_s + (time.perf_counter() - since if since is not None else 0.0)

    async def _ended(self, turn: Future[T]) -> T:
        running = asyncio.wrap_future(turn)
        try:
            return await asyncio.shield(running)
        except BaseException:
            if not turn.done() and not turn.cancel():  # begun: only from inside can it be ended
                self._stop.set()
                await asyncio.wait({running})
                self._stop.clear()
            if running.done() and not running.cancelled():
                running.exception()  # seen: the caller is gone, or has it already
            raise

    def close(self) -> None:
        """No more turns."""
        self._turns.shutdown(wait=False, cancel_futures=True)

    def _unless_stopped(self, work: Callable[[], T]) -> T:
        self._check()
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
