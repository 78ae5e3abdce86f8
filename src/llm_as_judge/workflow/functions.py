"""Follows the functions and lambdas that a program defines, each time that one is called."""

from __future__ import annotations

import ast
import functools

from llm_as_judge.workflow.calls import Calls, is_static
from llm_as_judge.workflow.frames import Frame, join_states, local_names
from llm_as_judge.workflow.loops import Loops
from llm_as_judge.workflow.values import (
    ANY,
    NONE,
    RECOVERED,
    SPARE,
    Value,
    either,
    is_written,
    join,
    joined,
)

__all__ = ["Functions"]


class Functions(Loops, Calls):
    """Definitions, arguments, bodies, and what they return."""

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
        for decorator in node.decorator_list:
            self.value(decorator, frame)
        self.annotations(node, frame)
        self.assign(node.name, Value("function", node=node, frame=frame), frame)

    def annotations(self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
        """Annotations are evaluated when the function is defined: their names must exist."""
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        written = [argument.annotation for argument in every] + [node.returns]
        for annotation in written:
            if annotation is not None:
                self.value(annotation, frame)

    def call_function(
        self,
        function: Value,
        call: ast.Call,
        positional: list[Value],
        named: dict[str, Value],
        frame: Frame,
    ) -> Value:
        node = function.node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return ANY
        if node in self.following:
            self.report("W602", call, getattr(node, "name", "lambda"))
            return RECOVERED
        inner = Frame(node, self.locals_of(node), function.frame)
        parameters = self._bind_parameters(node, function, positional, named, inner)
        self.following.append(node)
        if isinstance(node, ast.Lambda):
            value = self.value(node.body, inner)
            cost = inner.state.cost if inner.state else 0
        else:
            self.follow(node.body, inner)
            value = _function_value(node, inner)
            costs = [r.state.cost for r in inner.returns]
            cost = max([*costs, inner.state.cost if inner.state else 0])
        self.following.pop()
        self.spend(cost, frame)
        self._write_back(call, parameters, inner, frame)
        return value

    def _bind_parameters(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        function: Value,
        positional: list[Value],
        named: dict[str, Value],
        inner: Frame,
    ) -> list[str]:
        arguments = node.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
        defaults |= {
            a.arg: d
            for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if d is not None
        }
        values: dict[str, Value] = {}
        if "self" in function.names and names and not is_static(node):
            values[names.pop(0)] = Value("self")
        values |= dict(zip(names, positional, strict=False))
        if arguments.vararg is not None:
            rest = positional[len(names) :]
            labels = frozenset[str]().union(*(v.labels for v in rest))
            length = len(rest)
            values[arguments.vararg.arg] = Value(
                "list", labels, element=joined(rest), shortest=length, longest=length
            )
        values |= named
        for name in self.locals_of(node):
            if name not in values and name in defaults:
                values[name] = self.value(defaults[name], function.frame or self.module)
        for name in (*names, *(a.arg for a in arguments.kwonlyargs)):
            values.setdefault(name, RECOVERED)  # missing: a finding of its own
        if arguments.kwarg is not None:
            values.setdefault(arguments.kwarg.arg, Value("dict"))
        for name, value in values.items():
            if name in inner.locals:
                self.assign(name, value, inner)
        return names

    def _write_back(
        self, call: ast.Call, parameters: list[str], inner: Frame, frame: Frame
    ) -> None:
        """A list that the function filled is filled for its caller too."""
        ends = [inner.state, *(r.state for r in inner.returns)]
        end = join_states(ends)
        for argument, name in zip(call.args, parameters, strict=False):
            after = end.variables.get(name) if end is not None else None
            if after is not None and after.kind == "list" and isinstance(argument, ast.Name):
                self.store(argument, after, frame)

    def locals_of(self, node: ast.AST) -> frozenset[str]:
        if id(node) not in self.known_locals:
            self.known_locals[id(node)] = local_names(node)
        return self.known_locals[id(node)]


def _function_value(node: ast.AST, inner: Frame) -> Value:
    if inner.yields:
        element = joined(inner.yields) or ANY
        return Value("list", element.labels, element=element, calls=element.calls)
    values = [
        r.value.labelled(frozenset({SPARE})) if r.in_handler and is_written(r.value) else r.value
        for r in inner.returns
    ]
    value = functools.reduce(either, values) if values else NONE
    return join(value, NONE) if inner.state is not None and inner.returns else value
