"""The functions that a program defines: what their arguments get, and one call of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import joined, listed, mapped
from llm_as_judge.workflow.context import Frame, meet

Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def make_function(
    node: Defined,
    home: Frame,
    evaluate: Callable[[ast.expr], v.Value],
    run: Callable[[Frame], v.Value],
    bound: bool = False,
) -> v.Function:
    """The value of a definition.

    Args:
        home: the frame whose variables it sees.
        evaluate: gives its defaults their values.
        run: follows its body, and gives what it returns.
        bound: it is called as ``self.name``.
    """
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    takes_self = bound and not is_static(node) and bool(names)
    defaults = dict(zip(reversed(names), map(evaluate, reversed(arguments.defaults)), strict=False))
    for keyword, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            defaults[keyword.arg] = evaluate(default)

    def follow(given: v.Arguments) -> v.Followed:
        inner = Frame(home.check, node, home)
        if takes_self:
            inner.assign(names[0], v.Given("self"))
        positional = names[takes_self:]
        for name, value in _bound(arguments, positional, defaults, given).items():
            if name in inner.locals:
                inner.assign(name, value)
        home.check.following.append(node)
        value = run(inner)
        home.check.following.pop()
        end = meet([inner.state, *(r.state for r in inner.returns)])
        if end is None:
            return v.Followed(value, v.Calls(), [])
        return v.Followed(value, end.cost, [end.variables.get(name) for name in positional])

    return v.Function(node, takes_self, follow)


def is_static(node: ast.AST) -> bool:
    """Whether a method takes no ``self``."""
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)


def _bound(
    arguments: ast.arguments, names: list[str], defaults: dict[str, v.Value], given: v.Arguments
) -> dict[str, v.Value]:
    # One that is missing is a finding of its own.
    missing = dict.fromkeys([*names, *(a.arg for a in arguments.kwonlyargs)], v.RECOVERED)
    values: dict[str, v.Value] = {
        **missing,
        **defaults,
        **dict(zip(names, given.positional, strict=False)),
    }
    if arguments.vararg is not None:
        rest = given.positional[len(names) :]
        values[arguments.vararg.arg] = listed(joined(rest), len(rest), len(rest))
    if arguments.kwarg is not None:
        values[arguments.kwarg.arg] = mapped(joined(given.named.values()))
    return values | given.named


def misfit(function: v.Function, given: v.Arguments) -> str:
    """Why the arguments do not fit the function's ``def``; empty if they do."""
    arguments = function.node.args
    if arguments.vararg or arguments.kwarg or given.unknown:
        return ""
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    optional = set(names[len(names) - len(arguments.defaults) :])
    names = names[function.bound :]
    named = {a.arg for a in arguments.kwonlyargs}
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    optional |= {a.arg for a, default in pairs if default}
    if len(given.positional) > len(names):
        return f"{len(given.positional)} arguments by position, it takes {len(names)}"
    filled = set(names[: len(given.positional)])
    if unknown := sorted(given.named.keys() - {*names, *named} | given.named.keys() & filled):
        return f"argument {unknown[0]}"
    missing = [
        n for n in (*names, *sorted(named)) if n not in filled | given.named.keys() | optional
    ]
    return f"{missing[0]} is missing" if missing else ""
