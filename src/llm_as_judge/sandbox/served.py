"""Operator calls of one workflow run: checked, counted, answered while the program waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from llm_as_judge.sandbox.channel import ChannelClosedError, HostChannel, ProtocolError
from llm_as_judge.sandbox.clock import OwnTime
from llm_as_judge.sandbox.inside.frames import FrameError
from llm_as_judge.types import Json, RunLimits, ServeOperator


class OperatorCalls:
    """Serves the calls of one run concurrently.

    Args:
        serve: answers one call; a ``TypeError`` or ``ValueError`` goes to the program, every other
            exception ends the run.
        names: the operators there are; another name is answered with an error.
        limits: ``operator_calls`` bounds the calls of the run.

    ``own_time`` stands still while a call is answered. ``fault`` never has a result: it fails with the first exception that ends the run.
    """

    def __init__(self, serve: ServeOperator, names: Iterable[str], limits: RunLimits) -> None:
        self._serve = serve
        self._names = frozenset(names)
        self._left = self._most = limits.operator_calls
        self.own_time = OwnTime(limits.wall_s)
        self._tasks: set[asyncio.Future[None]] = set()
        self.fault: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self, message: dict[str, Any], channel: HostChannel) -> str:
        """Starts answering a call; the reason if it exceeds the limit.

        Raises:
            ProtocolError: the message has not the shape of a call.
        """
        number, name = message.get("id"), message.get("op")
        args, kwargs = message.get("args"), message.get("kwargs")
        if type(number) is not int or not isinstance(name, str):
            raise ProtocolError("a call without id or operator")
        if not isinstance(args, list) or not isinstance(kwargs, dict):
            raise ProtocolError("a call without arguments")
        self._left -= 1
        if self._left < 0:
            return f"made more than {self._most} operator calls"
        self.own_time.pause()
        answer = self._answer(channel, number, name, args, kwargs)
        task = asyncio.ensure_future(answer)
        self._tasks.add(task)
        task.add_done_callback(self._on_answered)
        return ""

    def _on_answered(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        self.own_time.resume()
        if not task.cancelled() and (error := task.exception()) and not self.fault.done():
            self.fault.set_exception(error)
            self.fault.exception()  # seen: a run that ends while it is stopped waits for it no more

    async def cancel(self) -> None:
        """Ends the calls that nobody waits for any more."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self.fault.cancel()

    async def _answer(
        self,
        channel: HostChannel,
        number: int,
        name: str,
        args: list[Json],
        kwargs: dict[str, Json],
    ) -> None:
        reply: dict[str, Any] = {"id": number}
        if name not in self._names:
            reply["error"] = f"there is no operator {name[:80]!r}"
        else:
            try:
                reply["value"] = await self._serve(name, args, kwargs)
            except (TypeError, ValueError) as error:
                reply["error"] = f"{type(error).__name__}: {error}"[:2000]
        try:
            await channel.send(reply)
        except FrameError as error:
            await channel.send({"id": number, "error": f"{name}: reply cannot be sent: {error}"})
        except ChannelClosedError:
            pass
