"""The two halves of the split grader.

``serve_solution`` holds the code under test and answers calls. ``run_tests`` runs in another
process, where the entry point is a proxy: the host carries each call across. The solution never
sees a test, an expected value or the nonce with which the tests report.
"""

from __future__ import annotations

import ast
import builtins
import sys
from typing import Any

from .frames import Channel
from .functions import compiled, defined, describe_error, execute
from .literals import LiteralError, decode, encode


# ------------------------------------------------------------------------------- the solution's side
def serve_solution(channel: Channel, task: dict[str, Any]) -> None:
    """Loads the solution, says which names it has, then answers calls until the host is done."""
    namespace: dict[str, Any] = {"__name__": "solution"}
    execute(task["setup"], namespace)
    execute(task["source"], namespace)
    defined(namespace, task["entry_point"])
    names = [name for name, value in namespace.items() if callable(value)]
    channel.send({"t": "ready", "names": names})
    objects: list[Any] = []
    while True:
        request = channel.receive()
        channel.send({"t": "reply", "id": request["id"], **_outcome(request, namespace, objects)})


def _outcome(request: Any, namespace: dict[str, Any], objects: list[Any]) -> dict[str, Any]:
    def known(form: dict[str, Any]) -> Any:
        return namespace[form["name"]] if "name" in form else objects[form["id"]]

    def foreign(value: Any) -> Any:
        objects.append(value)
        return {"#": "object", "id": len(objects) - 1, "type": type(value).__name__}

    try:
        args = [decode(form, known) for form in request["args"]]
        kwargs = {name: decode(form, known) for name, form in request["kwargs"].items()}
        value = namespace[request["name"]](*args, **kwargs)
        return {"value": encode(value, foreign)}
    except Exception as error:  # noqa: BLE001 - the tests decide what an exception means
        return {"raised": _builtin_ancestor(error), "message": describe_error(error)}


def _builtin_ancestor(error: BaseException) -> str:
    for ancestor in type(error).__mro__:
        if ancestor.__module__ == "builtins":
            return ancestor.__name__
    return "Exception"


# ---------------------------------------------------------------------------------- the tests' side
class SolutionError(Exception):
    """The solution raised something that is no builtin exception."""


class Opaque:
    """An object that stayed in the solution's process: it can be handed back, nothing else.

    To compare it or to ask for its truth is an error, so that neither ``==`` nor ``not !=`` holds.
    """

    __slots__ = ("number", "type_name")

    def __init__(self, number: int, type_name: str) -> None:
        self.number = number
        self.type_name = type_name

    def __eq__(self, other: object) -> bool:
        raise self._no_value()

    def __ne__(self, other: object) -> bool:
        raise self._no_value()

    def __bool__(self) -> bool:
        raise self._no_value()

    __hash__ = object.__hash__

    def _no_value(self) -> TypeError:
        return TypeError(f"an object of the solution's class {self.type_name} is not a value")


class Remote:
    """A callable of the solution's process."""

    def __init__(self, channel: Channel, name: str) -> None:
        self._channel = channel
        self.__name__ = self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        request = {
            "t": "invoke",
            "name": self._name,
            "args": [encode(value, _remote_form) for value in args],
            "kwargs": {name: encode(value, _remote_form) for name, value in kwargs.items()},
        }
        self._channel.send(request)
        reply = self._channel.receive()
        if "raised" in reply:
            raise _exception(reply["raised"], reply["message"])
        return decode(reply["value"], lambda form: Opaque(form["id"], str(form["type"])))


def _remote_form(value: Any) -> Any:
    if type(value) is Opaque:
        return {"#": "object", "id": value.number}
    if type(value) is Remote:
        return {"#": "object", "name": value.__name__}
    raise LiteralError(f"a {type(value).__name__} of the tests cannot be given to the solution")


def _exception(name: Any, message: Any) -> Exception:
    kind = getattr(builtins, str(name), None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(str(message))
        except TypeError:  # UnicodeDecodeError and its like want more
            pass
    return SolutionError(str(message))


def run_tests(channel: Channel, task: dict[str, Any]) -> None:
    """Runs each test in a namespace of its own and reports the numbers of those that failed.

    What needs no solution is done first: it loads in its own process at the same time. The names
    that it has come as a second message.
    """
    prepared = [_prepared(task["setup"], source) for source in task["tests"]]
    names = set(channel.receive()["names"])
    failed: list[int] = []
    first_error = ""
    for number, test in enumerate(prepared):
        try:
            _run_test(channel, task, test, names)
        except Exception as error:  # noqa: BLE001 - any exception is a failed test
            failed.append(number)
            first_error = first_error or _safe_description(number, error)
    sys.stdout.flush()
    channel.send({"t": "done", "nonce": task["nonce"], "failed": failed, "error": first_error})


class _Prepared:
    """A test, compiled; ``wanted``: the names that it and the set-up read."""

    def __init__(self, setup: str, source: str) -> None:
        trees = ast.parse(setup), ast.parse(source)  # once: parsing is a third of it all
        self.wanted = names_wanted(trees[0]) | names_wanted(trees[1])
        self.only_defines_check = _only_defines_check(trees[1].body)
        self.setup, self.test = (compiled(tree) for tree in trees)


def _prepared(setup: str, source: str) -> _Prepared | Exception:
    try:
        return _Prepared(setup, source)
    except Exception as error:  # noqa: BLE001 - raised again where the test is run
        return error


def _run_test(
    channel: Channel, task: dict[str, Any], test: _Prepared | Exception, names: set[str]
) -> None:
    if isinstance(test, Exception):
        raise test
    entry_point = task["entry_point"]
    namespace: dict[str, Any] = {"__name__": "tests"}
    for name in test.wanted & names:
        namespace[name] = Remote(channel, name)
    for name in test.wanted & set(task["modules"]):
        namespace[name] = __import__(name)
    exec(test.setup, namespace)  # noqa: S102 - the child
    namespace[entry_point] = Remote(channel, entry_point)
    exec(test.test, namespace)  # noqa: S102 - the child
    if test.only_defines_check:
        namespace["check"](namespace[entry_point])


def names_wanted(tree: ast.Module) -> set[str]:
    """Names that ``tree`` reads and that are not among the builtins."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return {name for name in read if not hasattr(builtins, name)}


def _only_defines_check(body: list[ast.stmt]) -> bool:
    defined = any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in body)
    called = any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check"
        for statement in body
        if not isinstance(statement, (ast.FunctionDef, ast.ClassDef))
        for node in ast.walk(statement)
    )
    return defined and not called


def _safe_description(number: int, error: Exception) -> str:
    """Names the failure without a word of the test: an assertion's text may hold the answer."""
    return f"test {number}: {type(error).__name__}"
