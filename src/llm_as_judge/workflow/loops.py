"""Loops: how often they run, what holds after them, and what their calls cost."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import TypeAlias

from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import item_of, length, many, truth
from llm_as_judge.workflow.assignments import peek
from llm_as_judge.workflow.bounds import (
    closed,
    counted_by,
    grows_what_it_iterates,
    is_exact,
    rounds_of,
    widened,
)
from llm_as_judge.workflow.context import Frame, Loop, State, meet, plain
from llm_as_judge.workflow.expressions import bind, evaluate, iterable

Follow: TypeAlias = Callable[[Sequence[ast.stmt], Frame], None]
"""Follows statements: the interpreter itself."""
Variables: TypeAlias = dict[str, v.Value]


def for_loop(node: ast.For, at: Frame, follow: Follow) -> None:
    source = iterable(evaluate(node.iter, at), node, at)
    least, most = length(source)
    if least == v.INF or grows_what_it_iterates(node):
        at.check.report("W601", node)
    most = min(most, _counted_rounds(node, at)[0])
    _loop(node, least > 0, most, lambda: bind(node.target, item_of(source), at), at, follow)


def while_loop(node: ast.While, at: Frame, follow: Follow) -> None:
    holds = truth(plain(evaluate(node.test, at), at, " in a condition"))
    if holds is False:
        follow(node.orelse, at)
        return
    most, begins = _counted_rounds(node, at)
    if most == v.INF:
        at.check.report("W601", node)
    forever = isinstance(node.test, ast.Constant)

    def enter() -> None:
        plain(evaluate(node.test, at), at)

    _loop(node, bool(holds) or begins, most, enter, at, follow, forever)


def _counted_rounds(node: ast.For | ast.While, at: Frame) -> tuple[float, bool]:
    """(rounds at most, whether a ``while`` that counts runs at least once)."""
    if (counted := counted_by(node)) is None:
        return v.INF, False
    variable, _, limit = counted
    counter = variable.args[0] if isinstance(variable, ast.Call) else variable
    start, end = peek(counter, at), evaluate(limit, at)
    rounds = rounds_of(node, counted, start, end)
    plainly = isinstance(node, ast.While) and isinstance(node.test, ast.Compare)
    return rounds, plainly and is_exact(start) and is_exact(end) and rounds > 0


def left_loop(node: ast.Break | ast.Continue, at: Frame) -> None:
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
    follow: Follow,
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
    outer = _outer_variables(at)
    kept = [dict(variables) for variables in outer]
    end, breaks = _round(node, before.copy(), enter, at, follow)
    first, ends = meet([end, *breaks]), [end, *breaks]
    if end is not None and first is not None and most != 1:
        start = end.copy()
        start.cost = before.cost
        wide = _widened(before.variables, first.variables, most)
        start.variables |= {k: value for k, value in wide.items() if k in start.variables}
        first_outer = [dict(variables) for variables in outer]
        wide_outer = [_widened(*pair, most) for pair in zip(kept, outer, strict=True)]
        for variables, changed in zip(outer, wide_outer, strict=True):
            variables |= changed
        again, more = _round(node, start, enter, at, follow)
        end, breaks = meet([end, again]), [*breaks, *more]
        ends = [end, *breaks]
        for state in filter(None, ends):
            _close(before.variables, first.variables, wide, state.variables)
        for parts in zip(kept, first_outer, wide_outer, outer, strict=True):
            _close(*parts)
    _count(node, before, [*ends, *(r.state for r in at.returns[first_return:])], most, at)
    at.state = None if forever else meet([end, None if once else before])
    follow(node.orelse, at)
    at.state = meet([at.state, *breaks])


def _outer_variables(at: Frame) -> list[Variables]:
    """Variables that the loop may change and that are not its own function's."""
    outer, frame = [at.check.attributes], at.parent
    while frame is not None:
        outer += [frame.state.variables] if frame.state is not None else []
        frame = frame.parent
    return outer


def _widened(before: Variables, after: Variables, most: float) -> Variables:
    """Variables that one round changed, as they may be at the start of any round."""
    return {
        name: widened(before.get(name), value, most)
        for name, value in after.items()
        if value is not before.get(name)
    }


def _close(before: Variables, first: Variables, wide: Variables, last: Variables) -> None:
    for name in wide.keys() & last.keys():
        last[name] = closed(before.get(name), first[name], wide[name], last[name])


def _round(
    node: ast.For | ast.While,
    start: State,
    enter: Callable[[], object],
    at: Frame,
    follow: Follow,
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
    per_round = reduce(or_, (state.cost - before.cost for state in states), v.Calls())
    if per_round.most <= 0:
        return
    if most == v.INF:
        at.check.report("W601", node, "" if isinstance(node, ast.While) else "it calls operators")
    for state in states:
        state.cost = before.cost + many(per_round, 1 if most == v.INF else most)
