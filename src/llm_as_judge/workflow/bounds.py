"""Rounds of a loop, and what many of them make of what one round changes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import length, listed, mapped, times

Counted = tuple[ast.expr, ast.cmpop, ast.expr]
"""(variable or ``len(list)``, comparison, limit) of a loop that counts."""


# ------------------------------------------------------------------------------ loops that count
def counted_by(node: ast.While | ast.For) -> Counted | None:
    """What a loop counts: ``while i < 3: ... i += 1``, ``while len(xs) < 3: ... xs.append(...)``,
    any loop with ``if i >= 3: break``; None for any other."""
    found = _counted(node.test, ast.And) if isinstance(node, ast.While) else None
    return found or _counted_exit(node)


def _counted(test: ast.expr, joined_by: type[ast.boolop]) -> Counted | None:
    match test:
        case ast.BoolOp(op=operation, values=parts) if isinstance(operation, joined_by):
            return next((found for part in parts if (found := _counted(part, joined_by))), None)
        case ast.Compare(
            left=ast.Name() | ast.Call(func=ast.Name(id="len"), args=[_]) as left,
            ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as operation],
            comparators=[limit],
        ):
            return left, operation, limit
    return None


def _counted_exit(node: ast.While | ast.For) -> Counted | None:
    """It goes on while the opposite of the test holds. One round more than a test at the top gives
    is allowed for by the inclusive comparison."""
    for statement in node.body:
        match statement:
            case ast.If(test=test, body=[*_, ast.Break() | ast.Return() | ast.Raise()]):
                if (found := _counted(test, ast.Or)) is not None:
                    rises = isinstance(found[1], ast.Gt | ast.GtE)
                    return found[0], ast.LtE() if rises else ast.GtE(), found[2]
        if _goes_on_early(statement):
            return None
    return None


def _goes_on_early(statement: ast.stmt) -> bool:
    return any(isinstance(part, ast.Continue) for part in ast.walk(statement))


def counts_rounds(node: ast.While | ast.For, variable: ast.expr) -> bool:
    """Whether it is the ``i`` of ``for i in range(n)`` or ``for i, x in enumerate(xs)``."""
    match node, variable:
        case (
            ast.For(target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[_]))
            | ast.For(
                target=ast.Tuple(elts=[ast.Name(id=index), _]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[_]),
            ),
            ast.Name(id=name),
        ):
            return index == name
    return False


def rounds_of(
    node: ast.While | ast.For, counted: Counted, start: v.Value | None, limit: v.Value
) -> float:
    """Rounds of a loop that counts from ``start`` to ``limit``; infinite if it does not get there."""
    variable, operation, _ = counted
    if counts_rounds(node, variable):
        step, start = 1, v.Number(0, 0, 0)
    else:
        step = 0 if _set_elsewhere(node, variable) else _step(node.body, variable)
    if isinstance(start, v.Listed):
        start = v.Number(0, *length(start))
    if not (step and isinstance(start, v.Number) and isinstance(limit, v.Number)):
        return v.INF
    if (step > 0) != isinstance(operation, ast.Lt | ast.LtE):
        return v.INF
    distance = limit.most - start.least if step > 0 else start.most - limit.least
    if distance == v.INF:
        return v.INF
    distance += isinstance(operation, ast.LtE | ast.GtE)
    return max(0, -(-distance // abs(step)))


def _set_elsewhere(node: ast.While | ast.For, variable: ast.expr) -> bool:
    """Whether the loop changes the counter in more ways than one."""
    counter = variable.args[0] if isinstance(variable, ast.Call) else variable
    places = ast.dump(counter), ast.dump(counter).replace("Load()", "Store()")
    changes = 0
    for part in ast.walk(node):
        match part:
            case ast.Name(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                changes += ast.dump(part) in places
            case ast.Call(func=ast.Attribute(value=owner, attr="pop" | "clear" | "remove")):
                changes += 2 * (ast.dump(owner) in places)
    return changes > isinstance(variable, ast.Name)


def is_exact(value: v.Value | None) -> bool:
    """Whether it is one number, or a list of one length."""
    return isinstance(value, v.Number | v.Listed) and value.least == value.most


def _step(body: Sequence[ast.stmt], variable: ast.expr) -> int:
    """By how much each round changes the variable; 0 if some round may leave it as it is."""
    for statement in body:
        if _goes_on_early(statement):
            return 0
        match statement, variable:
            case (
                ast.AugAssign(
                    target=ast.Name(id=name), op=operation, value=ast.Constant(value=int(amount))
                )
                | ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.BinOp(
                        left=ast.Name(), op=operation, right=ast.Constant(value=int(amount))
                    ),
                ),
                ast.Name(id=wanted),
            ) if name == wanted and _counts_on(statement, name):
                step = {ast.Add: amount, ast.Sub: -amount}.get(type(operation), 0)
                if step:
                    return step
            case (
                ast.Expr(value=ast.Call(func=ast.Attribute(value=filled, attr="append"))),
                ast.Call(args=[container]),
            ) if ast.dump(filled) == ast.dump(container):
                return 1
    return 0


def _counts_on(statement: ast.stmt, name: str) -> bool:
    """``i = i + 1``, not ``i = j + 1``."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return not isinstance(value, ast.BinOp) or ast.dump(value.left) == ast.dump(
        ast.Name(name, ast.Load())
    )


