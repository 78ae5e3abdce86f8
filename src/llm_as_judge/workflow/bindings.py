"""Names that a piece of a program binds, by Python's rule."""

from __future__ import annotations

import ast

from llm_as_judge.operators.syntax import children

_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})
_COMPREHENSIONS = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
_SCOPES = _DEFINITIONS | _COMPREHENSIONS | {ast.Lambda}
_BINDING = _DEFINITIONS | {
    ast.Name, ast.alias, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping,
    ast.Global, ast.Nonlocal,
}  # fmt: skip


def local_names(node: ast.AST) -> frozenset[str]:
    """Names that a function, class body or module binds: anywhere in it, and not declared global
    or nonlocal. Of a comprehension, its targets."""
    if hasattr(node, "generators"):
        parts = [part for g in node.generators for part in ast.walk(g.target)]
        return frozenset(part.id for part in parts if isinstance(part, ast.Name))
    bound, elsewhere = set[str](), set[str]()
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        bound.update(parameter_names(arguments))
    body = getattr(node, "body", [])
    todo: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is ast.Constant:
            continue
        if kind in _BINDING:
            _note(item, bound, elsewhere)
        if kind not in _SCOPES:
            todo.extend(children(item))
        elif kind in _COMPREHENSIONS:  # `:=` in a comprehension binds in the function around it
            todo.extend(n.target for n in ast.walk(item) if isinstance(n, ast.NamedExpr))
    return frozenset(bound - elsewhere)


def _note(item: ast.AST, bound: set[str], elsewhere: set[str]) -> None:
    match item:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            bound.add(name)
        case ast.alias():
            bound.add((item.asname or item.name).partition(".")[0])
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            bound.add(name)
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            bound.add(name)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            elsewhere.update(names)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            bound.add(item.name)


def parameter_names(arguments: ast.arguments) -> list[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [a.arg for a in every]
