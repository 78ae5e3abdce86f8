"""The arguments of an operator's call: names, types, and who made what is given."""

from __future__ import annotations

import ast
from collections.abc import Callable

from llm_as_judge.operators import OperatorEntry
from llm_as_judge.operators.base import MAX_NUMBER, Argument
from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import holds_other, origin_of
from llm_as_judge.workflow.context import Frame, nearest, plain, report_unawaited
from llm_as_judge.workflow.lookup import kind_of

_NO_DATA = v.Function | v.Method | v.Builtin | v.Module | v.Given
"""What cannot be sent to an operator."""


def by_name(entry: OperatorEntry, given: v.Arguments) -> dict[str, v.Value]:
    """The arguments by their names."""
    names = [argument.name for argument in entry.arguments]
    return {**dict(zip(names, given.positional, strict=False)), **given.named}


def check_arguments(entry: OperatorEntry, given: v.Arguments, at: Frame) -> None:
    """Notes what does not fit the operator: names, types, and who made what it is given."""
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
    elif argument.name in entry.operator.results_wanted:
        _check_origin(value, where, node, at)


def _no_text(value: v.Value) -> str:
    wrong = isinstance(value, v.Result | v.Listed | v.Mapped | _NO_DATA)
    return f"is a {word_for(value)}, not a text" if wrong else ""


def _no_texts(value: v.Value) -> str:
    if isinstance(value, v.Result | v.Text | v.Number | v.Nothing | v.Mapped | _NO_DATA):
        return f"is a {word_for(value)}, not a list of texts"
    if isinstance(value, v.Listed):
        for item in value.items or (value.element,):
            if isinstance(item, v.Result | v.Listed | v.Mapped | v.Operator | _NO_DATA):
                return f"holds a {word_for(item)}, not texts"
    return ""


def _no_number(value: v.Value) -> str:
    wanted = f"not a whole number from 1 to {MAX_NUMBER}"
    if not isinstance(value, v.Number):
        return f"is a {word_for(value)}, {wanted}"
    return "" if value.least >= 1 and value.most <= MAX_NUMBER else f"is {wanted}"


_UNFIT: dict[str, Callable[[v.Value], str]] = {
    "text": _no_text,
    "texts": _no_texts,
    "ways": lambda value: "",  # its functions are followed, and refused, before
    "number": _no_number,
}
"""Type of an argument -> why a value does not fit it; empty if it does."""


def word_for(value: v.Value) -> str:
    """What messages call it."""
    return "whole result" if isinstance(value, v.Result) else kind_of(value)


def _check_origin(value: v.Value, where: str, node: ast.Call, at: Frame) -> None:
    if isinstance(value, v.Listed) and value.most == 0:
        at.check.report("W401", node, f"{where} is an empty list")
    elif not origin_of(value) & v.ANSWER:
        at.check.report("W401", node, where)
    elif isinstance(value, v.Listed) and holds_other(value):
        at.check.report("W402", node, where)
