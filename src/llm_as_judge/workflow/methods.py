"""Methods of plain values: what they give, and what they leave in the value, a table for each type."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import (
    computed,
    concatenated,
    item_of,
    join,
    joined,
    labeled,
    listed,
    mapped,
    origin_of,
    with_item,
)
from llm_as_judge.workflow.assignments import tainted
from llm_as_judge.workflow.context import Frame, meet
from llm_as_judge.workflow.effects import no_whole_results, origin_of_call
from llm_as_judge.workflow.findings import MUTATING_METHODS, TEXT_METHODS
from llm_as_judge.workflow.lookup import as_key, read_key

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


Outcome: TypeAlias = tuple[v.Value, v.Value | None]
"""(what the call gives, what the value is afterwards; None = as it was)."""
MethodEffect: TypeAlias = Callable[[Any, v.Arguments, Frame], Outcome]


def method_effect(base: v.Value, name: str, given: v.Arguments, at: Frame) -> Outcome:
    """The effect of ``base.name(...)``."""
    table: dict[str, MethodEffect] = METHODS_OF.get(type(base), {})
    if (effect := table.get(name)) is not None:
        return effect(base, given, at)
    origin = computed(origin_of(base), origin_of_call(given)) if given.every else origin_of(base)
    match base:
        case v.Listed():
            return v.Number(computed(origin)), None
        case v.Result():
            return v.Unknown(origin), None
    if name == "create_task":
        return given.first, None
    if name == "join":
        no_whole_results(given, "join", at)
    after = None
    if name in MUTATING_METHODS and not isinstance(base, v.Text):
        after = tainted(base, joined(given.every) or v.Unknown())
    if name in TEXT_METHODS:
        return v.Text(computed(origin)), after
    if name in ("split", "splitlines", "rsplit"):
        return listed(v.Text(computed(origin))), after
    return v.Unknown(computed(origin), base.item if isinstance(base, v.Unknown) else None), after


# ------------------------------------------------------------------------------------------ lists
def _append(base: v.Listed, given: v.Arguments, at: Frame) -> Outcome:
    added = given.positional[-1] if given.positional else v.Unknown()
    if base.is_set:
        added = as_key(added, given.node, at)
    return v.Nothing(), with_item(base, added)


def _pop_item(base: v.Listed, given: v.Arguments, at: Frame) -> Outcome:
    shorter = listed(base.element, max(0, base.least - 1), base.most, None, base.is_set)
    return item_of(base), shorter


def _united(base: v.Listed, given: v.Arguments, at: Frame) -> Outcome:
    others = [value for value in given.every if isinstance(value, v.Listed)]
    elements = joined([base.element, *(other.element for other in others)])
    most = base.most + sum(other.most for other in others)
    return listed(elements, 0, most, None, base.is_set), None


# ------------------------------------------------------------------------------------------ dicts
def _get(base: v.Mapped, given: v.Arguments, at: Frame) -> Outcome:
    key = as_key(given.first, given.node, at)
    name = key.constant if isinstance(key, v.Text) else None
    found = base.mapping.get(name) if base.mapping and name is not None else None
    value = found or base.element or v.Unknown()
    if found is None and len(given.positional) > 1:
        value = join(value, given.positional[1]) if base.element else given.positional[1]
    return labeled(value, origin_of(key)), None


def _pop_key(base: v.Mapped, given: v.Arguments, at: Frame) -> Outcome:
    value, _ = _get(base, given, at)
    return value, mapped(base.element, None, base.keys, max(0, base.least - 1), base.most)


def _values(base: v.Mapped, given: v.Arguments, at: Frame) -> Outcome:
    items = tuple(base.mapping.values()) if base.mapping else None
    return listed(base.element, base.least, base.most, items), None


def _items(base: v.Mapped, given: v.Arguments, at: Frame) -> Outcome:
    row = (item_of(base), base.element or v.Unknown())
    return listed(listed(joined(row), 2, 2, row), base.least, base.most), None


def _update(base: v.Mapped, given: v.Arguments, at: Frame) -> Outcome:
    others = [o.element if isinstance(o, v.Mapped) else item_of(o) for o in given.every]
    return v.Nothing(), mapped(joined([base.element, *others]), None, base.keys | v.OWN)


METHODS_OF: dict[type, dict[str, MethodEffect]] = {
    v.Listed: {
        **dict.fromkeys(("append", "add", "insert", "appendleft"), _append),
        **dict.fromkeys(
            ("extend", "update", "extendleft"),
            lambda base, given, at: (v.Nothing(), concatenated(base, given.first)),
        ),
        **dict.fromkeys(("pop", "popleft"), _pop_item),
        **dict.fromkeys(
            ("sort", "reverse", "clear", "remove", "discard"),
            lambda base, given, at: (
                v.Nothing(), listed(base.element, 0, base.most, None, base.is_set)
            ),
        ),
        **dict.fromkeys(("copy", "union", "intersection", "difference"), _united),
    },
    v.Mapped: {
        "get": _get, "pop": _pop_key, "values": _values, "items": _items, "update": _update,
        "keys": lambda base, given, at: (listed(item_of(base), base.least, base.most), None),
        "copy": lambda base, given, at: (base, None),
    },
    v.Result: {
        **dict.fromkeys(
            ("get", "pop"),
            lambda base, given, at: (read_key(base, given.first, given.node, at), None),
        ),
        "copy": lambda base, given, at: (base, None),
    },
}  # fmt: skip
