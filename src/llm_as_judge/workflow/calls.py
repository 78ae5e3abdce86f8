"""Calls: operators, the program's own functions, and what is given."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from llm_as_judge.operators import OperatorEntry
from llm_as_judge.operators.base import Argument
from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import computed, holds_other, item_of, length, origin_of, times
from llm_as_judge.workflow.context import Frame, nearest, plain, report_unawaited
from llm_as_judge.workflow.effects import effect_of, origin_of_call, pending, unawaited_items
from llm_as_judge.workflow.functions import misfit
from llm_as_judge.workflow.lookup import kind_of
from llm_as_judge.workflow.places import place
from llm_as_judge.workflow.repairs import give_model

__all__ = ["as_data", "called", "handed_on", "multiply"]

_NO_DATA = v.Function | v.Method | v.Builtin | v.Module | v.Given
"""What cannot be sent to an operator."""


def called(target: v.Value, given: v.Arguments, at: Frame) -> v.Value:
    """What ``target(...)`` gives."""
    match target:
        case v.Operator():
            return _operator_call(target, given, at)
        case v.Function():
            return _function_call(target, given, at)
        case v.Builtin(name=name) if name.startswith("operator."):
            return _create_operator(name.partition(".")[2], given, at)
        case v.Builtin(name=name):
            given = replace(handed_on(given, at), name=name)
            if not name.startswith("asyncio."):
                given = as_data(given, at)
            return effect_of(name)(given, at)
        case v.Unknown() | v.Method():
            return _unknown_call(target, as_data(handed_on(given, at), at))
        case v.Given("llm"):
            at.check.report("W210", given.node, "the model")
        case _:
            what = ast.unparse(given.node.func)[:40]
            at.check.report("W210", given.node, f"{what} is a value, not a function")
    return v.Pending(v.RECOVERED)


def as_data(given: v.Arguments, at: Frame) -> v.Arguments:
    """The arguments as data: none of them is a call that waits."""
    positional = [plain(value, at) for value in given.positional]
    named = {name: plain(value, at) for name, value in given.named.items()}
    return replace(given, positional=positional, named=named)


def _unknown_call(target: v.Unknown | v.Method, given: v.Arguments) -> v.Value:
    origin = computed(target.origin, origin_of_call(given)) if given.every else target.origin
    return v.Unknown(origin, target.item or unawaited_items(given))


# ----------------------------------------------------------------------------------- operators
def _operator_call(target: v.Operator, given: v.Arguments, at: Frame) -> v.Value:
    check = at.check
    entries = [check.options.operators[name] for name in sorted(target.names)]
    for entry in entries:
        check.operators.setdefault(entry.name)
        _check_arguments(entry, given, at)
    at.spend(max(entry.worst_case_calls for entry in entries))
    every = 0
    for value in given.every:
        every |= origin_of(value)
    origin = v.ANSWER if every & (v.PROBLEM | v.ANSWER) else v.LOOSE
    return pending(given.node, entries[0].call_name, v.Result(origin, target.names), at)


def _check_arguments(entry: OperatorEntry, given: v.Arguments, at: Frame) -> None:
    report, node, form = at.check.report, given.node, entry.description.call
    names = [argument.name for argument in entry.arguments]
    if given.unknown:
        report("W210", node, f"{form} is called with * or ** arguments")
        return
    if len(given.positional) > len(names):
        report("W206", node, f"{form} takes {len(names)} arguments")
    values = dict(zip(names, given.positional, strict=False))
    for name, value in given.named.items():
        if name not in names:
            report("W204", node, f"{name} in {form}" + nearest(name, names))
        elif name in values:
            report("W206", node, f"{name} in {form}")
        values[name] = value
    for argument in entry.arguments:
        if argument.name in values:
            _check_argument(entry, argument, values[argument.name], node, at)
        elif argument.required:
            report("W205", node, f"{argument.name} in {form}")


def _check_argument(
    entry: OperatorEntry, argument: Argument, value: v.Value, node: ast.Call, at: Frame
) -> None:
    where = f"{argument.name} of {entry.call_name}"
    value = plain(value, at, f" as {where}")
    wrong = _UNFIT[argument.type](value)
    if isinstance(value, v.Listed) and isinstance(value.element, v.Pending):
        report_unawaited(value, at.check, f" in {where}")
    if wrong:
        at.check.report("W207", node, f"{where} {wrong}")
    elif argument.name in entry.results_wanted:
        _check_origin(value, where, node, at)


def _no_text(value: v.Value) -> str:
    wrong = isinstance(value, v.Result | v.Listed | v.Mapped | _NO_DATA)
    return f"is a {_called(value)}, not a text" if wrong else ""


def _no_texts(value: v.Value) -> str:
    if isinstance(value, v.Result | v.Text | v.Number | v.Nothing | v.Mapped | _NO_DATA):
        return f"is a {_called(value)}, not a list of texts"
    if isinstance(value, v.Listed):
        for item in value.items or (value.element,):
            if isinstance(item, v.Result | v.Listed | v.Mapped | v.Operator | _NO_DATA):
                return f"holds a {_called(item)}, not texts"
    return ""


_UNFIT: dict[str, Callable[[v.Value], str]] = {"text": _no_text, "texts": _no_texts}
"""Type of an argument -> why a value does not fit it; empty if it does."""


def _called(value: v.Value) -> str:
    return "whole result" if isinstance(value, v.Result) else kind_of(value)


def _check_origin(value: v.Value, where: str, node: ast.Call, at: Frame) -> None:
    if isinstance(value, v.Listed) and value.most == 0:
        at.check.report("W401", node, f"{where} is an empty list")
    elif not origin_of(value) & v.ANSWER:
        at.check.report("W401", node, where)
    elif isinstance(value, v.Listed) and holds_other(value):
        at.check.report("W402", node, where)


def _create_operator(name: str, given: v.Arguments, at: Frame) -> v.Value:
    report, node = at.check.report, given.node
    model = given.positional[0] if given.positional else given.named.get("llm")
    others = given.named.keys() - {"llm", "name"}
    if model is None:
        report("W203", node, f"{name} without the model", give_model(node))
    elif model not in (v.Given("llm"), v.RECOVERED) and not isinstance(model, v.Unknown):
        report("W203", node, f"{name} is not given self.llm")
    elif others or len(given.positional) > 2:
        what = ", ".join(sorted(others)) or "a third argument"
        report("W203", node, f"{name} has no option {what}")
    return v.Operator(frozenset({name}), node)


# ----------------------------------------------------------------------------------- functions
def _function_call(
    function: v.Function, given: v.Arguments, at: Frame, handed: bool = False
) -> v.Value:
    node, check = function.node, at.check
    if not handed and (wrong := misfit(function, given)):
        check.report("W212", given.node, f"{getattr(node, 'name', 'lambda')}: {wrong}")
    if node in check.following:
        check.report("W602", given.node, getattr(node, "name", "lambda"))
        value: v.Value = v.RECOVERED
    else:
        followed = function.follow(given)
        value = followed.value
        at.spend(followed.cost)
        if not handed:  # a list that the function filled is filled for its caller too
            for argument, after in zip(given.node.args, followed.parameters, strict=False):
                if isinstance(after, v.Listed | v.Mapped):
                    place(argument, after, at)
    if isinstance(node, ast.AsyncFunctionDef):
        return pending(given.node, node.name, value, at)
    return value


def handed_on(given: v.Arguments, at: Frame, source: v.Value | None = None) -> v.Arguments:
    """Follows a function among the arguments: ``map(f, items)``, ``max(items, key=f)``.

    Args:
        source: what it is called with an item of; None = the first list among the arguments.
    """
    if not any(isinstance(value, v.Function) for value in given.every):
        return given
    kinds = v.Listed | v.Mapped | v.Unknown
    lists = (value for value in given.positional if isinstance(value, kinds))
    source = source or next(lists, v.Unknown())
    made: v.Value | None = None
    for value in given.every:
        if isinstance(value, v.Function):
            before = at.state.cost if at.state else 0
            one = v.Arguments(given.node, [item_of(source)])
            made = _function_call(value, one, at, handed=True)
            multiply(before, length(source)[1], given.node, at)
    return replace(given, made=made)


def multiply(before: float, count: float, node: ast.AST, at: Frame) -> None:
    """Model calls since ``before`` happen ``count`` times; unbounded is a finding."""
    if at.state is None or at.state.cost == before:
        return
    if count == v.INF:
        at.check.report("W601", node, "it calls operators")
    else:
        at.state.cost = before + times(count, at.state.cost - before)
