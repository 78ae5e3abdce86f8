"""Runs the source of a program and says how it ended."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .frames import MAX_CALL, Channel, LengthError

if TYPE_CHECKING:
    import ast
    from types import CodeType

FILENAME = "<program>"


def describe_error(error: BaseException) -> str:
    """One line: type, message and the deepest line of the program that was involved."""
    text = f"{type(error).__name__}: {error}".splitlines()
    line = 0
    if isinstance(error, SyntaxError):
        line = error.lineno or 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f" (line {line})" if line else ""
    return text[0][:500] + where


def compiled(source: str | ast.Module) -> CodeType:
    """A module (its source, or that parsed) as code whose errors can be told from ours."""
    return compile(source, FILENAME, "exec", dont_inherit=True)


def execute(source: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Runs a module in ``namespace``, whatever it raises."""
    exec(compiled(source), namespace)  # noqa: S102 - the child
    return namespace


def defined(namespace: dict[str, Any], name: str) -> Callable[..., Any]:
    """The function ``name`` of an executed source.

    Raises:
        NameError: there is none, or the name is bound to something that cannot be called.
    """
    if callable(function := namespace.get(name)):
        return function  # type: ignore[no-any-return]
    raise NameError(f"the source defines no function {name!r}")


def run_function(channel: Channel, task: dict[str, Any]) -> None:
    """Calls ``task["function"]`` of ``task["source"]``; the value is its ``str``.

    Without a function the source is a script, which has no value.
    """
    if task["function"] is None:
        execute(task["source"], {"__name__": "__main__"})
        answer(channel, None)
        return
    namespace = execute(task["source"], {"__name__": "program"})
    function = defined(namespace, task["function"])
    value = function(*task["arguments"])
    answer(channel, None if value is None else str(value))


def answer(channel: Channel, value: Any) -> None:
    """Sends the result of a task that came to its end."""
    if isinstance(value, float) and value - value != 0:
        value = str(value)  # JSON has no nan and no infinity
    sys.stdout.flush()
    try:
        channel.send({"t": "result", "status": "ok", "value": value}, MAX_CALL)
    except LengthError as error:
        channel.send({"t": "result", "status": "limit", "error": f"the answer is a {error}"})
