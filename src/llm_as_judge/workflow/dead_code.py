"""Dead code of a program: statements that cannot be reached, and operator calls whose result nobody reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from llm_as_judge.operators.syntax import parse_python

_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def has_dead_code(runnable: str) -> bool:
    """Whether a program pays for what it does not use, or holds what never runs.

    Args:
        runnable: in class form.
    Raises:
        UnparsableError: the text is no Python.
    """
    functions = [
        node
        for node in ast.walk(parse_python(runnable))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return any(_is_dead_in(function) for function in functions)


def _is_dead_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    read = _read(function)
    return any(
        _ends_early(block) or _is_unread(block, read) or _is_overwritten(block)
        for block in _blocks(function)
    )


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for inner in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(inner, name, None)
            if isinstance(block, list) and block:
                yield block


def _read(*nodes: ast.AST) -> set[str]:
    return {
        inner.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    }


def _awaits(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Await) for inner in ast.walk(node))


def _ends_early(block: list[ast.stmt]) -> bool:
    return any(isinstance(statement, _ENDS) for statement in block[:-1])


def _target(statement: ast.stmt) -> str | None:
    """The name that a plain assignment of an operator's result gives it."""
    if isinstance(statement, ast.Assign) and _awaits(statement.value):
        (target, *others) = statement.targets
        return target.id if isinstance(target, ast.Name) and not others else None
    return None


def _is_unread(block: list[ast.stmt], read: set[str]) -> bool:
    return any(
        (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Await))
        or ((name := _target(statement)) is not None and name not in read)
        for statement in block
    )


def _is_overwritten(block: list[ast.stmt]) -> bool:
    waiting: set[str] = set()
    for statement in block:
        waiting -= _read(statement)
        if isinstance(statement, ast.Assign):
            names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
            if names & waiting:
                return True
        if (name := _target(statement)) is not None:
            waiting.add(name)
    return False
