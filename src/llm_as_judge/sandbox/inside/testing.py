"""Test sources as their authors mean them: asserts, test functions, unittest classes and guards.

A test fails when the solution raises, whatever the test's own iteration makes of the exception:
``all(map(f, xs))`` takes a ``StopIteration`` of ``f`` for the end of the list. An exception counts
as expected only where an ``except`` or a ``with`` of the test has caught that very one.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .functions import compiled

if TYPE_CHECKING:
    from .remote import TestsEnd

CAUGHT, CONTEXT, STATEMENT = "__caught__", "__context__", "__statement__"
"""Names that a rewritten test calls."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


class UnexpectedError(Exception):
    """The solution raised, and the test neither failed nor caught it."""


class UncrossableError(TypeError):
    """The test uses an object of the solution, or gives it one, in a way that cannot be graded."""


class Watch:
    """Exceptions of the solution in one test: those raised, and those that the test has caught."""

    def __init__(self) -> None:
        self.uncrossable: UncrossableError | None = None
        self._raised: list[BaseException] = []

    def raised(self, error: BaseException) -> BaseException:
        """Notes an exception that is about to be raised in the test; returns it."""
        if isinstance(error, UncrossableError) and self.uncrossable is None:
            self.uncrossable = error
        self._raised.append(error)
        return error

    def caught(self, error: BaseException | None = None) -> None:
        """The test has caught ``error`` (default: the one being handled), and what led to it."""
        waiting = [sys.exc_info()[1] if error is None else error]
        seen: list[int] = []
        while waiting:
            one = waiting.pop()
            if one is None or id(one) in seen:
                continue
            seen.append(id(one))
            waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
        self._raised = [one for one in self._raised if id(one) not in seen]

    def verify(self) -> None:
        """
        Raises:
            UnexpectedError: an exception of the solution was lost on the way.
            UncrossableError: the same, of an object that cannot be used so.
        """
        if self.uncrossable is not None:
            raise self.uncrossable
        if self._raised:
            raise UnexpectedError(type(self._raised[0]).__name__)

    def description(self, error: BaseException) -> str:
        """Names a failure without a word of the test: an assertion's text may hold the answer."""
        if self.uncrossable is not None:
            return str(self.uncrossable)
        if isinstance(error, UnexpectedError):
            return f"the solution raised {error}"
        return type(error).__name__


class _Context:
    """A context manager of the test whose ``with`` may catch exceptions of the solution."""

    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner, self._watch = inner, watch

    def __enter__(self) -> Any:
        return type(self._inner).__enter__(self._inner)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        caught = bool(type(self._inner).__exit__(self._inner, kind, error, trace))
        if caught and error is not None:
            self._watch.caught(error)
        return caught


