"""Parses untrusted Python text within bounds: it ends quickly, whatever the text holds."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

MAX_SOURCE_CHARACTERS = 20_000
MAX_DEPTH = 80
_MAX_BRACKETS = 60
_BRACKETS = re.compile(r"[()\[\]{}]")


class UnparsableError(ValueError):
    """The text is no Python that we take. ``line`` is 1-based, 0 = the text as a whole."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def parse_python(source: str) -> ast.Module:
    """The syntax tree of ``source``, at most :data:`MAX_DEPTH` nodes deep.

    Raises:
        UnparsableError: too long, too deeply nested, not text, or no Python.
    """
    if len(source) > MAX_SOURCE_CHARACTERS:
        raise UnparsableError(
            f"{len(source)} characters, at most {MAX_SOURCE_CHARACTERS} are taken"
        )
    if line := _line_of_control_character(source):
        raise UnparsableError("a control character: this is not program text", line)
    # The parser itself recurses on brackets and prefix operators.
    if _bracket_depth(source) > _MAX_BRACKETS:
        raise UnparsableError(f"brackets nested deeper than {_MAX_BRACKETS}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError as error:
        raise UnparsableError(str(error.msg), error.lineno or 0) from None
    except (RecursionError, MemoryError):
        raise UnparsableError("nested too deeply to be read") from None
    except ValueError as error:
        raise UnparsableError(str(error)) from None
    if (deep := _first_too_deep(tree)) is not None:
        raise UnparsableError(f"nested deeper than {MAX_DEPTH} levels", deep)
    return tree


def _line_of_control_character(source: str) -> int:
    for number, line in enumerate(source.split("\n"), start=1):
        if not line.isprintable() and any(ord(c) < 32 and c not in "\t\r\f" for c in line):
            return number
    return 0


def _bracket_depth(source: str) -> int:
    depth = deepest = 0
    for bracket in _BRACKETS.findall(source):
        if bracket in "([{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth = max(0, depth - 1)
    return deepest


_WITHOUT_PARTS = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment"})
"""Fields that hold names, or nodes such as ``Load`` and ``Add``."""


_PARTS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}
"""Kind of node -> its fields that may hold further nodes; filled as kinds are met."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below that may have parts of their own: ``ast.iter_child_nodes`` without
    ``Load``, ``Add``, ``Pass`` and the like, in a quarter of its time."""
    found: list[ast.AST] = []
    kind = type(node)
    if (names := _PARTS.get(kind)) is None:
        names = _PARTS[kind] = tuple(n for n in kind._fields if n not in _WITHOUT_PARTS)
    for name in names:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def outside_expressions(tree: ast.AST) -> Iterator[ast.AST]:
    """``tree`` and what is below it, but for the parts of expressions."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.expr):
            todo.extend(children(node))


def _first_too_deep(tree: ast.AST) -> int | None:
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level if node._fields for child in children(node)]
        if not level:
            return None
    return min(getattr(node, "lineno", 0) for node in level)
