"""Values of a program's expressions, and what goes wrong in them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from llm_as_judge.workflow import lookup
from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import (
    as_item,
    calls_of,
    computed,
    concatenated,
    item_of,
    join,
    joined,
    labeled,
    length,
    listed,
    mapped,
    mixed,
    of_constant,
    origin_of,
    repeated,
    sliced,
    times,
    truth,
)
from llm_as_judge.workflow.assignments import peek, place, tainted
from llm_as_judge.workflow.calls import as_data, called, handed_on, multiply
from llm_as_judge.workflow.context import Frame, plain
from llm_as_judge.workflow.findings import KNOWN_ATTRIBUTES, RESULT_METHODS
from llm_as_judge.workflow.lookup import as_key, kind_of
from llm_as_judge.workflow.methods import make_function, method_effect
from llm_as_judge.workflow.repairs import innermost_call

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def evaluate(node: ast.expr, at: Frame) -> v.Value:
    """What ``node`` gives at this point; notes what goes wrong in it."""
    at.check.step()
    match node:
        case ast.Name():
            return lookup.name(node, at)
        case ast.Constant(value=constant):
            return of_constant(constant)
        case ast.Attribute(value=base):
            return lookup.attribute(evaluate(base, at), node, at)
        case ast.Subscript():
            return _subscript(node, at)
        case ast.Call():
            return _call(node, at)
        case ast.Await():
            return _awaited(node, at)
        case ast.JoinedStr(values=parts):
            return v.Text(computed(*(origin_of(evaluate(part, at)) for part in parts)))
        case ast.FormattedValue(value=value, format_spec=spec):
            if spec is not None:
                evaluate(spec, at)
            return plain(evaluate(value, at), at, " in an f-string")
        case ast.List() | ast.Tuple() | ast.Set():
            return _sequence(node, at)
        case ast.Dict():
            return _dictionary(node, at)
        case ast.BinOp(left=left, right=right):
            first = plain(evaluate(left, at), at)
            return _binary(node, first, plain(evaluate(right, at), at), at)
        case ast.BoolOp(op=operation, values=parts):
            values = [plain(evaluate(part, at), at) for part in parts]
            if isinstance(operation, ast.Or):
                return reduce(join, values)
            # Any but the last is the outcome only where it is empty.
            return labeled(values[-1], mixed(*map(origin_of, values)))
        case ast.Compare(left=left, comparators=others):
            values = [plain(evaluate(part, at), at) for part in (left, *others)]
            return v.Number(computed(*map(origin_of, values)))
        case ast.UnaryOp(operand=operand):
            return _unary(node, plain(evaluate(operand, at), at))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            plain(evaluate(test, at), at, " in a condition")
            return join(evaluate(body, at), evaluate(orelse, at))
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _comprehension(node, at)
        case ast.Lambda(body=body):
            return make_function(
                node, at, lambda default: evaluate(default, at), lambda inner: evaluate(body, inner)
            )
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            held = evaluate(value, at)
            at.assign(name, held)
            return held
        case ast.Starred(value=value):
            return evaluate(value, at)
        case ast.Slice(lower=lower, upper=upper, step=step):
            for part in (lower, step):
                if part is not None:
                    plain(evaluate(part, at), at)
            return v.Nothing() if upper is None else plain(evaluate(upper, at), at)
        case ast.Yield(value=value):
            at.yields.append(v.Nothing() if value is None else evaluate(value, at))
            return v.Unknown()
        case ast.YieldFrom(value=value):
            at.yields.append(item_of(evaluate(value, at)))
            return v.Unknown()
    at.check.report("W111", node, ast.unparse(node)[:40])
    return v.RECOVERED


def _awaited(node: ast.Await, at: Frame) -> v.Value:
    value, check = evaluate(node.value, at), at.check
    check.awaited |= calls_of(value)
    match value:
        case v.Pending(outcome=outcome):
            return outcome
        case v.Unknown():
            return value
    # `await f()["key"]`: the repair moves the await to the call.
    inside = isinstance(node.value, ast.Subscript | ast.Attribute)
    if inside and id(innermost_call(node.value)) in check.created:
        return value
    without = isinstance(value, v.Listed | v.Function | v.Module | v.Operator)
    what = kind_of(value) if without else "value that is already there"
    check.report("W305", node, f"await of a {what}")
    return v.RECOVERED if without else value


# --------------------------------------------------------------------------------------- literals
def _sequence(node: ast.List | ast.Tuple | ast.Set, at: Frame) -> v.Value:
    is_set = isinstance(node, ast.Set)
    made = listed(None, 0, 0, (), is_set)
    items: list[v.Value] = []
    for part in node.elts:
        value = evaluate(part, at)
        if isinstance(part, ast.Starred):
            made = concatenated(made, value)
        else:
            items.append(as_key(value, node, at) if is_set else value)
    count = len(items)
    own = listed(joined(map(as_item, items)), count, count, tuple(items), is_set)
    return own if made.most == 0 else concatenated(own, replace(made, items=None))


def _dictionary(node: ast.Dict, at: Frame) -> v.Value:
    known: dict[str, v.Value] | None = {}
    values: list[v.Value] = []
    keys = 0
    for key, item in zip(node.keys, node.values, strict=True):
        value = evaluate(item, at)
        name = None if key is None else as_key(evaluate(key, at), node, at)
        keys |= 0 if name is None else origin_of(name)
        if known is not None and isinstance(name, v.Text) and name.constant is not None:
            known[name.constant] = value
        elif known is not None and name is None and isinstance(value, v.Mapped) and value.mapping:
            known.update(value.mapping)
            value = value.element or value
        else:
            known = None
        values.append(value)
    return mapped(joined(values), known, keys, 0, len(values))


def _comprehension(node: Comprehension, at: Frame) -> v.Value:
    """The list it makes; its model calls are counted once for each item."""
    inner = Frame(at.check, node, at)
    least, most = 1.0, 1.0
    sources = []
    lazy = isinstance(node, ast.GeneratorExp)
    for generator in node.generators:
        source = iterable(evaluate(generator.iter, inner), generator.iter, inner)
        if generator.is_async:
            at.check.report("W111", generator.iter, "async for")
        bind(generator.target, item_of(source), inner)
        for condition in generator.ifs:
            plain(evaluate(condition, inner), inner, " in a condition")
        shortest, longest = length(source)
        if shortest == v.INF and not lazy:
            at.check.report("W601", node)
        least = 0 if generator.ifs else times(least, shortest)
        most = times(most, longest)
        sources.append(origin_of(source))
    element, keys = _element(node, inner)
    multiply(v.Calls(), most, node, inner)
    at.spend(inner.calls)
    if isinstance(element, v.Text | v.Number | v.Unknown):
        element = labeled(element, mixed(*sources))
    if isinstance(node, ast.DictComp):
        return mapped(element, None, keys, least, most)
    return listed(as_item(element), least, most, None, isinstance(node, ast.SetComp))


def _element(node: Comprehension, inner: Frame) -> tuple[v.Value, v.Origin]:
    """(an item, or a value of a dict; origin of its keys)."""
    if isinstance(node, ast.DictComp):
        key = as_key(evaluate(node.key, inner), node, inner)
        return evaluate(node.value, inner), origin_of(key)
    if isinstance(node, ast.GeneratorExp) and any(
        isinstance(part, ast.Await) for part in ast.walk(node.elt)
    ):
        inner.check.report("W305", node, "a generator with await; make a list: [await ...]")
    value = evaluate(node.elt, inner)
    return as_key(value, node, inner) if isinstance(node, ast.SetComp) else value, 0


def iterable(source: v.Value, node: ast.AST, at: Frame) -> v.Value:
    """``source`` as data that is iterated over."""
    source = plain(source, at)
    if isinstance(source, v.Method):
        at.check.report("W306", node, "a method has no items, call it first")
    return source


# -------------------------------------------------------------------------------------- operations
def _subscript(node: ast.Subscript, at: Frame) -> v.Value:
    base = evaluate(node.value, at)
    if isinstance(base, v.Pending) and base.calls and base.calls <= at.check.awaited:
        # Awaited elsewhere: the call itself still has no items.
        at.check.report("W305", node, "the awaited call is read instead of what it gave")
    base = plain(base, at)
    key = as_key(evaluate(node.slice, at), node, at)
    if not isinstance(node.slice, ast.Slice):
        return lookup.subscript(base, key, node, at)
    found = lookup.subscript(base, v.Unknown(), node, at)
    return found if isinstance(base, v.Result | v.Number) else sliced(base, key)


def _binary(node: ast.BinOp, left: v.Value, right: v.Value, at: Frame) -> v.Value:
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
            return _bounded(origin, left.least + right.least, left.most + right.most)
        case ast.Sub(), v.Number(), v.Number():
            return _bounded(origin, left.least - right.most, left.most - right.least)
        case ast.Mult(), v.Number(), v.Number() if (
            left.exact is not None and right.exact is not None
        ):
            return _bounded(origin, left.exact * right.exact, left.exact * right.exact)
        case (_, v.Text(), _) | (_, _, v.Text()):
            return v.Text(origin)
        case _, v.Number(), v.Number():
            return v.Number(origin)
        case (ast.Add() | ast.Sub(), v.Number(), _) | (ast.Add() | ast.Sub(), _, v.Number()):
            return v.Number(origin)  # only a number can be added to a number
    return v.Unknown(origin)


def _bounded(origin: int, least: float, most: float) -> v.Number:
    if abs(least) > 10**12 or abs(most) > 10**12:
        return v.Number(origin)
    return v.Number(origin if least or most else origin & ~v.OWN, least, most)


def _unary(node: ast.UnaryOp, value: v.Value) -> v.Value:
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


# ------------------------------------------------------------------------------------------- calls
def _call(node: ast.Call, at: Frame) -> v.Value:
    if isinstance(node.func, ast.Attribute):
        base = evaluate(node.func.value, at)
        if not isinstance(base, v.Given | v.Module | v.Builtin):
            return _method_call(base, node, node.func, at)
        target = lookup.attribute(base, node.func, at)
    else:
        target = evaluate(node.func, at)
    return called(target, _arguments(node, at), at)


def _arguments(node: ast.Call, at: Frame) -> v.Arguments:
    given = v.Arguments(node, [])
    for argument in node.args:
        value = evaluate(argument, at)
        starred = isinstance(argument, ast.Starred)
        if starred and isinstance(value, v.Listed) and value.items is not None:
            given.positional.extend(value.items)
        else:
            given.positional.append(value)
            given.unknown = given.unknown or starred
    for keyword in node.keywords:
        value = evaluate(keyword.value, at)
        if keyword.arg is not None:
            given.named[keyword.arg] = value
        elif isinstance(value, v.Mapped) and value.mapping is not None:
            given.named.update(value.mapping)
        else:
            given.named["**"] = value
            given.unknown = True
    return given


def _method_call(base: v.Value, node: ast.Call, function: ast.Attribute, at: Frame) -> v.Value:
    given, name = _arguments(node, at), function.attr
    if isinstance(base, v.Pending) and name in ("result", "done", "cancel", "exception"):
        return base.outcome if name == "result" else v.Number(v.OWN)
    base = plain(base, at)
    known = RESULT_METHODS if isinstance(base, v.Result) else KNOWN_ATTRIBUTES.get(kind_of(base))
    if name.startswith("__") or (known is not None and name not in known):
        found = lookup.attribute(base, function, at)
        place(function.value, tainted(base, v.RECOVERED), at)
        return found if isinstance(base, v.Result) else v.RECOVERED
    given = handed_on(given, at, base if isinstance(base, v.Listed) else None)
    if name not in ("append", "add", "insert", "create_task"):
        given = as_data(given, at)
    value, after = method_effect(base, name, given, at)
    if after is not None:
        place(function.value, after, at)
    return value


# ------------------------------------------------------------------------------------- assignment
def bind(target: ast.expr, value: v.Value, at: Frame) -> None:
    """Assigns ``value`` to a name, attribute, item, or several of them."""
    match target:
        case ast.Name(id=name):
            at.assign(name, value)
        case ast.Starred(value=inner):
            bind(inner, listed(value), at)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            _unpack(target, targets, plain(value, at), at)
        case ast.Attribute(value=owner, attr=name):
            base = evaluate(owner, at)
            if base == v.Given("self"):
                at.check.attributes[name] = value
            elif (held := peek(owner, at)) is not None:
                place(owner, tainted(held, value), at)
        case ast.Subscript(value=owner, slice=key):
            plain(evaluate(owner, at), at)
            origin = origin_of(as_key(evaluate(key, at), target, at))
            held = peek(owner, at)
            if isinstance(held, v.Text | v.Number):
                kind = kind_of(held)
                at.check.report("W304", target, f"items of a {kind} cannot be assigned")
            place(target, value, at, origin)


def _unpack(node: ast.expr, targets: Sequence[ast.expr], value: v.Value, at: Frame) -> None:
    if isinstance(value, v.Result):
        at.check.report("W208", node, "a whole result is unpacked, read its keys")
    items = value.items if isinstance(value, v.Listed) else None
    starred = any(isinstance(target, ast.Starred) for target in targets)
    if items is None or starred or len(items) != len(targets):
        items = (item_of(value),) * len(targets)
    for target, item in zip(targets, items, strict=True):
        bind(target, item, at)
