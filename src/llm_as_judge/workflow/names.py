"""Follows names and attributes: variables, builtins, modules, ``self``, the given names."""

from __future__ import annotations

import ast

from llm_as_judge.workflow.analysis import Analysis, nearest
from llm_as_judge.workflow.frames import Frame
from llm_as_judge.workflow.repairs import add_to_init, give_first_value, import_module
from llm_as_judge.workflow.values import ANY, RECOVERED, Kind, Value
from llm_as_judge.workflow.vocabulary import (
    ALLOWED_MODULES,
    BUILTINS,
    FORBIDDEN_NAMES,
    KNOWN_ATTRIBUTES,
    METHODS,
    has_attribute,
)

__all__ = ["RESULT_METHODS", "USAGE_SUMMARY", "Names"]

USAGE_SUMMARY = "llm.get_usage_summary"
"""AFlow's method of the model, of which programs return ``["total_cost"]``."""

RESULT_METHODS = frozenset(
    {"get", "keys", "values", "items", "copy", "pop", "setdefault", "update"}
)
_HARMLESS_DUNDERS = frozenset({"__name__", "__init__", "__doc__"})


class Names(Analysis):
    """The part of the check that finds out what a name means."""

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
        if base.kind == "llm" and node.attr == "get_usage_summary":
            return Value("class", names=frozenset({USAGE_SUMMARY}))
        if base.kind == "llm":
            self.report("W210", node, f"`.{node.attr}` of the model")
            return RECOVERED
        if base.kind == "module":
            return self.module_attribute(next(iter(base.names)), node.attr, node)
        base = self.plain(base)
        if base.kind == "result" and node.attr not in RESULT_METHODS:
            keys = self.keys_of(base)
            self.report(
                "W208", node, f"`.{node.attr}`: a result is a dict with the keys {', '.join(keys)}"
            )
            return Value("text", labels=base.labels)
        if (known := KNOWN_ATTRIBUTES.get(base.kind)) is not None and node.attr not in known:
            uncalled = base.kind == "method"
            hint = ", call it first" if uncalled else nearest(node.attr, known)
            self.report("W304", node, f"`.{node.attr}`: a {base.kind} has none{hint}")
        kind: Kind = "method" if node.attr in METHODS.get(base.kind, ()) else "any"
        return Value(kind, labels=base.labels, element=base.element)

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

    def keys_of(self, base: Value) -> list[str]:
        """Keys that a whole result may have."""
        return sorted({k for name in base.names for k in self.options.operators[name].empty})
