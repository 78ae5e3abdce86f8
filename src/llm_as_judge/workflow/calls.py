"""Follows calls: operators, the program's own functions, and everything else."""

from __future__ import annotations

import ast

from llm_as_judge.operators import OperatorEntry
from llm_as_judge.workflow.analysis import nearest
from llm_as_judge.workflow.containers import Given
from llm_as_judge.workflow.frames import Frame
from llm_as_judge.workflow.names import USAGE_SUMMARY
from llm_as_judge.workflow.plain_calls import PlainCalls
from llm_as_judge.workflow.repairs import give_model
from llm_as_judge.workflow.values import ANSWER, ANY, LOOSE, MAYBE, PROBLEM, RECOVERED, Value

__all__ = ["Calls"]

_NOT_CALLABLE = frozenset(
    {"result", "text", "pending", "list", "number", "dict", "none", "module", "operators", "self"}
)
_NO_DATA = frozenset({"function", "method", "class", "module", "operators", "llm", "self"})
"""What cannot be sent to an operator."""
_FOLLOWED_BY_NAME = ("self", "operators", "module", "llm", "class")


class Calls(PlainCalls):
    """The part of the check that follows calls."""

    def call(self, node: ast.Call, frame: Frame) -> Value:
        function = node.func
        if isinstance(function, ast.Attribute):
            base = self.value(function.value, frame)
            if base.kind not in _FOLLOWED_BY_NAME:
                return self._method(base, function, node, frame)
            target = self.attribute_of(base, function)
        else:
            target = self.value(function, frame)
        given = self._arguments(node, frame)
        if target.kind == "operator":
            return self._operator_call(target, given, frame)
        if target.kind == "function":
            return self._function_call(target, given, frame)
        if target.kind == "class":
            return self._named_call(next(iter(target.names), ""), given, frame)
        if target.kind == "llm":
            self.report("W210", node, "the model")
            return Value("pending", element=RECOVERED)
        if target.kind in _NOT_CALLABLE:
            self.report("W210", node, f"{ast.unparse(function)[:40]} is a value, not a function")
            return Value("pending", element=RECOVERED)
        return self._unknown_call(target, given, frame)

    def _arguments(self, node: ast.Call, frame: Frame) -> Given:
        positional: list[Value] = []
        named: dict[str, Value] = {}
        unknown = False
        for argument in node.args:
            value = self.value(argument, frame)
            if not isinstance(argument, ast.Starred):
                positional.append(value)
            elif value.items is not None:
                positional.extend(value.items)
            else:
                positional.append(value)
                unknown = True
        for keyword in node.keywords:
            value = self.value(keyword.value, frame)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif value.mapping is not None:
                named.update(value.mapping)
            else:
                named["**"] = value
                unknown = True
        return Given(node, positional, named, unknown)

    # ------------------------------------------------------------------------------- operators
    def _operator_call(self, target: Value, given: Given, frame: Frame) -> Value:
        entries = [self.options.operators[name] for name in sorted(target.names)]
        for entry in entries:
            self.operators.setdefault(entry.name)
            self._check_arguments(entry, given)
        self.spend(max(entry.worst_case_calls for entry in entries), frame)
        from_problem = bool(given.labels & {PROBLEM, ANSWER, MAYBE})
        label = frozenset({ANSWER if from_problem else LOOSE})
        result = Value("result", labels=label, names=target.names)
        return self.pending(given.node, entries[0].call_name, result)

    def _check_arguments(self, entry: OperatorEntry, given: Given) -> None:
        form = entry.description.call
        names = [argument.name for argument in entry.arguments]
        if given.unknown:
            self.report("W210", given.node, f"{form} is called with * or ** arguments")
            return
        if len(given.positional) > len(names):
            self.report("W206", given.node, f"{form} takes {len(names)} arguments")
        values = dict(zip(names, given.positional, strict=False))
        for name, value in given.named.items():
            if name not in names:
                self.report("W204", given.node, f"{name} in {form}" + nearest(name, names))
            elif name in values:
                self.report("W206", given.node, f"{name} in {form}")
            values[name] = value
        for argument in entry.arguments:
            if argument.name in values:
                self._check_argument(
                    entry, argument.name, argument.type, values[argument.name], given
                )
            elif argument.required:
                self.report("W205", given.node, f"{argument.name} in {form}")

    def _check_argument(
        self, entry: OperatorEntry, name: str, wanted: str, value: Value, given: Given
    ) -> None:
        where = f"{name} of {entry.call_name}"
        value = self.plain(value, f" as {where}")
        fits = self._fits_text if wanted == "text" else self._fits_texts
        if fits(value, where, given.node) and name in entry.results_wanted:
            self._check_origin(value, where, given.node)

    def _fits_text(self, value: Value, where: str, node: ast.Call) -> bool:
        if value.kind in ("result", "list", "dict") or value.kind in _NO_DATA:
            self.report("W207", node, f"{where} is a {_called(value)}, not a text")
            return False
        return True

    def _fits_texts(self, value: Value, where: str, node: ast.Call) -> bool:
        if value.kind in ("result", "text", "number", "none", "dict") or value.kind in _NO_DATA:
            self.report("W207", node, f"{where} is a {_called(value)}, not a list of texts")
            return False
        element = value.element
        if element is not None and element.kind == "pending":
            self.report_unawaited(value, f" in {where}")
        for item in value.items or (() if element is None else (element,)):
            if item.kind in ("result", "list", "dict", "operator") or item.kind in _NO_DATA:
                self.report("W207", node, f"{where} holds a {_called(item)}, not texts")
                return False
        return True

    def _check_origin(self, value: Value, where: str, node: ast.Call) -> None:
        if value.kind == "list" and value.longest == 0:
            self.report("W401", node, f"{where} is an empty list")
        elif not value.labels & {ANSWER, MAYBE}:
            self.report("W401", node, where)
        elif value.kind == "list" and value.foreign:
            self.report("W402", node, where)

    def _create_operator(self, name: str, given: Given) -> Value:
        node = given.node
        model = given.positional[0] if given.positional else given.named.get("llm")
        others = set(given.named) - {"llm", "name"}
        if model is None:
            self.report("W203", node, f"{name} without the model", give_model(node))
        elif model.kind not in ("llm", "any"):
            self.report("W203", node, f"{name} is not given self.llm")
        elif others or len(given.positional) > 2:
            what = ", ".join(sorted(others)) or "a third argument"
            self.report("W203", node, f"{name} has no option {what}")
        return Value("operator", names=frozenset({name}), node=node)

    # -------------------------------------------------------------------------------- functions
    def _function_call(self, target: Value, given: Given, frame: Frame) -> Value:
        if not given.unknown and (wrong := _misfit(target, given)):
            name = getattr(target.node, "name", "lambda")
            self.report("W212", given.node, f"{name}: {wrong}")
        value = self.call_function(target, given.node, given.positional, given.named, frame)
        if isinstance(target.node, ast.AsyncFunctionDef):
            return self.pending(given.node, target.node.name, value)
        return value

    def _named_call(self, name: str, given: Given, frame: Frame) -> Value:
        if name.startswith("operator."):
            return self._create_operator(name.partition(".")[2], given)
        if name == "create_llm_instance":
            return Value("llm")
        if name == USAGE_SUMMARY:
            return Value("dict", element=Value("number"))
        if name == "getattr" and len(given.positional) > 1:
            return self._getattr(given)
        if "." in name:
            return self.module_call(name, given, frame)
        return self.builtin_call(name, given, frame)

    def _getattr(self, given: Given) -> Value:
        base, attribute = given.positional[0], given.positional[1].constant
        if base.kind not in ("self", "operators"):
            return Value(labels=base.labels)
        if not isinstance(attribute, str):
            self.report("W210", given.node, "getattr with a name that is not written out")
            return RECOVERED
        spelled = ast.Attribute(value=given.node.args[0], attr=attribute, ctx=ast.Load())
        return self.attribute_of(base, ast.copy_location(spelled, given.node))

    def _unknown_call(self, target: Value, given: Given, frame: Frame) -> Value:
        labels = target.labels
        for value in given.every:
            if value.kind == "function":
                anything = Value(labels=given.labels)
                value = self.call_each(value, anything, None, frame, given.node)
            elif value.kind != "list":
                value = self.plain(value)
            labels |= value.labels
        return Value(labels=labels, element=target.element, calls=target.calls | given.calls)

    def _method(self, base: Value, function: ast.Attribute, node: ast.Call, frame: Frame) -> Value:
        given = self._arguments(node, frame)
        if function.attr.startswith("__"):
            return self.attribute_of(base, function)
        if base.kind == "pending" and function.attr in ("result", "done", "cancel", "exception"):
            return (base.element or ANY) if function.attr == "result" else Value("number")
        return self.method_call(self.plain(base), function, given, frame)


def _misfit(target: Value, given: Given) -> str:
    """Why the arguments do not fit the function's ``def``; empty if they do."""
    arguments = getattr(target.node, "args", None)
    if not isinstance(arguments, ast.arguments) or arguments.vararg or arguments.kwarg:
        return ""
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    optional = set(names[len(names) - len(arguments.defaults) :])
    if "self" in target.names and names and not is_static(target.node):
        names = names[1:]
    named = {a.arg for a in arguments.kwonlyargs}
    optional |= {
        a.arg for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d
    }
    if len(given.positional) > len(names):
        return f"{len(given.positional)} arguments by position, it takes {len(names)}"
    filled = set(names[: len(given.positional)])
    if unknown := sorted(given.named.keys() - {*names, *named} | given.named.keys() & filled):
        return f"argument {unknown[0]}"
    missing = [
        n for n in [*names, *sorted(named)] if n not in filled | given.named.keys() | optional
    ]
    return f"{missing[0]} is missing" if missing else ""


def is_static(node: ast.AST | None) -> bool:
    """Whether a method takes no ``self``."""
    decorators = getattr(node, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)


def _called(value: Value) -> str:
    return {"result": "whole result", "none": "None"}.get(value.kind, value.kind)
