"""Follows expressions: names, literals, operators, comprehensions, results and their keys."""

from __future__ import annotations

import ast

from llm_as_judge.workflow.analysis import Analysis, innermost_call, nearest
from llm_as_judge.workflow.findings import Repair
from llm_as_judge.workflow.frames import Frame
from llm_as_judge.workflow.values import (
    ANSWER,
    ANY,
    NO_CONSTANT,
    NONE,
    RECOVERED,
    Value,
    join,
    joined,
)
from llm_as_judge.workflow.vocabulary import (
    ALLOWED_MODULES,
    BUILTINS,
    FORBIDDEN_NAMES,
    KNOWN_ATTRIBUTES,
    has_attribute,
)

__all__ = ["Expressions"]

SET = frozenset({"set"})
"""Name of a list that is a set."""
RESULT_METHODS = frozenset(
    {"get", "keys", "values", "items", "copy", "pop", "setdefault", "update"}
)
_NO_AWAIT = frozenset({"list", "function", "module", "operator"})
_HARMLESS_DUNDERS = frozenset({"__name__", "__init__", "__doc__"})


class Expressions(Analysis):
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

    # ---------------------------------------------------------------------------------- names
    def name(self, node: ast.Name, frame: Frame) -> Value:
        name = node.id
        owner = frame.owner(name)
        if owner is not None:
            return self._variable_value(node, owner)
        if name in FORBIDDEN_NAMES or (name.startswith("__") and name not in BUILTINS):
            self.report("W110", node, name)
            return RECOVERED
        if name in BUILTINS:
            return Value("class", names=frozenset({name}))
        repair = import_module(name) if name in ALLOWED_MODULES else None
        self.report("W302", node, name + nearest(name, self._visible(frame)), repair)
        return Value("module", names=frozenset({name})) if repair else RECOVERED

    def _variable_value(self, node: ast.Name, owner: Frame) -> Value:
        name, state = node.id, owner.state
        if state is None:
            return ANY
        value = state.variables.get(name)
        if value is not None and name not in state.unsure:
            return value
        known = self.assigned.get((id(owner.function), name), value)
        detail = f"{name} is not assigned on every path to this line"
        if value is None and owner is self.module:
            self.report("W302", node, f"{name} is used before it is defined")
        else:
            self.report("W303", node, detail, give_first_value(owner.function, name, self))
        state.unsure.discard(name)
        state.variables.setdefault(name, known or RECOVERED)
        return state.variables[name]

    def _visible(self, frame: Frame) -> list[str]:
        names: list[str] = []
        at: Frame | None = frame
        while at is not None:
            names += at.locals
            at = at.parent
        return names

    def attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        return self.attribute_of(self.value(node.value, frame), node)

    def attribute_of(self, base: Value, node: ast.Attribute) -> Value:
        """``base.attr``, ``base`` being the value of ``node.value``."""
        if node.attr.startswith("__") and node.attr not in _HARMLESS_DUNDERS:
            self.report("W110", node, node.attr)
            return RECOVERED
        if base.kind == "self":
            return self._self_attribute(node)
        if base.kind == "operators":
            return self._operator_class(node)
        if base.kind == "llm":
            self.report("W210", node, f"`.{node.attr}` of the model")
            return RECOVERED
        if base.kind == "module":
            return self.module_attribute(next(iter(base.names)), node.attr, node)
        base = self.plain(base)
        if base.kind == "result" and node.attr not in RESULT_METHODS:
            keys = self._keys(base)
            self.report(
                "W208", node, f"`.{node.attr}`: a result is a dict with the keys {', '.join(keys)}"
            )
            return Value("text", labels=base.labels)
        if (known := KNOWN_ATTRIBUTES.get(base.kind)) is not None and node.attr not in known:
            detail = f"`.{node.attr}`: a {base.kind} has none" + nearest(node.attr, known)
            self.report("W304", node, detail)
        return Value("any", labels=base.labels, element=base.element)

    def module_attribute(self, module: str, name: str, node: ast.AST) -> Value:
        """``module.name``; what an allowed module does not have is a finding."""
        if not has_attribute(module, name):
            self.report("W304", node, f"{module}.{name}")
            return RECOVERED
        return Value("class", names=frozenset({f"{module}.{name}"}))

    def _self_attribute(self, node: ast.Attribute) -> Value:
        state = self.attributes.state
        if state is not None and node.attr in state.variables:
            return state.variables[node.attr]
        if node.attr in self.methods:
            method = self.methods[node.attr]
            return Value("function", node=method, frame=self.module, names=frozenset({"self"}))
        by_call_name = {e.call_name: e.name for e in self.options.operators.values()}
        if (operator := by_call_name.get(node.attr)) is not None:
            line = f"self.{node.attr} = operator.{operator}(self.llm)"
            self.report("W202", node, f"self.{node.attr}", add_to_init(line))
            return Value("operator", names=frozenset({operator}), node=node)
        if node.attr == "llm":
            line = "self.llm = create_llm_instance(llm_config)"
            self.report("W304", node, "self.llm", add_to_init(line, first=True))
            return Value("llm")
        known = [*(state.variables if state else ()), *self.methods, *by_call_name]
        self.report("W304", node, f"self.{node.attr}" + nearest(node.attr, known))
        return RECOVERED

    def _operator_class(self, node: ast.Attribute) -> Value:
        if node.attr not in self.options.operators:
            detail = f"operator.{node.attr}" + nearest(node.attr, self.options.operators)
            self.report("W201", node, detail)
            return RECOVERED
        return Value("class", names=frozenset({f"operator.{node.attr}"}))

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
                items.append(self.value(element, frame))
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
            name = None if key is None else self.plain(self.value(key, frame)).constant
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
            longest=len(values),
            calls=_calls(values),
        )

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
        return Value(value.kind, labels=value.labels, element=value.element)

    def binary(self, node: ast.BinOp, frame: Frame) -> Value:
        left = self.plain(self.value(node.left, frame))
        right = self.plain(self.value(node.right, frame))
        labels = left.labels | right.labels
        for side in (left, right):
            if side.kind == "result":
                self.report("W208", node, "a whole result in an expression, read one of its keys")
        if "list" in (left.kind, right.kind) and isinstance(node.op, ast.Add):
            return _concatenated(left, right)
        if isinstance(node.op, ast.Mult) and "list" in (left.kind, right.kind):
            return _repeated(left, right)
        number = _folded(node.op, left.constant, right.constant)
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
        return joined(values) or ANY

    def conditional(self, node: ast.IfExp, frame: Frame) -> Value:
        self.plain(self.value(node.test, frame), " in a condition")
        first = self.value(node.body, frame)
        return join(first, self.value(node.orelse, frame))

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
        key = self.plain(self.value(node.slice, frame))
        if base.kind == "result":
            return self.read_key(base, key, node)
        if base.kind == "text" and isinstance(key.constant, str):
            self.report("W208", node, f"{key.constant!r}: this is a text, not a result")
            return base
        if base.kind == "dict" and base.mapping is not None and isinstance(key.constant, str):
            return self._read_own_key(base.mapping, key.constant, node)
        if base.kind == "list":
            if isinstance(node.slice, ast.Slice):
                return _sliced(base, node.slice)
            index = key.constant
            if base.items is not None and isinstance(index, int):
                if -len(base.items) <= index < len(base.items):
                    return base.items[index]
                return ANY
        found = base.element if base.kind in ("list", "dict", "any") else None
        value = found or Value("text" if base.kind == "text" else "any", calls=base.calls)
        bounded = _sliced(value, node.slice) if isinstance(node.slice, ast.Slice) else value
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
            return Value("any", labels=base.labels)
        for operator in sorted(base.names):
            keys = list(self.options.operators[operator].empty)
            if name not in keys:
                wanted = " or ".join(repr(k) for k in keys)
                self.report("W208", node, f"{name!r}: {operator} returns {wanted}")
        empties = [self.options.operators[operator].empty.get(str(name)) for operator in base.names]
        is_bool = any(isinstance(empty, bool) for empty in empties)
        return Value("number" if is_bool else "text", labels=base.labels)

    def _keys(self, base: Value) -> list[str]:
        return sorted({k for name in base.names for k in self.options.operators[name].empty})

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


