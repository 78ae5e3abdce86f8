"""Runs a workflow program.

A workflow sees two names that it did not write: ``operator``, whose attributes are operator
classes, and ``create_llm_instance``. Neither does any work here: a call travels to the host, and
the host's reply is what the awaited call returns. Functions cannot travel: of an operator that takes
ways (a list of them) this side calls them, and sends what they gave until the host has enough.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import selectors
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from .frames import MAX_CALL, Channel, FrameError
from .functions import answer, defined, execute

PLAIN = (str, int, float, bool, type(None))

_prepared: list[asyncio.AbstractEventLoop] = []


class _QuietLoop(asyncio.SelectorEventLoop):
    """A loop without kernel objects: made once before the forks, it costs a child nothing.

    Nothing can wake it from outside its own selector: there are no threads and no signals.
    """

    def _make_self_pipe(self) -> None:
        self._ssock = self._csock = None

    def _close_self_pipe(self) -> None:
        pass


def prepare_quiet_loop() -> None:
    """Makes the loop that all children of this process will use, each its own copy."""
    _prepared[:] = [_QuietLoop(selectors.PollSelector())]
    asyncio.set_event_loop(_prepared[0])


def prepare_loop() -> asyncio.AbstractEventLoop:
    """The process's loop."""
    if not _prepared:
        _prepared.append(asyncio.new_event_loop())
        asyncio.set_event_loop(_prepared[0])
    return _prepared[0]


def run_workflow(channel: Channel, task: dict[str, Any]) -> None:
    """Creates ``Workflow`` and awaits its call with the arguments its signature has."""
    loop = prepare_loop()
    caller = _OperatorCaller(channel, loop)
    loop.add_reader(channel.fileno(), caller.on_readable)
    namespace = {
        "__name__": "workflow",
        "operator": _operator_namespace(task["operators"], caller),
        "create_llm_instance": _Llm,
    }
    execute(task["source"], namespace)
    workflow_class = defined(namespace, "Workflow")
    arguments = dict(task["arguments"])
    parts = {"name": "workflow", "llm_config": _Llm(), "dataset": arguments.pop("dataset", "")}
    workflow = workflow_class(**_accepted(workflow_class, parts))
    value = loop.run_until_complete(_awaited(workflow(**_accepted(workflow, arguments))))
    if isinstance(value, tuple) and value:
        value = value[0]
    answer(channel, value if type(value) in PLAIN else str(value))


async def _awaited(value: Any) -> Any:
    if not inspect.isawaitable(value):
        raise TypeError("Workflow.__call__ is not async: write `async def __call__`")
    return await value


def _accepted(target: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Those of ``arguments`` with which a class or an instance may be called."""
    parameters = inspect.signature(target).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return arguments
    return {name: value for name, value in arguments.items() if name in parameters}


class _Llm:
    """Stands for the executor model; calls are made by operators, in the host."""

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def get_usage_summary(self) -> dict[str, Any]:
        """AFlow's programs return its ``total_cost`` beside the answer. That value is ignored: the
        host counts what a run costs, and does not tell the program."""
        numbers = ("total_input_tokens", "total_output_tokens", "total_cost", "call_count")
        return {**dict.fromkeys(numbers, 0), "history": []}


class _OperatorCaller:
    """Sends operator calls and hands each reply to the call that waits for it."""

    def __init__(self, channel: Channel, loop: asyncio.AbstractEventLoop) -> None:
        self._channel = channel
        self._loop = loop
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    def on_readable(self) -> None:
        for message in self._channel.receive_ready():
            future = self._waiting.pop(message["id"], None)
            if future is None or future.done():
                continue
            if "error" in message:
                future.set_exception(RuntimeError(message["error"]))
            else:
                future.set_result(message["value"])

    def call(self, name: str, args: Any, kwargs: Any) -> asyncio.Future[Any]:
        number = next(self._ids)
        request = {"t": "call", "id": number, "op": name, "args": list(args), "kwargs": kwargs}
        try:
            self._channel.send(request, MAX_CALL)
        except FrameError as error:
            raise TypeError(f"{name}: arguments must be text, numbers or lists: {error}") from None
        future = self._loop.create_future()
        self._waiting[number] = future
        return future


def _operator_namespace(names: list[str], caller: _OperatorCaller) -> Any:
    classes = {name: _operator_class(name, caller) for name in names}
    return type("operator", (), classes)()


def _operator_class(name: str, caller: _OperatorCaller) -> type:
    def init(self: Any, llm: Any = None, *args: Any, **kwargs: Any) -> None:
        pass

    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        ways = args[0] if args else kwargs.get("ways")
        if isinstance(ways, (list, tuple)) and any(map(callable, ways)):
            return await _drawn(ways, lambda drawn: caller.call(name, *_with(drawn, args, kwargs)))
        return await caller.call(name, args, kwargs)

    return type(name, (), {"__init__": init, "__call__": call})


async def _drawn(ways: Sequence[Any], ask: Callable[[list[Any]], Awaitable[Any]]) -> Any:
    """The reply to what the ways gave, which are called in turn for as long as it wants more."""
    drawn: list[Any] = []
    while True:
        reply = await ask(drawn)
        if type(reply) is not dict or list(reply) != ["more"]:
            return reply
        for _ in range(reply["more"]):
            made = ways[len(drawn) % len(ways)]()
            drawn.append(await made if inspect.isawaitable(made) else made)


def _with(drawn: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments with what was drawn in the place of the ways."""
    if args:
        return (drawn, *args[1:]), kwargs
    return args, {**kwargs, "ways": drawn}
