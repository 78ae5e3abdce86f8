"""The outline of a program: its operator calls, loops and branches in the order in which they are written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from llm_as_judge.operators import registry
from llm_as_judge.operators.syntax import children, parse_python
from llm_as_judge.workflow.canonical import operator_attributes


class Mark(NamedTuple):
    """A call of an operator, or the beginning or end of a block with such calls."""

    operator: str
    """Class; empty for a block."""
    fixed: str
    """Its arguments that are constants; of a block its kind, and the range that a loop goes over."""


Outline = tuple[Mark, ...]
_END = Mark("", "end")
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
_BLOCKS = (*_LOOPS, ast.If, ast.IfExp, ast.Try, ast.FunctionDef, ast.AsyncFunctionDef)
_ENTRY = "__call__"


def outline(runnable: str) -> Outline:
    """Of a program in class form that can run. Names are not in it, nor which result goes where.

    Raises:
        UnparsableError: the text is no Python.
    """
    tree = parse_python(runnable)
    return tuple(_marks(tree, operator_attributes(tree)))


def _marks(node: ast.AST, attributes: dict[str, str]) -> list[Mark]:
    if isinstance(node, ast.FunctionDef) and node.name == "__init__":
        return []
    inside = [mark for child in children(node) for mark in _marks(child, attributes)]
    if called := _called(node, attributes):
        return [called, *inside]
    is_entry = isinstance(node, ast.AsyncFunctionDef) and node.name == _ENTRY
    if inside and isinstance(node, _BLOCKS) and not is_entry:
        return [Mark("", _kind(node)), *inside, _END]
    return inside


def _called(node: ast.AST, attributes: dict[str, str]) -> Mark | None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attr), keywords=keywords):
            if attr in attributes:
                fixed = sorted(
                    f"{one.arg}={one.value.value!r}"
                    for one in keywords
                    if isinstance(one.value, ast.Constant)
                )
                return Mark(attributes[attr], ", ".join(fixed))
    return None


def _kind(node: ast.AST) -> str:
    match node:
        case ast.For(iter=ast.Call(args=args)) if all(isinstance(a, ast.Constant) for a in args):
            return f"loop {ast.unparse(node.iter)}"
    return "loop" if isinstance(node, _LOOPS) else type(node).__name__


def without_one(whole: Outline) -> Iterator[tuple[str, Outline]]:
    """Each different outline that lacks one operator call, and the operator.

    One that chooses among solutions has nothing to choose from without the loop that draws them: it is also
    left out together with a loop.
    """
    seen = set()
    for at, mark in enumerate(whole):
        if not mark.operator:
            continue
        rest = _kept(whole, {at})
        every = [rest, *(_unlooped(rest) if _chooses(mark.operator) else ())]
        for shorter in every:
            if shorter and (mark.operator, shorter) not in seen:
                seen.add((mark.operator, shorter))
                yield mark.operator, shorter


def _chooses(operator: str) -> bool:
    known = registry().get(operator)
    return known is not None and "solutions" in known.description.arguments


def _unlooped(whole: Outline) -> Iterator[Outline]:
    """The outline without each of its loops, what is in them kept."""
    for begin, mark in enumerate(whole):
        if not mark.operator and mark.fixed.startswith("loop"):
            yield _kept(whole, {begin, _end_of(whole, begin)})


def _end_of(whole: Outline, begin: int) -> int:
    depth = 0
    for at in range(begin, len(whole)):
        if not whole[at].operator:
            depth += -1 if whole[at] == _END else 1
        if not depth:
            return at
    raise ValueError("a block that does not end")


def _kept(whole: Outline, left_out: set[int]) -> Outline:
    """The other marks, less the blocks in which no call is left."""
    found: list[Mark] = []
    for at, mark in enumerate(whole):
        if at in left_out:
            continue
        if mark == _END and found and not found[-1].operator and found[-1] != _END:
            found.pop()
        else:
            found.append(mark)
    return tuple(found)