class Changing:
    """A callable that stands for one of the solution's. Called for its effect alone, as in
    ``sort_in_place(xs)``, it may change its arguments; where its result is used it gets copies, so
    that ``assert f(xs) == sorted(xs)`` compares with the list that the test made."""

    __slots__ = ()

    def in_place(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def _for_its_effect(function: Any) -> Any:
    return function.in_place if issubclass(type(function), Changing) else function


class TestSource:
    """One test, compiled once. ``wanted``: the names that it and the set-up read; ``handled``:
    the exceptions that its handlers name."""

    __test__ = False

    def __init__(self, setup: str, source: str) -> None:
        trees = ast.parse(setup), ast.parse(source)  # once: parsing is a third of it all
        self.wanted = names_wanted(trees[0]) | names_wanted(trees[1])
        self.handled = _handled(trees[1])
        called = _called(trees[1])
        functions = [
            node.name
            for node in trees[1].body
            if isinstance(node, ast.FunctionDef) and node.name not in called
        ]
        self._only_defines_check = "check" in functions
        self._functions = [name for name in functions if name.startswith("test")]
        self._unittest = "unittest" in source or "unittest" in setup
        self._classes = [node.name for node in trees[1].body if isinstance(node, ast.ClassDef)]
        rewritten = [ast.fix_missing_locations(_Rewriting().visit(tree)) for tree in trees]
        self._setup, self._test = (compiled(tree) for tree in rewritten)

    def run(self, namespace: dict[str, Any], entry_point: str, end: TestsEnd) -> None:
        """Runs the set-up, then the test and all that it only defines.

        Raises:
            Exception: the test fails.
        """
        watch = end.watch
        namespace |= {
            "__name__": "__main__",
            CAUGHT: watch.caught,
            CONTEXT: lambda inner: _Context(inner, watch),
            STATEMENT: _for_its_effect,
        }
        with _noted_by_unittest(watch) if self._unittest else contextlib.nullcontext():
            exec(self._setup, namespace)  # noqa: S102 - the child
            end.share(namespace)
            namespace[entry_point] = end.named(entry_point)
            exec(self._test, namespace)  # noqa: S102 - the child
            if self._only_defines_check:
                namespace["check"](namespace[entry_point])
            for name in self._functions:
                namespace[name]()
            for name in self._classes:
                _run_class(namespace[name])
        watch.verify()


def names_wanted(tree: ast.Module) -> set[str]:
    """Names that ``tree`` reads and that are not among the builtins."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return {name for name in read if not hasattr(builtins, name)}


def _handled(tree: ast.Module) -> list[str]:
    """Builtin exceptions that a handler or ``assertRaises`` names."""
    kinds: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            kinds.append(node.type)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            kinds += node.args[: node.func.attr.startswith("assertRaises")]
    parts = [part for kind in kinds if kind is not None for part in ast.walk(kind)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return sorted(name for name in names if _is_exception(getattr(builtins, name, None)))


def _is_exception(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)


def _called(tree: ast.Module) -> set[str]:
    """Functions that the module itself calls, outside of its definitions."""
    return {
        node.func.id
        for statement in tree.body
        if not isinstance(statement, _DEFINITIONS)
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


class _Rewriting(ast.NodeTransformer):
    """Notes what is caught, and which calls stand alone: these are made to change an argument."""

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_call(CAUGHT)))
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = _call(CONTEXT, item.context_expr)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call):
            node.value.func = _call(STATEMENT, node.value.func)
        return node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _run_class(kind: Any) -> None:
    """Runs a class of tests: unittest's, or a plain one whose methods are tests."""
    unittest = sys.modules.get("unittest")
    if unittest is not None and isinstance(kind, type) and issubclass(kind, unittest.TestCase):
        _run_unittest(unittest, kind)
    elif isinstance(kind, type) and kind.__name__.startswith("Test"):
        for name in [name for name in vars(kind) if name.startswith("test")]:
            getattr(kind(), name)()


def _run_unittest(unittest: Any, kind: Any) -> None:
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(kind)
    result = unittest.TestResult()
    tests.run(result)
    if result.skipped:
        raise unittest.SkipTest("a test is skipped")
    if not result.wasSuccessful():
        raise AssertionError


@contextlib.contextmanager
def _noted_by_unittest(watch: Watch) -> Iterator[None]:
    """Within it ``assertRaises(kind, function, ...)`` notes what it catches, and ``main`` does
    nothing: the classes are run afterwards."""
    import unittest

    case: Any = unittest.TestCase
    plain = {name: getattr(case, name) for name in ("assertRaises", "assertRaisesRegex")}
    main: Any = unittest.main

    def noting(expecting: Any, before: int) -> Any:
        def expect(self: Any, *arguments: Any, **named: Any) -> Any:
            if len(arguments) <= before:
                return expecting(self, *arguments, **named)
            with _Context(expecting(self, *arguments[:before]), watch):
                return arguments[before](*arguments[before + 1 :], **named)

        return expect

    case.assertRaises = noting(plain["assertRaises"], 1)
    case.assertRaisesRegex = noting(plain["assertRaisesRegex"], 2)
    unittest.main = lambda *_, **__: None  # type: ignore[assignment]
    try:
        yield
    finally:
        case.assertRaises, case.assertRaisesRegex = plain.values()
        unittest.main = main
