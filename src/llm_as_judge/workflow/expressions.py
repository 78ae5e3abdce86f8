"""Follows expressions: literals, operators, items of things, results and their keys."""

from __future__ import annotations

import ast
import builtins
import functools

from llm_as_judge.workflow.frames import Frame
from llm_as_judge.workflow.names import Names
from llm_as_judge.workflow.repairs import innermost_call
from llm_as_judge.workflow.sequences import concatenated, folded, is_foreign, repeated, sliced
from llm_as_judge.workflow.values import (
    ANY,
    MAYBE,
    NO_CONSTANT,
    NONE,
    RECOVERED,
    Value,
    either,
    joined,
)

__all__ = ["SET", "Expressions"]

SET = frozenset({"set"})
"""Name of a list that is a set."""
_NO_AWAIT = frozenset({"list", "function", "module", "operator"})


class Expressions(Names):
    """The part of the check that gives each expression its :class:`Value`."""

    def value(self, node: ast.AST, frame: Frame) -> Value:
        self.step()
        follow = _FOLLOW.get(type(node))
        if follow is not None:
            value: Value = getattr(self, follow)(node, frame)
            return value
        labels: frozenset[str] = frozenset()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                labels |= self.plain(self.value(child, frame)).labels
        return Value(labels=labels)

    # ------------------------------------------------------------------------------- literals
    def constant(self, node: ast.Constant, frame: Frame) -> Value:
        value = node.value
        if isinstance(value, str):
            length = len(value)
            return Value("text", constant=value, shortest=length, longest=length)
        if value is None:
            return NONE
        return Value("number" if isinstance(value, int | float) else "any", constant=value)

    def formatted(self, node: ast.JoinedStr, frame: Frame) -> Value:
        labels: frozenset[str] = frozenset()
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                labels |= self.plain(self.value(part.value, frame), " in an f-string").labels
                if part.format_spec is not None:
                    labels |= self.value(part.format_spec, frame).labels
        return Value("text", labels=labels)

    def sequence(self, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
        items: list[Value] = []
        starred: list[Value] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                starred.append(self.value(element.value, frame))
            else:
                item = self.value(element, frame)
                items.append(self.key(item, node) if isinstance(node, ast.Set) else item)
        spread = [v.element for v in starred if v.element is not None]
        longest: int | None = len(items)
        for value in starred:
            longest = None if longest is None or value.longest is None else longest + value.longest
        return Value(
            "list",
            labels=_labels([*items, *starred]),
            items=None if starred else tuple(items),
            element=joined([*items, *spread]),
            shortest=len(items) + sum(v.shortest for v in starred),
            longest=longest,
            names=SET if isinstance(node, ast.Set) else frozenset(),
            foreign=any(is_foreign(item) for item in items) or any(v.foreign for v in starred),
            calls=_calls([*items, *starred]),
        )

    def dictionary(self, node: ast.Dict, frame: Frame) -> Value:
        mapping: dict[str, Value] | None = {}
        values: list[Value] = []
        labels: frozenset[str] = frozenset()
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item, frame)
            values.append(value)
            name = None if key is None else self.key(self.value(key, frame), node).constant
            if mapping is not None and isinstance(name, str):
                mapping[name] = value
            elif key is None and value.kind == "dict" and mapping is not None and value.mapping:
                mapping.update(value.mapping)
            else:
                mapping = None
            labels |= value.labels
        return Value(
            "dict",
            labels=labels,
            mapping=mapping,
            element=joined(values),
            shortest=0 if mapping is None else len(mapping),
            longest=len(values),
            calls=_calls(values),
        )

    def key(self, value: Value, node: ast.AST) -> Value:
        """``value`` used as a key or an index, or put into a set."""
        value = self.plain(value)
        if value.kind in ("result", "dict"):
            what = "whole result" if value.kind == "result" else "dict"
            self.report("W306", node, f"a {what} is used as a key or put into a set")
            return RECOVERED
        return value

    # -------------------------------------------------------------------------------- operators
    def awaited(self, node: ast.Await, frame: Frame) -> Value:
        value = self.value(node.value, frame)
        self.mark_awaited(value)
        if value.kind == "pending":
            return value.element or Value(labels=value.labels)
        misplaced = isinstance(node.value, ast.Subscript | ast.Attribute) and (
            id(innermost_call(node.value)) in self.created_calls
        )
        if value.kind not in ("any", "pending") and not misplaced:
            what = value.kind if value.kind in _NO_AWAIT else "value that is already there"
            self.report("W305", node, f"await of a {what}")
        if value.kind in _NO_AWAIT:
            return RECOVERED
        return Value(value.kind, labels=value.labels, element=value.element)

    def binary(self, node: ast.BinOp, frame: Frame) -> Value:
        left = self.plain(self.value(node.left, frame))
        right = self.plain(self.value(node.right, frame))
        labels = left.labels | right.labels
        for side in (left, right):
            if side.kind == "result":
                self.report("W208", node, "a whole result in an expression, read one of its keys")
        if "list" in (left.kind, right.kind) and isinstance(node.op, ast.Add):
            return concatenated(left, right)
        if isinstance(node.op, ast.Mult) and "list" in (left.kind, right.kind):
            return repeated(left, right)
        number = folded(node.op, left.constant, right.constant)
        if number is not NO_CONSTANT:
            return Value("number", labels=labels, constant=number)
        if "text" in (left.kind, right.kind):
            return Value("text", labels=labels)
        both = left.kind == right.kind == "number"
        # Only a number can be added to a number.
        one = "number" in (left.kind, right.kind) and isinstance(node.op, ast.Add | ast.Sub)
        return Value("number" if both or one else "any", labels=labels)

    def boolean(self, node: ast.BoolOp, frame: Frame) -> Value:
        values = [self.plain(self.value(item, frame)) for item in node.values]
        if isinstance(node.op, ast.And):
            # Any but the last is the outcome only where it is empty.
            return values[-1].labelled(_labels(values) - {MAYBE})
        return functools.reduce(either, values)

    def conditional(self, node: ast.IfExp, frame: Frame) -> Value:
        self.plain(self.value(node.test, frame), " in a condition")
        first = self.value(node.body, frame)
        return either(first, self.value(node.orelse, frame))

    def comparison(self, node: ast.Compare, frame: Frame) -> Value:
        values = [self.value(item, frame) for item in (node.left, *node.comparators)]
        return Value("number", labels=_labels([self.plain(v) for v in values]))

    def unary(self, node: ast.UnaryOp, frame: Frame) -> Value:
        value = self.plain(self.value(node.operand, frame))
        constant = value.constant
        if isinstance(node.op, ast.USub) and isinstance(constant, int | float):
            return Value("number", labels=value.labels, constant=-constant)
        return Value("number" if value.kind == "number" else "any", labels=value.labels)

    def subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        base = self.value(node.value, frame)
        if base.kind == "pending" and base.calls <= self.awaited_calls:
            # Awaited elsewhere: the call itself still has no items.
            self.report("W305", node, "the awaited call is read instead of what it gave")
        base = self.plain(base)
        key = self.key(self.value(node.slice, frame), node)
        if base.kind == "result":
            return self.read_key(base, key, node)
        if without := _without_items(base, key):
            self.report("W306", node, without)
            return RECOVERED
        if base.kind == "text" and isinstance(key.constant, str):
            self.report("W208", node, f"{key.constant!r}: this is a text, not a result")
            return base
        if base.kind == "dict" and base.mapping is not None and isinstance(key.constant, str):
            return self._read_own_key(base.mapping, key.constant, node)
        if base.kind == "list":
            if isinstance(node.slice, ast.Slice):
                return sliced(base, node.slice)
            index = key.constant
            if base.items is not None and isinstance(index, int):
                if -len(base.items) <= index < len(base.items):
                    return base.items[index]
                return ANY
        found = base.element if base.kind in ("list", "dict", "any") else None
        value = found or Value("text" if base.kind == "text" else "any", calls=base.calls)
        bounded = sliced(value, node.slice) if isinstance(node.slice, ast.Slice) else value
        return bounded.labelled(base.labels | key.labels)

    def _read_own_key(self, mapping: dict[str, Value], key: str, node: ast.Subscript) -> Value:
        """A key of a dict of the program's own, all of whose keys are known."""
        if key in mapping:
            return mapping[key]
        if isinstance(node.ctx, ast.Load):
            self.report("W208", node, f"{key!r}: the dict has {', '.join(mapping) or 'none'}")
        return RECOVERED

    def read_key(self, base: Value, key: Value, node: ast.AST) -> Value:
        """``result[key]``; an unknown key is a finding."""
        name = key.constant
        if name is NO_CONSTANT:
            if key.kind not in ("text", "any", "none"):
                self.report("W208", node, f"the key is a {key.kind}, not a text")
                return RECOVERED
            return Value("any", labels=base.labels)
        for operator in sorted(base.names):
            keys = list(self.options.operators[operator].empty)
            if name not in keys:
                wanted = " or ".join(repr(k) for k in keys)
                self.report("W208", node, f"{name!r}: {operator} returns {wanted}")
        empties = [self.options.operators[operator].empty.get(str(name)) for operator in base.names]
        is_bool = any(isinstance(empty, bool) for empty in empties)
        return Value("number" if is_bool else "text", labels=base.labels)

    def walrus(self, node: ast.NamedExpr, frame: Frame) -> Value:
        value = self.value(node.value, frame)
        if isinstance(node.target, ast.Name):
            self.assign(node.target.id, value, frame)
        return value

    def lambda_function(self, node: ast.Lambda, frame: Frame) -> Value:
        return Value("function", node=node, frame=frame)

    def starred(self, node: ast.Starred, frame: Frame) -> Value:
        return self.value(node.value, frame)

    def slice_bounds(self, node: ast.Slice, frame: Frame) -> Value:
        parts = [part for part in (node.lower, node.upper, node.step) if part is not None]
        return Value(labels=_labels([self.plain(self.value(part, frame)) for part in parts]))


