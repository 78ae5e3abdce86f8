"""Results of sums, products and other operations on values."""

from __future__ import annotations

import ast

from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import (
    computed,
    concatenated,
    item_of,
    listed,
    origin_of,
    repeated,
    truth,
)
from llm_as_judge.workflow.context import Frame


def binary(node: ast.BinOp, left: v.Value, right: v.Value, at: Frame) -> v.Value:
    """What ``left op right`` gives."""
    if isinstance(left, v.Result) or isinstance(right, v.Result):
        at.check.report("W208", node, "a whole result in an expression, read one of its keys")
    origin = computed(origin_of(left), origin_of(right))
    match node.op, left, right:
        case ast.Add(), v.Listed(), _:
            return concatenated(left, right)
        case ast.Add(), _, v.Listed() if not isinstance(left, v.Text | v.Number):
            return concatenated(listed(None, 0, 0, ()), concatenated(listed(item_of(left)), right))
        case ast.Mult(), v.Listed() as items, count:
            return repeated(items, count)
        case ast.Mult(), count, v.Listed() as items:
            return repeated(items, count)
        case ast.Add(), v.Number(), v.Number():
            return _number(origin, left.least + right.least, left.most + right.most)
        case ast.Sub(), v.Number(), v.Number():
            return _number(origin, left.least - right.most, left.most - right.least)
        case ast.Mult(), v.Number(), v.Number() if (
            left.exact is not None and right.exact is not None
        ):
            return _number(origin, left.exact * right.exact, left.exact * right.exact)
        case (_, v.Text(), _) | (_, _, v.Text()):
            return v.Text(origin)
        case _, v.Number(), v.Number():
            return v.Number(origin)
        case (ast.Add() | ast.Sub(), v.Number(), _) | (ast.Add() | ast.Sub(), _, v.Number()):
            return v.Number(origin)  # only a number can be added to a number
    return v.Unknown(origin)


def _number(origin: int, least: float, most: float) -> v.Number:
    if abs(least) > 10**12 or abs(most) > 10**12:
        return v.Number(origin)
    return v.Number(origin if least or most else origin & ~v.OWN, least, most)


def unary(node: ast.UnaryOp, value: v.Value) -> v.Value:
    """What ``op value`` gives."""
    match node.op, value:
        case ast.USub(), v.Number(origin=origin, least=least, most=most):
            return v.Number(origin, -most, -least)
        case ast.Not(), _:
            holds = truth(value)
            bounds = (0, 1) if holds is None else (not holds, not holds)
            return v.Number(computed(origin_of(value)), *bounds)
        case _, v.Number(origin=origin):
            return v.Number(origin)
    return v.Unknown(computed(origin_of(value)))
