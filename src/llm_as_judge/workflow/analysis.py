"""What one check accumulates, and what its parts share: findings, calls seen, variables."""

from __future__ import annotations

import ast
import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace

from llm_as_judge.operators import Registry
from llm_as_judge.types import Domain
from llm_as_judge.workflow.findings import Finding, Repair
from llm_as_judge.workflow.frames import Frame, State
from llm_as_judge.workflow.repairs import await_call
from llm_as_judge.workflow.values import NO_CONSTANT, RECOVERED, SPARE, Value, is_written, join

__all__ = ["Analysis", "CheckOptions", "TooComplexError", "nearest"]

STEPS = 30_000
"""Expressions followed at most: nested loops and functions are followed again for each use."""


class TooComplexError(Exception):
    """The bound on steps was reached."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    operators: Registry
    domain: Domain
    max_calls: int
    wants_tuple: bool
    """Class form: ``return answer, 0.0``; in the body form the scaffold adds the second part."""


def nearest(name: str, known: Iterable[str]) -> str:
    """``, did you mean X?`` or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f", did you mean {close[0]}?" if close else ""


class Analysis(ABC):
    """Base of the parts that follow a program: expressions, calls, statements."""

    def __init__(self, options: CheckOptions, source_class: ast.ClassDef) -> None:
        self.options = options
        self.findings: dict[tuple[str, int, str], Finding] = {}
        self.operators: dict[str, None] = {}
        """Operator classes called, in order of first appearance."""
        self.created_calls: dict[int, tuple[ast.Call, str]] = {}
        self.awaited_calls: set[int] = set()
        self.unawaited_calls: set[int] = set()
        """Found to be read before any ``await``: one finding each."""
        self.methods: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {
            item.name: item
            for item in source_class.body
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        self.assigned: dict[tuple[int, str], Value] = {}
        """(id of function, variable) -> everything assigned to it, for the scope repair."""
        self.module = Frame(source_class, frozenset(), None)
        self.attributes = Frame(source_class, frozenset(), None)
        """``self.x`` is the variable ``x`` of this frame."""
        self.known_locals: dict[int, frozenset[str]] = {}
        self.call_names = frozenset(e.call_name for e in options.operators.values())
        self.steps = 0
        self.following: list[ast.AST] = []

    @abstractmethod
    def value(self, node: ast.AST, frame: Frame) -> Value:
        """What ``node`` evaluates to; notes what goes wrong in it."""

    @abstractmethod
    def call_function(
        self,
        function: Value,
        call: ast.Call,
        positional: list[Value],
        named: dict[str, Value],
        frame: Frame,
    ) -> Value:
        """Follows a call of a function that the program defines; gives what it returns."""

    @abstractmethod
    def call_each(
        self,
        function: Value,
        element: Value | None,
        times: int | None,
        frame: Frame,
        node: ast.Call,
    ) -> Value:
        """Follows a function that is handed to another one."""

    def step(self) -> None:
        self.steps += 1
        if self.steps > STEPS:
            raise TooComplexError

    def report(
        self, code: str, node: ast.AST | None, detail: str = "", repair: Repair | None = None
    ) -> None:
        line = getattr(node, "lineno", 0)
        key = (code, line, detail)
        if key not in self.findings:
            self.findings[key] = Finding(code, line, detail, repair)

    # ------------------------------------------------------------------------------ awaiting
    def plain(self, value: Value, where: str = "") -> Value:
        """``value`` used as data: a call that was not awaited is found here, and then taken as
        if it were."""
        if value.kind == "pending":
            self.report_unawaited(value, where)
            return value.element or Value(labels=value.labels)
        if value.kind == "operator":
            names = "/".join(sorted(value.names))
            self.report("W210", value.node, f"{names}{where}")
            return RECOVERED
        return value

    def report_unawaited(self, value: Value, where: str = "") -> None:
        for call in value.calls - self.awaited_calls - self.unawaited_calls:
            node, name = self.created_calls[call]
            self.report("W301", node, name + where, await_call(node))
            self.unawaited_calls.add(call)

    def mark_awaited(self, value: Value) -> None:
        self.awaited_calls.update(value.calls)

    # ----------------------------------------------------------------------------- variables
    def assign(self, name: str, value: Value, frame: Frame) -> None:
        owner = frame.owner(name) or self.module
        if owner.state is None:
            return
        if frame.handlers and is_written(value):
            value = value.labelled(frozenset({SPARE}))
        owner.state.variables[name] = value
        owner.state.unsure.discard(name)
        key = (id(owner.function), name)
        known = self.assigned.get(key)
        self.assigned[key] = value if known is None else join(known, value)

    def mutate(self, root: ast.expr, added: Value, frame: Frame) -> None:
        """Something goes into the container at ``root``: a variable, ``self.x``, or a part of one
        (then only where it comes from is known of the whole)."""
        whole = root
        while isinstance(root, ast.Subscript | ast.Call) or (
            isinstance(root, ast.Attribute) and not _is_self(root.value)
        ):
            root = root.func if isinstance(root, ast.Call) else root.value
        state, name = self._variable(root, frame)
        if state is None or name not in state.variables:
            return
        old = state.variables[name]
        element: Value | None = Value(labels=added.labels, calls=added.calls)
        if root is whole and old.kind != "any":  # of an object, its methods give what they like
            element = added if old.element is None else join(old.element, added)
        state.variables[name] = replace(
            old,
            shortest=0 if old.kind == "dict" else old.shortest,
            kind="any" if old.kind == "none" else old.kind,
            labels=old.labels | added.labels,
            element=element,
            items=None,
            mapping=None,
            calls=old.calls | added.calls,
            longest=None,
            constant=NO_CONSTANT,
        )

    def _variable(self, node: ast.expr, frame: Frame) -> tuple[State | None, str]:
        if isinstance(node, ast.Name):
            owner = frame.owner(node.id) or self.module
            return owner.state, node.id
        if isinstance(node, ast.Attribute) and _is_self(node.value):
            return self.attributes.state, node.attr
        return None, ""

    def stored(self, node: ast.expr, frame: Frame) -> Value | None:
        """The value that a plain variable or ``self.x`` holds now."""
        state, name = self._variable(node, frame)
        return None if state is None else state.variables.get(name)

    def store(self, node: ast.expr, value: Value, frame: Frame) -> None:
        """Changes what a plain variable or ``self.x`` holds."""
        state, name = self._variable(node, frame)
        if state is not None and name in state.variables:
            state.variables[name] = value

    def spend(self, calls: int, frame: Frame) -> None:
        if frame.state is not None:
            frame.state.cost += calls


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
