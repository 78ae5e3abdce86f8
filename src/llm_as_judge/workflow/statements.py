"""Follows the statements of a function on every path: assignments, branches, loops, ``try``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import excused, join, joined, listed, origin_of, truth
from llm_as_judge.workflow.assignments import note_aliases, place
from llm_as_judge.workflow.context import Frame, Return, State, meet, plain, report_unawaited
from llm_as_judge.workflow.expressions import bind, evaluate
from llm_as_judge.workflow.findings import ALLOWED_MODULES, Repair
from llm_as_judge.workflow.lookup import module_attribute
from llm_as_judge.workflow.loops import for_loop, left_loop, while_loop
from llm_as_judge.workflow.methods import make_function


def follow(body: Sequence[ast.stmt], at: Frame) -> None:
    """Follows ``body`` from ``at.state``, and leaves there the state after it."""
    for statement in body:
        if at.state is None:
            return
        at.check.step()
        for snapshots in at.snapshots:
            snapshots.append(at.state.copy())
        _statement(statement, at)


def _statement(node: ast.stmt, at: Frame) -> None:
    match node:
        case ast.Assign(targets=targets, value=value):
            held = evaluate(value, at)
            for target in targets:
                bind(target, held, at)
                note_aliases(target, value, at)
        case ast.Return():
            _returned(node, at)
        case ast.Expr(value=value):
            held = evaluate(value, at)
            if isinstance(held, v.Pending):
                report_unawaited(held, at.check)
        case ast.If():
            _branch(node, at)
        case ast.For():
            for_loop(node, at, follow)
        case ast.While():
            while_loop(node, at, follow)
        case ast.AugAssign(target=target, op=operation, value=value):
            loaded = ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target
            sum_ = ast.BinOp(ast.copy_location(loaded, target), operation, value)
            bind(target, evaluate(ast.copy_location(sum_, node), at), at)
        case ast.AnnAssign(target=target, value=value):
            if value is not None:
                bind(target, evaluate(value, at), at)
        case ast.Try():
            _try(node, at)
        case ast.Break() | ast.Continue():
            left_loop(node, at)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for decorator in node.decorator_list:
                evaluate(decorator, at)
            follow_annotations(node, at)
            at.assign(node.name, define(node, at))
        case ast.Import() | ast.ImportFrom():
            _imported(node, at)
        case ast.Raise(exc=error, cause=cause):
            for part in (error, cause):
                if part is not None:
                    plain(evaluate(part, at), at)
            at.state = None
        case ast.Assert(test=test, msg=message):
            plain(evaluate(test, at), at)
            if message is not None:
                evaluate(message, at)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            for item in items:
                held = plain(evaluate(item.context_expr, at), at)
                if item.optional_vars is not None:
                    bind(item.optional_vars, held, at)
            follow(body, at)
        case ast.Match():
            _match(node, at)
        case ast.Delete(targets=targets):
            for target in targets:
                _deleted(target, at)
        case ast.ClassDef():
            _class_beside(node, at)
        case ast.Pass() | ast.Global() | ast.Nonlocal():
            pass
        case _:
            at.check.report("W111", node, ast.unparse(node).partition("\n")[0][:40])


# --------------------------------------------------------------------------------------- branches
def _branch(node: ast.If, at: Frame) -> None:
    holds = truth(plain(evaluate(node.test, at), at, " in a condition"))
    ends: list[State | None] = []
    before = at.state
    for body, taken in ((node.body, True), (node.orelse, False)):
        if holds is None or holds is taken:
            at.state = before.copy() if before is not None else None
            follow(body, at)
            ends.append(at.state)
    at.state = meet(ends)


def _match(node: ast.Match, at: Frame) -> None:
    subject = plain(evaluate(node.subject, at), at)
    ends: list[State | None] = []
    before = at.state
    exhaustive = False
    for case in node.cases:
        at.state = before.copy() if before is not None else None
        for part in ast.walk(case.pattern):
            name = getattr(part, "name", None) or getattr(part, "rest", None)
            if isinstance(name, str):
                at.assign(name, v.Unknown(origin_of(subject)))
        if case.guard is not None:
            plain(evaluate(case.guard, at), at)
        follow(case.body, at)
        ends.append(at.state)
        wild = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
        exhaustive = exhaustive or (wild and case.guard is None)
    at.state = meet(ends if exhaustive else [*ends, before])


def _try(node: ast.Try, at: Frame) -> None:
    """A handler may be entered from before each statement of the body."""
    first_return = len(at.returns)
    at.snapshots.append([])
    follow(node.body, at)
    entry = meet(at.snapshots.pop())
    follow(node.orelse, at)
    ends = [at.state]
    if entry is not None:
        # What a variable holds then is what the error left.
        entry.variables = {name: excused(value) for name, value in entry.variables.items()}
    for handler in node.handlers:
        at.state = entry.copy() if entry is not None else None
        if handler.type is not None:
            evaluate(handler.type, at)
        if handler.name:
            at.assign(handler.name, v.Unknown())
        at.handlers += 1
        follow(handler.body, at)
        at.handlers -= 1
        if handler.name and at.state is not None:
            at.state.variables.pop(handler.name, None)  # as Python does
        ends.append(at.state)
    at.state = meet(ends)
    if node.finalbody:
        _finally(node.finalbody, at.returns[first_return:], at)


def _finally(body: list[ast.stmt], returns: list[Return], at: Frame) -> None:
    """Followed from where the ``try`` ends or is left by ``return``; the calls it makes come on
    top of those of each ``return``."""
    goes_on = at.state is not None
    entry = at.state or meet(r.state for r in returns)
    if entry is None:
        return
    before = entry.cost
    at.state = entry.copy()
    follow(body, at)
    for returned in returns:
        returned.state.cost += at.state.cost - before if at.state is not None else v.Calls()
    at.state = at.state if goes_on else None


# ------------------------------------------------------------------------------- leaving a function
def _returned(node: ast.Return, at: Frame) -> None:
    match node.value:
        case ast.Tuple(elts=[_, cost]) if ast.unparse(cost).startswith("self.llm.cost_manager"):
            # MetaGPT's way to say what a run cost: the ledger knows, the program is not told.
            # Changed at once, so that the rest can be followed.
            node.value.elts[1] = ast.copy_location(ast.Constant(0.0), cost)
            at.check.report("W211", node, "", Repair("cost", lambda tree: None))
    value = v.Nothing() if node.value is None else evaluate(node.value, at)
    if at.state is not None:
        at.returns.append(Return(node, value, at.state, bool(at.handlers)))
    at.state = None


def _deleted(target: ast.expr, at: Frame) -> None:
    match target:
        case ast.Name(id=name) if at.state is not None:
            evaluate(ast.copy_location(ast.Name(name, ast.Load()), target), at)
            at.state.variables.pop(name, None)
        case ast.Subscript(value=owner, slice=key):
            plain(evaluate(key, at), at)
            held = plain(evaluate(owner, at), at)
            if isinstance(held, v.Listed):
                place(owner, listed(held.element, max(0, held.least - 1), held.most), at)
            elif isinstance(held, v.Mapped):
                place(owner, replace(held, mapping=None, least=max(0, held.least - 1)), at)


# ------------------------------------------------------------------------- definitions and imports
def define(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    home: Frame,
    defaults: Frame | None = None,
    bound: bool = False,
) -> v.Function:
    """The value of a ``def``.

    Args:
        home: the frame whose variables it sees.
        defaults: where its defaults are evaluated; None = in ``home``.
        bound: it is a method of the workflow.
    """

    def run(inner: Frame) -> v.Value:
        follow(node.body, inner)
        return _function_value(inner)

    return make_function(
        node, home, lambda default: evaluate(default, defaults or home), run, bound
    )


def _function_value(inner: Frame) -> v.Value:
    if inner.yields:
        return listed(joined(inner.yields))
    values = [excused(r.value) if r.in_handler else r.value for r in inner.returns]
    value = reduce(join, values) if values else v.Nothing()
    return join(value, v.Nothing()) if inner.state is not None and inner.returns else value


def follow_annotations(node: ast.FunctionDef | ast.AsyncFunctionDef, at: Frame) -> None:
    """Annotations are evaluated when the function is defined: their names must exist."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for annotation in (*(argument.annotation for argument in every), node.returns):
        if annotation is not None:
            evaluate(annotation, at)


def _imported(node: ast.Import | ast.ImportFrom, at: Frame) -> None:
    """Binds what an import gives; a module that is not allowed is a finding."""
    of = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        name, bound = of or alias.name, alias.asname or alias.name
        if name.partition(".")[0] not in ALLOWED_MODULES:
            at.check.report("W106", node, name)
            at.assign(bound.partition(".")[0], v.RECOVERED)
        elif of:
            at.assign(bound, module_attribute(of, alias.name, node, at))
        else:
            root = alias.name if alias.asname else alias.name.partition(".")[0]
            at.assign(alias.asname or root, v.Module(root))


def _class_beside(node: ast.ClassDef, at: Frame) -> None:
    """A class beside ``Workflow``: its body is followed, its instances are not."""
    for base in node.bases:
        evaluate(base, at)
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    follow([s for s in node.body if not isinstance(s, functions)], Frame(at.check, node, at))
    call_names = {entry.call_name for entry in at.check.options.operators.values()}
    for method in node.body:
        for part in ast.walk(method) if isinstance(method, functions) else ():
            if isinstance(part, ast.Attribute) and part.attr in call_names:
                at.check.report("W210", part, f"{part.attr} inside class {node.name}")
    at.assign(node.name, v.Unknown())