def _without_items(base: Value, key: Value) -> str:
    """Why ``base[key]`` cannot work; empty if it can. A false number may stand for `not yet`."""
    if base.kind == "number" and (base.constant is NO_CONSTANT or base.constant):
        return "a number has no items"
    if base.kind in ("function", "method", "module", "operators", "llm"):
        return f"a {base.kind} has no items"
    if base.kind == "class" and any(hasattr(builtins, name) for name in base.names):
        (name,) = base.names
        generic = hasattr(getattr(builtins, name), "__class_getitem__")  # list[str] is a type
        return "" if generic else f"{name} has no items"
    if base.kind == "list" and base.longest is not None and isinstance(key.constant, str):
        return f"{key.constant!r}: items of a list have numbers"
    return ""


_FOLLOW: dict[type[ast.AST], str] = {
    ast.Name: "name",
    ast.Attribute: "attribute",
    ast.Constant: "constant",
    ast.JoinedStr: "formatted",
    ast.List: "sequence",
    ast.Tuple: "sequence",
    ast.Set: "sequence",
    ast.Dict: "dictionary",
    ast.Await: "awaited",
    ast.BinOp: "binary",
    ast.BoolOp: "boolean",
    ast.IfExp: "conditional",
    ast.Compare: "comparison",
    ast.UnaryOp: "unary",
    ast.Subscript: "subscript",
    ast.NamedExpr: "walrus",
    ast.Lambda: "lambda_function",
    ast.Starred: "starred",
    ast.Slice: "slice_bounds",
    ast.Call: "call",
    ast.ListComp: "comprehension",
    ast.SetComp: "comprehension",
    ast.GeneratorExp: "comprehension",
    ast.DictComp: "comprehension",
    ast.Yield: "yielded",
}
"""Kind of expression -> the method that follows it."""


def _labels(values: list[Value]) -> frozenset[str]:
    return frozenset().union(*(value.labels for value in values))


def _calls(values: list[Value]) -> frozenset[int]:
    return frozenset().union(*(value.calls for value in values))