def is_foreign(item: Value) -> bool:
    """No operator produced it: a constant, or the problem itself."""
    return ANSWER not in item.labels and item.kind not in ("list", "pending", "operator")


def _labels(values: list[Value]) -> frozenset[str]:
    return frozenset().union(*(value.labels for value in values))


def _calls(values: list[Value]) -> frozenset[int]:
    return frozenset().union(*(value.calls for value in values))


def _concatenated(left: Value, right: Value) -> Value:
    known = left.longest is not None and right.longest is not None
    items = None
    if left.items is not None and right.items is not None:
        items = left.items + right.items
    return Value(
        "list",
        labels=left.labels | right.labels,
        items=items,
        element=joined(v for v in (left.element, right.element) if v is not None),
        shortest=left.shortest + right.shortest,
        longest=(left.longest or 0) + (right.longest or 0) if known else None,
        foreign=left.foreign or right.foreign,
        calls=left.calls | right.calls,
    )


def _repeated(left: Value, right: Value) -> Value:
    sequence, times = (left, right) if left.kind == "list" else (right, left)
    count = times.constant if isinstance(times.constant, int) else None
    known = sequence.longest is not None and count is not None
    return Value(
        "list",
        labels=left.labels | right.labels,
        element=sequence.element,
        shortest=sequence.shortest * max(0, count or 0),
        longest=(sequence.longest or 0) * max(0, count or 0) if known else None,
        foreign=sequence.foreign,
        calls=sequence.calls,
    )


