"""One thread for all that computes on the policy's weights, which can be stopped.

The event loop stays free meanwhile: programs run, executors answer. Sampling and updates take
turns, because they share the weights. Whoever waits for the work and is cancelled (Ctrl-C) ends it
at the next layer, forward or backward, and not after the minutes that a step may take.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
        for layer in base.model.layers:
            layer.register_forward_pre_hook(self._before_layer)

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Result of ``work()``, which runs when its turn has come."""
        running = asyncio.get_running_loop().run_in_executor(self._turns, self._unless_closed, work)
        try:
            return await asyncio.shield(running)
        except BaseException:
            if not running.done():
                self._stop.set()
                await asyncio.wait({running})
                self._stop.clear()
            if not running.cancelled():
                running.exception()  # seen: the caller is gone, or has it already
            raise

    def close(self) -> None:
        """No more turns."""
        self._turns.shutdown(wait=False, cancel_futures=True)

    def _unless_closed(self, work: Callable[[], T]) -> T:
        self._check()
        return work()

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