def grows_what_it_iterates(node: ast.For) -> bool:
    if not isinstance(node.iter, ast.Name | ast.Attribute):
        return False
    iterated = ast.dump(node.iter)
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("append", "extend", "insert")
        and ast.dump(part.func.value) == iterated
        for part in ast.walk(node)
    )


# ------------------------------------------------------------------------------------ many rounds
def widened(before: v.Value | None, after: v.Value, rounds: float) -> v.Value:
    """What a variable may be at the start of any round, if one round makes ``after`` of ``before``."""
    match before, after:
        case v.Listed(), v.Listed():
            element = _beyond(before.element, after.element)
            most = _grown(before.most, after.most, rounds)
            least = after.least if after.least >= before.least else 0
            return listed(element, least, most, None, after.is_set)
        case v.Mapped(), v.Mapped():
            most = _grown(before.most, after.most, rounds)
            element = _beyond(before.element, after.element)
            if after.mapping is None or before.mapping is None:
                return mapped(element, None, after.keys, 0, most)
            old = before.mapping
            known = {k: _beyond(old.get(k), new) or new for k, new in after.mapping.items()}
            return mapped(element, known, after.keys)
        case v.Number(), v.Number():
            least = after.least if after.least >= before.least else -v.INF
            most = after.most if after.most <= before.most else v.INF
            return v.Number(after.origin, min(least, before.least), max(most, before.most))
    return after


def _grown(before: float, after: float, rounds: float) -> float:
    return before + times(after - before, rounds) if after > before else after


def _beyond(before: v.Value | None, after: v.Value | None) -> v.Value | None:
    """An item of a list or dict: its own growth has no bound."""
    known = before is not None and after is not None and before is not after
    return widened(before, after, v.INF) if known and after is not None else after


def closed(before: v.Value | None, first: v.Value, wide: v.Value, last: v.Value) -> v.Value:
    """``last``, which another round made of ``wide``, with bounds that hold after all rounds.

    Args:
        first: what the first round made of ``before``; if a later one adds more, there is no bound.
    """
    match wide, last:
        case v.Listed(most=most), v.Listed():
            most = most if last.most <= most + _step_of(before, first) else v.INF
            items = None if most > last.least else last.items
            return listed(last.element, last.least, most, items, last.is_set)
        case v.Mapped(most=most), v.Mapped(mapping=None):
            most = most if last.most <= most + _step_of(before, first) else v.INF
            return mapped(last.element, None, last.keys, last.least, most)
        case v.Number(), v.Number():
            return widened(wide, last, v.INF)
    return last


def _step_of(before: v.Value | None, first: v.Value) -> float:
    return length(first)[1] - length(before)[1] if before is not None else 0
