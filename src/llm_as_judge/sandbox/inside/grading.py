"""The two halves of the split grader.

``serve_solution`` holds the code under test and answers calls. ``run_tests`` runs in another
process, where the names of the solution stand for its objects there: the host carries each use of
them across. The solution never sees a test, an expected value or the nonce with which the tests
report. ``try_stubs`` runs tests without any solution, to see that they ask for one.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

from .crossing import builtin_ancestor, shared_classes
from .frames import Channel
from .functions import defined, describe_error, execute
from .remote import SolutionEnd, TestsEnd
from .testing import TestSource, UncrossableError, Watch


def serve_solution(channel: Channel, task: dict[str, Any]) -> None:
    """Loads the solution, says which names it has, then answers calls until the host is done."""
    namespace: dict[str, Any] = {"__name__": "solution"}
    execute(task["setup"], namespace)
    shared = shared_classes(namespace)
    execute(task["source"], namespace)
    defined(namespace, task["entry_point"])
    channel.send({"t": "ready", "names": _kinds(namespace)})
    SolutionEnd(channel, namespace, shared).serve()


def _kinds(namespace: dict[str, Any]) -> dict[str, str]:
    """What each callable name is: ``function``, ``class``, or the builtin that an exception is."""
    return {name: _kind(value) for name, value in namespace.items() if callable(value)}


def _kind(value: Any) -> str:
    if not isinstance(value, type):
        return "function"
    return builtin_ancestor(value) if issubclass(value, Exception) else "class"


def run_tests(channel: Channel, task: dict[str, Any]) -> None:
    """Runs each test in a namespace of its own and reports the numbers of those that failed.

    What needs no solution is done first: it loads in its own process at the same time. The names
    that it has come as a second message.
    """
    sources = [read_test(task["setup"], source) for source in task["tests"]]
    kinds = channel.receive()["names"]
    failed: list[int] = []
    first_error = ""
    for number, source in enumerate(sources):
        watch = Watch()
        end = TestsEnd(channel, watch, kinds)
        try:
            _run(source, task, end)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any exception is a failed test
            failed.append(number)
            first_error = first_error or f"test {number}: {watch.description(error)}"
    sys.stdout.flush()
    channel.send({"t": "done", "nonce": task["nonce"], "failed": failed, "error": first_error})


def read_test(setup: str, source: str) -> TestSource | Exception:
    """The test, or why it is no Python: raised again where the test is run."""
    try:
        return TestSource(setup, source)
    except Exception as error:  # noqa: BLE001 - see above
        return error


def _run(source: TestSource | Exception, task: dict[str, Any], end: TestsEnd) -> None:
    if isinstance(source, Exception):
        raise source
    namespace = {name: end.named(name) for name in source.wanted if end.has(name)}
    for name in source.wanted & set(task["modules"]):
        namespace[name] = __import__(name)
    source.run(namespace, task["entry_point"], end)


class _StubEnd(TestsEnd):
    """In the place of a solution: a function that does the same whatever it is asked for."""

    __test__ = False

    def __init__(self, channel: Channel, watch: Watch, behavior: str) -> None:
        super().__init__(channel, watch, {})
        self.used = False
        self._behavior = behavior

    def has(self, name: str) -> bool:
        """Any name may be one of the solution's."""
        return True

    def ask(self, operation: str, target: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Sees whether the arguments could be sent, then does what the stub does."""
        self.used = True
        try:
            self.encoded(target, args, kwargs)
        except UncrossableError as error:
            raise self.watch.raised(error) from None
        what, _, name = self._behavior.partition(" ")
        if what == "raise":
            raise self.watch.raised(vars(builtins).get(name, _StubError)())
        return None


class _StubError(Exception):
    """Raised by the function that stands for the solution."""


def try_stubs(channel: Channel, task: dict[str, Any]) -> None:
    """Runs the tests on functions that do nothing of what is asked for, and reports of each how
    it ended.

    The stubs are ``raise`` (any use of the solution raises), ``none`` (returns None) and ``raise
    KIND`` for each exception that a handler names. The outcomes are ``passed``, ``failed``, or why
    the test can be passed by no solution. Each stub is reported at once: with a later one a test
    may loop for ever.
    """
    sources = [read_test(task["setup"], source) for source in task["tests"]]
    handled = {
        name for source in sources if isinstance(source, TestSource) for name in source.handled
    }
    for stub in ("raise", "none", *(f"raise {name}" for name in sorted(handled))):
        outcomes = [_outcome(channel, source, task, stub) for source in sources]
        channel.send({"t": "tried", "nonce": task["nonce"], "stub": stub, "outcomes": outcomes})
    sys.stdout.flush()
    channel.send({"t": "done", "nonce": task["nonce"]})


def _outcome(
    channel: Channel, source: TestSource | Exception, task: dict[str, Any], stub: str
) -> str:
    watch = Watch()
    end = _StubEnd(channel, watch, stub)
    try:
        _run(source, task, end)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any exception is a failed test
        if watch.uncrossable is not None:
            return str(watch.uncrossable)
        if end.used or isinstance(error, AssertionError):
            return "failed"
        return f"it fails before it uses {task['entry_point']}: {describe_error(error)}"
    return "passed"
