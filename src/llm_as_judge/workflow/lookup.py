"""Lookup of a name, an attribute or a key; what there is none of is a finding."""

from __future__ import annotations

import ast
import builtins

from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import (
    computed,
    item_of,
    labeled,
    listed,
    of_constant,
    origin_of,
)
from llm_as_judge.workflow.context import Frame, nearest, plain
from llm_as_judge.workflow.findings import (
    ALLOWED_MODULES,
    BUILTINS,
    FORBIDDEN_NAMES,
    KNOWN_ATTRIBUTES,
    METHODS,
    RESULT_METHODS,
    has_attribute,
)
from llm_as_judge.workflow.repairs import add_to_init, give_first_value, import_module

_HARMLESS_DUNDERS = frozenset({"__name__", "__init__", "__doc__"})
_KINDS: dict[type, str] = {
    v.Text: "text", v.Number: "number", v.Listed: "list", v.Mapped: "dict", v.Result: "result",
    v.Method: "method", v.Function: "function", v.Operator: "operator", v.Module: "module",
    v.Builtin: "class", v.Nothing: "None",
}  # fmt: skip


def kind_of(value: v.Value) -> str:
    """What messages and the vocabulary call it."""
    return value.name if isinstance(value, v.Given) else _KINDS.get(type(value), "value")


# ----------------------------------------------------------------------------------------- names
def name(node: ast.Name, at: Frame) -> v.Value:
    name, check = node.id, at.check
    if (owner := at.owner(name)) is not None:
        return _variable(node, owner)
    if name in FORBIDDEN_NAMES or (name.startswith("__") and name not in BUILTINS):
        check.report("W110", node, name)
        return v.RECOVERED
    if name in BUILTINS:
        return v.Builtin(name)
    repair = import_module(name) if name in ALLOWED_MODULES else None
    check.report("W302", node, name + _meant(name, at), repair)
    return v.Module(name) if repair else v.RECOVERED


def _variable(node: ast.Name, owner: Frame) -> v.Value:
    name, state, check = node.id, owner.state, owner.check
    if state is None:
        return v.Unknown()
    value = state.variables.get(name)
    if value is not None and name not in state.unsure:
        return value
    key = id(owner.function), name
    if value is None and owner.parent is None:
        check.report("W302", node, f"{name} is used before it is defined")
    else:
        detail = f"{name} is not assigned on every path to this line"
        operators = check.options.operators
        repair = give_first_value(owner.function, name, lambda: check.assigned.get(key), operators)
        check.report("W303", node, detail, repair)
    state.unsure.discard(name)
    return state.variables.setdefault(name, check.assigned.get(key, v.RECOVERED))


def _meant(name: str, at: Frame) -> str:
    """``, did you mean X?``: a variable, or an operator as a program of this form calls it."""
    of_self = "self." if at.check.options.wants_tuple else ""  # class form
    operators = at.check.options.operators.values()
    written = {entry.call_name: of_self + entry.call_name for entry in operators}
    written |= {variable: variable for variable in _visible(at)}
    return nearest(name, written, written)


def _visible(at: Frame | None) -> list[str]:
    return [] if at is None else [*at.locals, *_visible(at.parent)]


# ------------------------------------------------------------------------------------ attributes
def attribute(base: v.Value, node: ast.Attribute, at: Frame) -> v.Value:
    """``base.name``, ``base`` being the value of ``node.value``."""
    name, check = node.attr, at.check
    if name.startswith("__") and name not in _HARMLESS_DUNDERS:
        check.report("W110", node, name)
        return v.RECOVERED
    match base:
        case v.Given("self"):
            return _self_attribute(node, at)
        case v.Given("operators"):
            return _operator_class(node, at)
        case v.Given() if name == "get_usage_summary":
            return v.Builtin("llm.get_usage_summary")
        case v.Given():
            check.report("W210", node, f"`.{name}` of the model")
            return v.RECOVERED
        case v.Module(name=module):
            return module_attribute(module, name, node, at)
    base = plain(base, at)
    kind, origin = kind_of(base), origin_of(base)
    if isinstance(base, v.Result) and name not in RESULT_METHODS:
        keys = sorted(
            {key for each in base.operators for key in check.options.operators[each].empty}
        )
        check.report("W208", node, f"`.{name}`: a result is a dict with the keys {', '.join(keys)}")
        return v.Text(origin)
    if (known := KNOWN_ATTRIBUTES.get(kind)) is not None and name not in known:
        hint = ", call it first" if kind == "method" else nearest(name, known)
        check.report("W304", node, f"`.{name}`: a {kind} has none{hint}")
    inner = getattr(base, "element", None) or getattr(base, "item", None)
    if name in METHODS.get(kind, ()):
        return v.Method(origin, inner)
    return v.Unknown(computed(origin), inner)