def _sliced(base: Value, part: ast.Slice) -> Value:
    upper = part.upper.value if isinstance(part.upper, ast.Constant) else None
    longest = base.longest
    if isinstance(upper, int) and upper >= 0:
        longest = upper if longest is None else min(longest, upper)
    return Value(
        base.kind,
        labels=base.labels,
        element=base.element,
        longest=longest,
        foreign=base.foreign,
        calls=base.calls,
    )


def _folded(operation: ast.operator, left: object, right: object) -> object:
    """Sums, differences and products of small whole numbers: bounds of loops."""
    if type(left) is not int or type(right) is not int or max(abs(left), abs(right)) > 10**6:
        return NO_CONSTANT
    if isinstance(operation, ast.Add):
        return left + right
    if isinstance(operation, ast.Sub):
        return left - right
    return left * right if isinstance(operation, ast.Mult) else NO_CONSTANT


# ------------------------------------------------------------------------------------- repairs
def import_module(name: str) -> Repair:
    def apply(tree: ast.Module) -> None:
        tree.body.insert(0, ast.Import(names=[ast.alias(name=name)]))

    return Repair("import", apply)


def add_to_init(line: str, first: bool = False) -> Repair:
    """Adds a statement to ``__init__`` of ``Workflow``, which is made if it is missing."""

    def apply(tree: ast.Module) -> None:
        statement = ast.parse(line).body[0]
        body = init_of(tree).body
        if first:
            body.insert(0, statement)
        elif len(body) == 1 and isinstance(body[0], ast.Pass):
            body[:] = [statement]
        else:
            body.append(statement)

    return Repair("init_line", apply)


def init_of(tree: ast.Module) -> ast.FunctionDef:
    (workflow,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Workflow"]
    for item in workflow.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            return item
    made = ast.parse("def __init__(self, name, llm_config, dataset):\n    pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    workflow.body.insert(0, made)
    return made


def give_first_value(function: ast.AST, name: str, analysis: Analysis) -> Repair | None:
    """``name = <empty>`` as the first statement of ``function``, of the type that is assigned
    later; without effect where no plain empty value fits that type."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return None

    def apply(tree: ast.Module) -> None:
        source = _empty_source(analysis.assigned.get((id(function), name), ANY), analysis)
        body = function.body
        after_docstring = int(
            isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        )
        if source:
            body.insert(after_docstring, ast.parse(f"{name} = {source}").body[0])

    return Repair("variable_scope", apply)


def _empty_source(value: Value, analysis: Analysis) -> str:
    if value.kind == "result":
        empties: dict[str, object] = {}
        for operator in sorted(value.names):
            empties.update(analysis.options.operators[operator].empty)
        return repr(empties)
    if value.mapping:
        parts = {key: _empty_source(item, analysis) for key, item in value.mapping.items()}
        items = ", ".join(f"{key!r}: {source}" for key, source in parts.items())
        return f"{{{items}}}" if all(parts.values()) else ""
    if value.kind == "list" and "set" in value.names:
        return "set()"
    by_kind = {"list": "[]", "dict": "{}", "number": "0", "none": "None"}
    unknown = ("operator", "function", "module", "pending", "class", "llm", "self")
    if value.kind in unknown or "object" in value.names:
        return ""
    return by_kind.get(value.kind, '""')
