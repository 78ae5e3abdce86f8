"""Tests of a code row, read without running them: what they call, and what would never fail."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from llm_as_judge.data.code import parsed
from llm_as_judge.data.rows import RowError
from llm_as_judge.quoting import quoted

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPARED = (ast.Compare, ast.BoolOp)


def read_tests(tests: Sequence[str], field: str, setup: str) -> list[ast.Module]:
    """The syntax trees of a row's tests, the values of ``field``, which run after ``setup``.

    Raises:
        RowError: one is not Python, asserts nothing, holds what is never run or never fails, or what
            no solution can pass here.
    """
    there = _defined(parsed(setup, "setup_code"))
    return [_read(test, field, there) for test in tests]


def _read(test: str, field: str, there: set[str]) -> ast.Module:
    tree = parsed(test, field)
    written = {name for name in _called(tree) - _defined(tree) - there if name[:1].isupper()}
    for node in ast.walk(tree):
        if fault := _fault(node) or _fault_of_comparison(node, written):
            raise RowError(f"{field!r}: {_shown(node)}: {fault}")
    for function in _functions(tree):
        if fault := _fault_of_function(function):
            raise RowError(f"{field!r}: {_shown(function)}: {fault}")
    if not any(_can_fail(node) for node in ast.walk(tree)):
        raise RowError(
            f"{field!r} of a code row has no assert: {quoted(test, 80)!r}; wanted tests such as "
            "'assert add(1, 2) == 3'"
        )
    return tree


def _shown(node: ast.AST) -> str:
    return repr(quoted(ast.unparse(node).splitlines()[0], 80))


def _fault(node: ast.AST) -> str:
    if isinstance(node, ast.Assert) and isinstance(node.test, ast.Tuple) and node.test.elts:
        return "a tuple is always true; write the assert without parentheses"
    if isinstance(node, ast.Expr) and isinstance(node.value, _COMPARED):
        return "a comparison alone tests nothing; write assert before it"
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        module = node.module if isinstance(node, ast.ImportFrom) else None
        names = [module or "", *(alias.name for alias in node.names)]
        if any(name.partition(".")[0] == "pytest" for name in names):
            return "pytest is not there; write asserts, and try/except for what must be raised"
    return ""


def _fault_of_comparison(node: ast.AST, classes: set[str]) -> str:
    """An object that a method of the solution returns could say that it equals anything: only
    objects that the test makes itself are compared."""
    if not isinstance(node, ast.Compare) or isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return ""
    sides = [node.left, *node.comparators]
    made = [_made_of(side, classes) for side in sides]
    names = [name for name in made if name]
    if not names or all(
        name or isinstance(s, ast.Name) for name, s in zip(made, sides, strict=True)
    ):
        return ""
    return f"objects of {names[0]} are compared; compare attributes or str(...)"


def _made_of(node: ast.expr, classes: set[str]) -> str:
    """The class of ``classes`` that an expression calls; empty for any other."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes:
        return node.func.id
    return ""


_FIXED = ("setup", "teardown", "set_up", "tear_down")


def _fault_of_function(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if function.name.startswith(_FIXED):
        return f"{function.name} is not called; write it into each test, or use unittest's setUp"
    if not function.name.startswith("test"):
        return ""
    if isinstance(function, ast.AsyncFunctionDef):
        return "an async test is not run; write asyncio.run(...) in a plain one"
    arguments = [*function.args.posonlyargs, *function.args.args]
    wanted = arguments[: len(arguments) - len(function.args.defaults)]
    if names := [argument.arg for argument in wanted if argument.arg != "self"]:
        return f"fixtures are not there, found {', '.join(names)}; write the values into the test"
    return ""


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in [*tree.body, *(node for one in classes for node in one.body)]:
        if isinstance(node, _FUNCTIONS):
            yield node


def _can_fail(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return bool(name.startswith(("assert", "fail")))
    return isinstance(node, (ast.Assert, ast.Raise))


def tested_function(tests: Sequence[ast.Module], setup: str) -> str:
    """The one function that each of the tests calls, or else uses, and that neither it, the set-up
    nor Python defines.

    Raises:
        RowError: there is none, or more than one.
    """
    there = _defined(parsed(setup, "setup_code"))
    for names in (_called, _used):
        common = set.intersection(*({*names(tree)} - _defined(tree) - there for tree in tests))
        if len(common) == 1:
            return common.pop()
    found = ", ".join(sorted({n for tree in tests for n in _called(tree) - _defined(tree) - there}))
    raise RowError(
        "no 'entry_point', the name of the function to write, and the tests do not call one "
        f"function all of them (called: {found or 'none'})"
    )


def _called(tree: ast.Module) -> set[str]:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {function.id for function in calls if isinstance(function, ast.Name)}


def _used(tree: ast.Module) -> set[str]:
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _defined(tree: ast.Module) -> set[str]:
    """Names that a source binds anywhere, and those of Python."""
    found = {*dir(builtins), "__name__", "__file__"}
    for node in ast.walk(tree):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found
