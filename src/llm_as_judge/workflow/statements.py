"""Follows the statements of a function on every path: assignments, branches, loops, ``try``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from llm_as_judge.workflow.algebra import (
    excused,
    item_of,
    join,
    joined,
    length,
    listed,
    origin_of,
    truth,
)
from llm_as_judge.workflow.bounds import (
    closed,
    counted_by,
    grows_what_it_iterates,
    is_exact,
    rounds_of,
    widened,
)
from llm_as_judge.workflow.context import Frame, Loop, Return, State, meet, plain, report_unawaited
from llm_as_judge.workflow.expressions import bind, evaluate, iterable
from llm_as_judge.workflow.findings import Repair
from llm_as_judge.workflow.functions import make_function
from llm_as_judge.workflow.lookup import module_attribute
from llm_as_judge.workflow.places import peek, place
from llm_as_judge.workflow.values import (
    INF,
    RECOVERED,
    Function,
    Listed,
    Mapped,
    Module,
    Nothing,
    Pending,
    Unknown,
    Value,
)
from llm_as_judge.workflow.vocabulary import ALLOWED_MODULES

__all__ = ["define", "follow", "follow_annotations"]


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
        case ast.Return():
            _returned(node, at)
        case ast.Expr(value=value):
            held = evaluate(value, at)
            if isinstance(held, Pending):
                report_unawaited(held, at.check)
        case ast.If():
            _branch(node, at)
        case ast.For():
            _for(node, at)
        case ast.While():
            _while(node, at)
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
            _left(node, at)
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
                at.assign(name, Unknown(origin_of(subject)))
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
            at.assign(handler.name, Unknown())
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
        returned.state.cost += at.state.cost - before if at.state is not None else 0
    at.state = at.state if goes_on else None


# ------------------------------------------------------------------------------------------ loops
def _for(node: ast.For, at: Frame) -> None:
    source = iterable(evaluate(node.iter, at), node, at)
    least, most = length(source)
    if least == INF or grows_what_it_iterates(node):
        at.check.report("W601", node)
    _loop(node, least > 0, most, lambda: bind(node.target, item_of(source), at), at)


def _while(node: ast.While, at: Frame) -> None:
    holds = truth(plain(evaluate(node.test, at), at, " in a condition"))
    if holds is False:
        follow(node.orelse, at)
        return
    most, begins = INF, bool(holds)
    if (counted := counted_by(node)) is not None:
        variable, _, limit = counted
        counter = variable.args[0] if isinstance(variable, ast.Call) else variable
        start, end = peek(counter, at), evaluate(limit, at)
        most = rounds_of(node, counted, start, end)
        if isinstance(node.test, ast.Compare) and is_exact(start) and is_exact(end):
            begins = begins or most > 0
    if most == INF:
        at.check.report("W601", node)
    forever = isinstance(node.test, ast.Constant)
    _loop(node, begins, most, lambda: plain(evaluate(node.test, at), at), at, forever)


def _left(node: ast.Break | ast.Continue, at: Frame) -> None:
    if at.loops and at.state is not None:
        loop = at.loops[-1]
        (loop.breaks if isinstance(node, ast.Break) else loop.continues).append(at.state)
    at.state = None


def _loop(
    node: ast.For | ast.While,
    once: bool,
    most: float,
    enter: Callable[[], object],
    at: Frame,
    forever: bool = False,
) -> None:
    """Follows the body from the state before it, then from what many rounds may have left.

    Args:
        once: it runs at least once.
        most: rounds at most.
        enter: what begins each round.
        forever: it is left by ``break`` and ``return`` alone.
    """
    before = at.state
    assert before is not None
    first_return = len(at.returns)
    end, breaks = _round(node, before.copy(), enter, at)
    first = meet([end, *breaks])
    ends = [end, *breaks]
    if end is not None and first is not None and most != 1:
        start = end.copy()
        start.cost = before.cost
        wide = {
            name: widened(before.variables.get(name), value, most)
            for name, value in first.variables.items()
            if value is not before.variables.get(name) and name in start.variables
        }
        start.variables |= wide
        again, more = _round(node, start, enter, at)
        end = meet([end, again])
        breaks += more
        ends = [end, *breaks]
        for state in filter(None, ends):
            for name, value in wide.items():
                if name in state.variables:
                    was = before.variables.get(name)
                    state.variables[name] = closed(
                        was, first.variables[name], value, state.variables[name]
                    )
    _count(node, before, [*ends, *(r.state for r in at.returns[first_return:])], most, at)
    at.state = None if forever else meet([end, None if once else before])
    follow(node.orelse, at)
    at.state = meet([at.state, *breaks])


def _round(
    node: ast.For | ast.While, start: State, enter: Callable[[], object], at: Frame
) -> tuple[State | None, list[State]]:
    """(state at the end of one round, states at its breaks)."""
    loop = Loop()
    at.loops.append(loop)
    at.state = start
    enter()
    follow(node.body, at)
    at.loops.pop()
    return meet([at.state, *loop.continues]), loop.breaks


def _count(
    node: ast.stmt, before: State, leaving: Sequence[State | None], most: float, at: Frame
) -> None:
    """Every way out of the loop costs at most all rounds of its costliest one."""
    states = {id(state): state for state in leaving if state is not None}.values()
    per_round = max((state.cost - before.cost for state in states), default=0)
    if per_round <= 0:
        return
    if most == INF:
        at.check.report("W601", node, "" if isinstance(node, ast.While) else "it calls operators")
    for state in states:
        state.cost = before.cost + per_round * (1 if most == INF else most)


# ------------------------------------------------------------------------------- leaving a function
def _returned(node: ast.Return, at: Frame) -> None:
    match node.value:
        case ast.Tuple(elts=[_, cost]) if ast.unparse(cost).startswith("self.llm.cost_manager"):
            # MetaGPT's way to say what a run cost: the ledger knows, the program is not told.
            # Changed at once, so that the rest can be followed.
            node.value.elts[1] = ast.copy_location(ast.Constant(0.0), cost)
            at.check.report("W211", node, "", Repair("cost", lambda tree: None))
    value = Nothing() if node.value is None else evaluate(node.value, at)
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
            if isinstance(held, Listed):
                place(owner, listed(held.element, max(0, held.least - 1), held.most), at)
            elif isinstance(held, Mapped):
                place(owner, replace(held, mapping=None, least=max(0, held.least - 1)), at)


# ------------------------------------------------------------------------- definitions and imports
def define(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    home: Frame,
    defaults: Frame | None = None,
    bound: bool = False,
) -> Function:
    """The value of a ``def``.

    Args:
        home: the frame whose variables it sees.
        defaults: where its defaults are evaluated; None = in ``home``.
        bound: it is a method of the workflow.
    """

    def run(inner: Frame) -> Value:
        follow(node.body, inner)
        return _function_value(inner)

    return make_function(
        node, home, lambda default: evaluate(default, defaults or home), run, bound
    )


def _function_value(inner: Frame) -> Value:
    if inner.yields:
        return listed(joined(inner.yields))
    values = [excused(r.value) if r.in_handler else r.value for r in inner.returns]
    value = reduce(join, values) if values else Nothing()
    return join(value, Nothing()) if inner.state is not None and inner.returns else value


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
            at.assign(bound.partition(".")[0], RECOVERED)
        elif of:
            at.assign(bound, module_attribute(of, alias.name, node, at))
        else:
            root = alias.name if alias.asname else alias.name.partition(".")[0]
            at.assign(alias.asname or root, Module(root))


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
    at.assign(node.name, Unknown())
