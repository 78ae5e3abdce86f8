"""Calls and their arguments: operators, the program's own functions, and what is given."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from llm_as_judge.llm.shared import among_known
from llm_as_judge.operators import OperatorEntry
from llm_as_judge.operators.base import MAX_NUMBER, Argument
from llm_as_judge.operators.registry import EXECUTOR
from llm_as_judge.types import DEFAULT_EXECUTOR
from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import (
    calls_of,
    computed,
    item_of,
    joined,
    length,
    listed,
    many,
    origin_of,
)
from llm_as_judge.workflow.assignments import place
from llm_as_judge.workflow.context import Frame, nearest, plain, report_unawaited
from llm_as_judge.workflow.effects import effect_of, origin_of_call, pending, unawaited_items
from llm_as_judge.workflow.lookup import kind_of
from llm_as_judge.workflow.methods import misfit
from llm_as_judge.workflow.repairs import give_model

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
    elif isinstance(value, v.Listed) and origin_of(value.element or v.Text(0)) & (v.OWN | v.LOOSE):
        at.check.report("W402", node, where)


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
    given = _without_executor(entries, given, at)
    given, ways = _drawn(entries, given, at)
    for entry in entries:
        check_arguments(entry, given, at)
    _spend(entries, ways, given, at)
    every = 0
    for value in given.every:
        every |= origin_of(value)
    origin = v.ANSWER if every & (v.PROBLEM | v.ANSWER) else v.LOOSE
    if not all(entry.operator.answers for entry in entries):
        origin = every
    return pending(given.node, entries[0].call_name, v.Result(origin, target.names), at)


def _without_executor(entries: list[OperatorEntry], given: v.Arguments, at: Frame) -> v.Arguments:
    """The arguments but ``executor``, which says who is asked and nothing of what."""
    if EXECUTOR not in given.named or not all(entry.asks for entry in entries):
        return given
    named = dict(given.named)
    value = plain(named.pop(EXECUTOR), at)
    others = at.check.options.executors
    if isinstance(value, v.Text) and value.constant is not None:
        if value.constant not in (DEFAULT_EXECUTOR, *others):
            at.check.report("W213", given.node, among_known(value.constant, others))
    elif not isinstance(
        value, v.Text | v.Unknown
    ):  # a text that is computed is looked up in the run
        what = f"{EXECUTOR} of {entries[0].call_name} is a {word_for(value)}, not a text"
        at.check.report("W207", given.node, what)
    return replace(given, named=named)


def _spend(
    entries: list[OperatorEntry], ways: list[v.Calls], given: v.Arguments, at: Frame
) -> None:
    """Counts the calls of the operator, and those of its ways as often as they may be drawn."""
    most, mean = 0.0, 0.0
    for entry in entries:
        numbers = _numbers(entry, given)
        most = max(most, entry.operator.calls_at_most(numbers, [way.most for way in ways]))
        mean = max(mean, entry.operator.calls_expected(numbers, [way.mean for way in ways]))
    at.spend(v.Calls(most, mean))


def _numbers(entry: OperatorEntry, given: v.Arguments) -> dict[str, int]:
    """The greatest value of each argument that is a number."""
    numbers: dict[str, int] = {}
    values = by_name(entry, given)
    for argument in entry.arguments:
        if argument.type != "number":
            continue
        value = values.get(argument.name)
        most = value.most if isinstance(value, v.Number) else argument.default
        numbers[argument.name] = int(min(max(1, most or 1), MAX_NUMBER))
    return numbers


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


# ---------------------------------------------------------------------------------------- ways
def _drawn(
    entries: list[OperatorEntry], given: v.Arguments, at: Frame
) -> tuple[v.Arguments, list[v.Calls]]:
    """Follows each way once: the arguments with what the ways give in their place, and the calls of
    one draw in each."""
    found = [(entry, a.name) for entry in entries for a in entry.arguments if a.type == "ways"]
    value = by_name(found[0][0], given).get(found[0][1]) if found else None
    if value is None:
        return given, []
    entry, name = found[0]
    if wrong := _no_ways(value):
        at.check.report("W207", given.node, f"{name} of {entry.call_name} {wrong}")
        return _in_place(entry, name, given, v.RECOVERED), []
    assert isinstance(value, v.Listed)
    outcomes, calls = [], []
    for function in value.items or (value.element,):
        assert isinstance(function, v.Function)
        outcome, made = _one_draw(function, given, at)
        outcomes.append(outcome)
        calls.append(made)
    drawn = listed(joined(outcomes), value.least, value.most)
    return _in_place(entry, name, given, drawn), calls


def _no_ways(value: v.Value) -> str:
    """Why it is no list of functions that can be followed; empty if it is."""
    if not isinstance(value, v.Listed):
        return f"is a {word_for(value)}, {_WANTED_WAYS}"
    if value.element is None:
        return f"is an empty list, {_WANTED_WAYS}"
    for item in value.items or (value.element,):
        if isinstance(item, v.Pending):
            return f"holds a call, {_WANTED_WAYS}"
        if not isinstance(item, v.Function):
            what = word_for(item)
            return f"holds {'an' if what[0] in 'aeiou' else 'a'} {what}, {_WANTED_WAYS}"
    return ""


_WANTED_WAYS = "not a list of functions: `[lambda: answer_generate(input=problem)]`"


def _one_draw(function: v.Function, given: v.Arguments, at: Frame) -> tuple[v.Value, v.Calls]:
    """(what counts of what one draw gives, its calls). A way is drawn a number of times that is not
    known, so what it leaves behind is not, either."""
    before, held = at.calls, _visible_values(at)
    made = _function_call(function, replace(given, positional=[], named={}), at)
    if _visible_values(at) != held:
        name = getattr(function.node, "name", "lambda")
        at.check.report("W210", given.node, f"the way {name} changes a variable outside it")
    calls = at.calls - before
    if at.state is not None:
        at.state.cost = before
    at.check.awaited |= calls_of(made)
    outcome = made.outcome if isinstance(made, v.Pending) else made
    text = v.Text(outcome.origin) if isinstance(outcome, v.Result) else plain(outcome, at)
    return text, calls


def _visible_values(at: Frame) -> list[dict[str, int]]:
    """Identity of every value that a function defined here can change."""
    found = [{name: id(value) for name, value in at.check.attributes.items()}]
    frame: Frame | None = at
    while frame is not None:
        if frame.state is not None:
            found.append({name: id(value) for name, value in frame.state.variables.items()})
        frame = frame.parent
    return found


def _in_place(entry: OperatorEntry, name: str, given: v.Arguments, drawn: v.Value) -> v.Arguments:
    """The arguments with ``drawn`` as the one of that name."""
    if name in given.named:
        return replace(given, named={**given.named, name: drawn})
    index = [argument.name for argument in entry.arguments].index(name)
    positional = [*given.positional[:index], drawn, *given.positional[index + 1 :]]
    return replace(given, positional=positional)


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
            before = at.calls
            one = v.Arguments(given.node, [item_of(source)])
            made = _function_call(value, one, at, handed=True)
            multiply(before, length(source)[1], given.node, at)
    return replace(given, made=made)


def multiply(before: v.Calls, count: float, node: ast.AST, at: Frame) -> None:
    """Model calls since ``before`` happen ``count`` times; unbounded is a finding."""
    if at.state is None or at.state.cost == before:
        return
    if count == v.INF:
        at.check.report("W601", node, "it calls operators")
    else:
        at.state.cost = before + many(at.state.cost - before, count)