def module_attribute(module: str, name: str, node: ast.AST, at: Frame) -> v.Value:
    """``module.name``; what an allowed module does not have is a finding."""
    if not has_attribute(module, name):
        at.check.report("W304", node, f"{module}.{name}")
        return v.RECOVERED
    return v.Builtin(f"{module}.{name}")


def _self_attribute(node: ast.Attribute, at: Frame) -> v.Value:
    name, check = node.attr, at.check
    if (held := check.attributes.get(name)) is not None:
        return held
    by_call_name = {e.call_name: e.name for e in check.options.operators.values()}
    if (operator := by_call_name.get(name)) is not None:
        line = f"self.{name} = operator.{operator}(self.llm)"
        check.report("W202", node, f"self.{name}", add_to_init(line))
        return v.Operator(frozenset({operator}), node)
    if name == "llm":
        line = "self.llm = create_llm_instance(llm_config)"
        check.report("W304", node, "self.llm", add_to_init(line, first=True))
        return v.Given("llm")
    check.report("W304", node, f"self.{name}" + nearest(name, [*check.attributes, *by_call_name]))
    return v.RECOVERED


def _operator_class(node: ast.Attribute, at: Frame) -> v.Value:
    known = at.check.options.operators
    if node.attr not in known:
        at.check.report("W201", node, f"operator.{node.attr}" + nearest(node.attr, known))
        return v.RECOVERED
    return v.Builtin(f"operator.{node.attr}")


# ------------------------------------------------------------------------------------ keys, items
def as_key(value: v.Value, node: ast.AST, at: Frame) -> v.Value:
    """``value`` used as a key or an index, or put into a set."""
    value = plain(value, at)
    if isinstance(value, v.Result | v.Mapped):
        what = "whole result" if isinstance(value, v.Result) else "dict"
        at.check.report("W306", node, f"a {what} is used as a key or put into a set")
        return v.RECOVERED
    return value


def subscript(base: v.Value, key: v.Value, node: ast.Subscript, at: Frame) -> v.Value:
    """``base[key]`` where it is no slice."""
    check, origin = at.check, origin_of(key)
    wanted = key.constant if isinstance(key, v.Text) else None
    if without := _without_items(base, wanted):
        check.report("W306", node, without)
        return v.RECOVERED
    match base:
        case v.Result():
            return read_key(base, key, node, at)
        case v.Text() if wanted is not None:
            check.report("W208", node, f"{wanted!r}: this is a text, not a result")
            return base
        case v.Mapped(mapping=mapping) if mapping is not None and wanted is not None:
            if wanted not in mapping and isinstance(node.ctx, ast.Load):
                has = ", ".join(mapping) or "none"
                check.report("W208", node, f"{wanted!r}: the dict has {has}")
            return mapping.get(wanted, v.RECOVERED)
        case v.Listed(items=items) if items is not None and isinstance(key, v.Number):
            if (index := key.exact) is not None:
                return items[index] if -len(items) <= index < len(items) else v.Unknown()
        case v.Mapped(element=element) if element is not None:
            return labeled(element, origin)
    return labeled(item_of(base), origin)


def _without_items(base: v.Value, key: str | None) -> str:
    """Why ``base[key]`` cannot work; empty if it can. A false number may stand for `not yet`."""
    match base:
        case v.Number() if not base.least == base.most == 0:
            return "a number has no items"
        case v.Function() | v.Method() | v.Module() | v.Given():
            return f"a {kind_of(base)} has no items"
        case v.Builtin(name=name) if hasattr(builtins, name):
            generic = hasattr(getattr(builtins, name), "__class_getitem__")  # list[str] is a type
            return "" if generic else f"{name} has no items"
        case v.Listed(most=most) if key is not None and most < float("inf"):
            return f"{key!r}: items of a list have numbers"
    return ""


def read_key(base: v.Result, key: v.Value, node: ast.AST, at: Frame) -> v.Value:
    """``result[key]``; an unknown key is a finding."""
    operators = at.check.options.operators
    name: object
    match key:
        case v.Text(constant=str(name)):
            pass
        case v.Number() if (name := key.exact) is not None:
            pass
        case v.Text() | v.Unknown() | v.Nothing():
            return v.Unknown(base.origin)
        case _:
            at.check.report("W208", node, f"the key is a {kind_of(key)}, not a text")
            return v.RECOVERED
    value: v.Value | None = None
    for operator in sorted(base.operators):
        empty = operators[operator].empty
        if not isinstance(name, str) or name not in empty:
            wanted = " or ".join(repr(known) for known in empty)
            at.check.report("W208", node, f"{name!r}: {operator} returns {wanted}")
        elif value is None or isinstance(empty[name], bool):
            value = like(empty[name], base.origin)
    return value or v.Text(base.origin)


def like(empty: object, origin: int) -> v.Value:
    """A value of the type of ``empty``."""
    match of_constant(empty):
        case v.Number():
            return v.Number(origin)
        case v.Unknown() if isinstance(empty, list):
            return listed(v.Text(origin))
    return v.Text(origin)
