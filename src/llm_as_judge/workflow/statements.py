"""Follows statements on every path: assignments, branches, try, returns, functions."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from llm_as_judge.workflow.findings import Repair
from llm_as_judge.workflow.frames import Frame, Return, State, join_states, local_names
from llm_as_judge.workflow.functions import Functions
from llm_as_judge.workflow.values import (
    ANY,
    NO_CONSTANT,
    NONE,
    RECOVERED,
    SPARE,
    Value,
    is_written,
)
from llm_as_judge.workflow.vocabulary import ALLOWED_MODULES

__all__ = ["Statements"]

_IGNORED = (ast.Pass, ast.Global, ast.Nonlocal)


class Statements(Functions):
    """The whole of the check that follows a function's body."""

    def follow(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        """Follows ``body`` from ``frame.state``, and leaves there the state after it."""
        for statement in body:
            if frame.state is None:
                return
            self.step()
            for snapshots in frame.snapshots:
                snapshots.append(frame.state.copy())
            if isinstance(statement, _IGNORED):
                continue
            getattr(self, _FOLLOW.get(type(statement), "other_statement"))(statement, frame)

    def other_statement(self, node: ast.stmt, frame: Frame) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.plain(self.value(child, frame))

    # ------------------------------------------------------------------------------ assignments
    def assignment(self, node: ast.Assign, frame: Frame) -> None:
        value = self.value(node.value, frame)
        for target in node.targets:
            self.bind_target(target, value, frame)

    def annotated(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.bind_target(node.target, self.value(node.value, frame), frame)

    def augmented(self, node: ast.AugAssign, frame: Frame) -> None:
        loaded: ast.expr = node.target
        if isinstance(loaded, ast.Name):
            loaded = ast.copy_location(ast.Name(loaded.id, ast.Load()), loaded)
        operation = ast.BinOp(left=loaded, op=node.op, right=node.value)
        value = self.value(ast.copy_location(operation, node), frame)
        self.bind_target(node.target, value, frame)

    def expression(self, node: ast.Expr, frame: Frame) -> None:
        value = self.value(node.value, frame)
        if value.kind == "pending":
            self.report_unawaited(value)

    def deletion(self, node: ast.Delete, frame: Frame) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name) and frame.state is not None:
                self.value(ast.copy_location(ast.Name(target.id, ast.Load()), target), frame)
                frame.state.variables.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                self.plain(self.value(target.slice, frame))
                self.shrink(target.value, self.plain(self.value(target.value, frame)), frame)

    # --------------------------------------------------------------------------------- branches
    def branch(self, node: ast.If, frame: Frame) -> None:
        test = self.plain(self.value(node.test, frame), " in a condition")
        ends: list[State | None] = []
        before = frame.state
        for body, taken in ((node.body, True), (node.orelse, False)):
            if test.constant is not NO_CONSTANT and bool(test.constant) is not taken:
                continue
            frame.state = before.copy() if before is not None else None
            self.follow(body, frame)
            ends.append(frame.state)
        frame.state = join_states(ends)

    def match(self, node: ast.Match, frame: Frame) -> None:
        subject = self.plain(self.value(node.subject, frame))
        ends: list[State | None] = []
        before = frame.state
        exhaustive = False
        for case in node.cases:
            frame.state = before.copy() if before is not None else None
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self.assign(name, Value(labels=subject.labels), frame)
            if case.guard is not None:
                self.plain(self.value(case.guard, frame))
            self.follow(case.body, frame)
            ends.append(frame.state)
            wild = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            exhaustive = exhaustive or (wild and case.guard is None)
        frame.state = join_states(ends if exhaustive else [*ends, before])

    def attempt(self, node: ast.Try, frame: Frame) -> None:
        """``try``: a handler may be entered from before each statement of the body."""
        first_return = len(frame.returns)
        snapshots: list[State] = []
        frame.snapshots.append(snapshots)
        self.follow(node.body, frame)
        frame.snapshots.pop()
        self.follow(node.orelse, frame)
        ends = [frame.state]
        entry = join_states(_spared(state) for state in snapshots)
        for handler in node.handlers:
            frame.state = entry.copy() if entry is not None else None
            if handler.type is not None:
                self.value(handler.type, frame)
            if handler.name:
                self.assign(handler.name, Value("any"), frame)
            frame.handlers += 1
            self.follow(handler.body, frame)
            frame.handlers -= 1
            if handler.name and frame.state is not None:
                # Python deletes the name when the handler ends.
                frame.state.variables.pop(handler.name, None)
            ends.append(frame.state)
        frame.state = join_states(ends)
        if node.finalbody:
            self._finally(node.finalbody, frame, frame.returns[first_return:])

    def _finally(self, body: list[ast.stmt], frame: Frame, returns: list[Return]) -> None:
        """Followed from where the ``try`` ends or is left by ``return``; the calls it makes come
        on top of those of each ``return``."""
        goes_on = frame.state is not None
        entry = frame.state or join_states(r.state for r in returns)
        if entry is None:
            return
        before = entry.cost
        frame.state = entry.copy()
        self.follow(body, frame)
        added = frame.state.cost - before if frame.state is not None else 0
        for returned in returns:
            returned.state.cost += added
        if not goes_on:
            frame.state = None

    def context(self, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
        for item in node.items:
            value = self.plain(self.value(item.context_expr, frame))
            if item.optional_vars is not None:
                self.bind_target(item.optional_vars, value, frame)
        self.follow(node.body, frame)

    # --------------------------------------------------------------------------- leaving a path
    def returned(self, node: ast.Return, frame: Frame) -> None:
        self._ignore_cost(node)
        value = NONE if node.value is None else self.value(node.value, frame)
        if frame.state is not None:
            frame.returns.append(Return(node, value, frame.state, bool(frame.handlers)))
        frame.state = None

    def _ignore_cost(self, node: ast.Return) -> None:
        """MetaGPT's ``return answer, self.llm.cost_manager.total_cost``: a program is not told what
        it costs; the ledger knows."""
        pair = node.value
        if not (isinstance(pair, ast.Tuple) and len(pair.elts) == 2):
            return
        if ast.unparse(pair.elts[1]).startswith("self.llm.cost_manager"):
            cost = pair.elts[1]
            pair.elts[1] = ast.copy_location(ast.Constant(0.0), cost)
            self.report("W211", node, "", Repair("cost", _nothing))

    def yielded(self, node: ast.Yield, frame: Frame) -> Value:
        value = NONE if node.value is None else self.value(node.value, frame)
        frame.yields.append(value)
        return ANY

    def raised(self, node: ast.Raise, frame: Frame) -> None:
        self.other_statement(node, frame)
        frame.state = None

    # ---------------------------------------------------------------------- names from elsewhere
    def imported(self, node: ast.Import, frame: Frame) -> None:
        for alias in node.names:
            if self.allowed_import(alias.name, node, frame):
                root = alias.name if alias.asname else alias.name.partition(".")[0]
                module = Value("module", names=frozenset({root}))
                self.assign(alias.asname or root, module, frame)

    def imported_from(self, node: ast.ImportFrom, frame: Frame) -> None:
        module = node.module or ""
        if not self.allowed_import("." * node.level + module, node, frame):
            return
        for alias in node.names:
            self.assign(
                alias.asname or alias.name, self.module_attribute(module, alias.name, node), frame
            )

    def allowed_import(self, name: str, node: ast.Import | ast.ImportFrom, frame: Frame) -> bool:
        """True for an allowed module; else notes a finding and binds what the import would."""
        if name.partition(".")[0] in ALLOWED_MODULES:
            return True
        self.report("W106", node, name)
        for alias in node.names:
            self.assign((alias.asname or alias.name).partition(".")[0], RECOVERED, frame)
        return False

    def inner_class(self, node: ast.ClassDef, frame: Frame) -> None:
        """A class beside ``Workflow``: its body is followed, its instances are not."""
        for base in node.bases:
            self.value(base, frame)
        inner = Frame(node, local_names(node), frame)
        self.follow([s for s in node.body if not isinstance(s, _FUNCTIONS)], inner)
        for method in node.body:
            if isinstance(method, _FUNCTIONS):
                for part in ast.walk(method):
                    if isinstance(part, ast.Attribute) and part.attr in self.call_names:
                        self.report("W210", part, f"{part.attr} inside class {node.name}")
        self.assign(node.name, Value("any", names=frozenset({node.name})), frame)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_FOLLOW: dict[type[ast.stmt], str] = {
    ast.Assign: "assignment",
    ast.AnnAssign: "annotated",
    ast.AugAssign: "augmented",
    ast.Expr: "expression",
    ast.Delete: "deletion",
    ast.If: "branch",
    ast.Match: "match",
    ast.Try: "attempt",
    ast.With: "context",
    ast.AsyncWith: "context",
    ast.Return: "returned",
    ast.Raise: "raised",
    ast.Import: "imported",
    ast.ImportFrom: "imported_from",
    ast.FunctionDef: "function",
    ast.AsyncFunctionDef: "function",
    ast.ClassDef: "inner_class",
    ast.For: "for_loop",
    ast.AsyncFor: "for_loop",
    ast.While: "while_loop",
    ast.Break: "broken",
    ast.Continue: "continued",
}
"""Kind of statement -> the method that follows it."""


def _nothing(tree: ast.Module) -> None:
    """The tree was changed when the finding was made, so that the rest could be followed."""


def _spared(entry: State) -> State:
    """The state in which a handler may begin: what a variable holds is what the error left."""
    state = entry.copy()
    for name, value in state.variables.items():
        if is_written(value):
            state.variables[name] = value.labelled(frozenset({SPARE}))
    return state
