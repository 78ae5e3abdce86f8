"""Follows what is done with lists and dicts: comprehensions, unpacking, and their methods."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from llm_as_judge.workflow.expressions import SET, Expressions
from llm_as_judge.workflow.frames import Frame
from llm_as_judge.workflow.names import RESULT_METHODS
from llm_as_judge.workflow.sequences import is_foreign, with_item, with_items
from llm_as_judge.workflow.values import (
    ANSWER,
    ANY,
    MAYBE,
    NONE,
    RECOVERED,
    Value,
    either,
    join,
    joined,
)
from llm_as_judge.workflow.vocabulary import KNOWN_ATTRIBUTES, MUTATING_METHODS, TEXT_METHODS

__all__ = ["Containers", "Given"]

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


@dataclass(slots=True, eq=False)
class Given:
    """The arguments of one call, followed."""

    node: ast.Call
    positional: list[Value]
    named: dict[str, Value]
    unknown: bool
    """``*args`` or ``**kwargs`` of which the parts are not known."""

    @property
    def every(self) -> list[Value]:
        return [*self.positional, *self.named.values()]

    @property
    def labels(self) -> frozenset[str]:
        return frozenset().union(*(value.labels for value in self.every))

    @property
    def calls(self) -> frozenset[int]:
        return frozenset().union(*(value.calls for value in self.every))

    @property
    def first(self) -> Value:
        return self.positional[0] if self.positional else ANY


class Containers(Expressions):
    """Lists, tuples, sets and dicts."""

    def comprehension(self, node: Comprehension, frame: Frame) -> Value:
        """The list it makes; its model calls are counted once for each item."""
        inner = Frame(node, _targets(node), frame)
        times: int | None = 1
        shortest, endless = 1, False
        labels: frozenset[str] = frozenset()
        for generator in node.generators:
            source = self.plain(self.value(generator.iter, inner))
            self.iterable(source, generator.iter)
            self.bind_target(generator.target, self.item_of(source), inner)
            for condition in generator.ifs:
                self.plain(self.value(condition, inner), " in a condition")
            times = None if times is None or source.longest is None else times * source.longest
            shortest = 0 if generator.ifs else shortest * source.shortest
            endless = endless or source.endless
            labels |= source.labels
        element = self._element(node, inner)
        if endless and not isinstance(node, ast.GeneratorExp):
            self.report("W601", node)
        self.multiply(0, times, inner, node)
        self.spend(inner.state.cost if inner.state else 0, frame)
        return Value(
            "dict" if isinstance(node, ast.DictComp) else "list",
            labels=labels | element.labels,
            names=SET if isinstance(node, ast.SetComp) else frozenset(),
            element=element,
            shortest=shortest,
            longest=times,
            endless=endless,
            foreign=is_foreign(element),
            calls=element.calls,
        )

    def _element(self, node: Comprehension, inner: Frame) -> Value:
        if isinstance(node, ast.DictComp):
            self.key(self.value(node.key, inner), node)
            return self.value(node.value, inner)
        if isinstance(node, ast.GeneratorExp) and any(
            isinstance(part, ast.Await) for part in ast.walk(node.elt)
        ):
            self.report("W305", node, "a generator with await; make a list: [await ...]")
        value = self.value(node.elt, inner)
        return self.key(value, node) if isinstance(node, ast.SetComp) else value

    def iterable(self, source: Value, node: ast.AST) -> None:
        """Notes ``for x in d.items``: a method that was not called."""
        if source.kind == "method":
            self.report("W306", node, "a method has no items, call it first")

    def multiply(self, before: int, times: int | None, frame: Frame, node: ast.AST) -> None:
        """Model calls since ``before`` happen ``times`` times; unbounded is a finding."""
        if frame.state is None or frame.state.cost == before:
            return
        if times is None:
            self.report("W601", node, "it calls operators")
            return
        frame.state.cost = before + times * (frame.state.cost - before)

    # ------------------------------------------------------------------------------- unpacking
    def item_of(self, source: Value) -> Value:
        """What iterating over ``source`` gives."""
        if source.kind in ("list", "any") and source.element is not None:
            return source.element.labelled(source.labels)
        if source.kind == "dict":
            return Value("text", labels=source.labels)
        is_text = source.kind in ("text", "result")
        return Value("text" if is_text else "any", labels=source.labels, calls=source.calls)

    def bind_target(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Assigns ``value`` to a name, attribute, item, or several of them."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value, frame)
        elif isinstance(target, ast.Starred):
            self.bind_target(target.value, Value("list", value.labels, element=value), frame)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, self.plain(value), frame)
        elif isinstance(target, ast.Attribute):
            base = self.value(target.value, frame)
            if base.kind == "self" and self.attributes.state is not None:
                self.attributes.state.variables[target.attr] = value
            else:
                self.mutate(target.value, value, frame)
        elif isinstance(target, ast.Subscript):
            self.plain(self.value(target.value, frame))
            key = self.key(self.value(target.slice, frame), target)
            stored = self.stored(target.value, frame)
            if stored is not None and stored.kind in ("text", "number"):
                self.report("W304", target, f"items of a {stored.kind} cannot be assigned")
            self.put_item(target, value.labelled(key.labels), frame)

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, frame: Frame) -> None:
        if value.kind == "result":
            self.report("W208", target, "a whole result is unpacked, read its keys")
        items = value.items
        starred = any(isinstance(element, ast.Starred) for element in target.elts)
        if items is None or starred or len(items) != len(target.elts):
            items = (self.item_of(value),) * len(target.elts)
        for element, item in zip(target.elts, items, strict=True):
            self.bind_target(element, item, frame)

    def put_item(self, target: ast.Subscript, value: Value, frame: Frame) -> None:
        """``container[key] = value``: a known key of a dict is kept apart from the others."""
        stored = self.stored(target.value, frame)
        key = target.slice.value if isinstance(target.slice, ast.Constant) else None
        if stored is not None and stored.kind == "dict" and isinstance(key, str):
            mapping = None if stored.mapping is None else {**stored.mapping, key: value}
            element = value if stored.element is None else join(stored.element, value)
            length = None if mapping is None else len(mapping)
            changed = replace(
                stored, labels=stored.labels | value.labels, mapping=mapping, element=element,
                longest=length, calls=stored.calls | value.calls,
            )  # fmt: skip
            self.store(target.value, changed, frame)
        elif stored is None or stored.kind != "result":
            self.mutate(target.value, value, frame)

    def no_whole_results(self, given: Given, where: str) -> None:
        """Notes arguments, or items of them, that are whole results where texts are wanted."""
        for value in given.every:
            element = value.element if value.kind == "list" else None
            if "result" in (value.kind, element.kind if element is not None else ""):
                self.report("W208", given.node, f"a whole result in {where}, read one of its keys")

    def shrink(self, container: ast.expr, base: Value, frame: Frame) -> None:
        """An item is taken out of ``container``, which held ``base``."""
        if base.kind in ("list", "dict"):
            shorter = replace(base, shortest=max(0, base.shortest - 1), items=None, mapping=None)
            self.store(container, shorter, frame)

    # --------------------------------------------------------------------------------- methods
    def method_call(
        self, base: Value, function: ast.Attribute, given: Given, frame: Frame
    ) -> Value:
        """``base.name(...)`` where ``base`` is a plain value."""
        name = function.attr
        if name not in KNOWN_ATTRIBUTES.get(base.kind, (name,)):
            self.attribute_of(base, function)
            self.mutate(function.value, RECOVERED, frame)
            return RECOVERED
        if base.kind == "result" and name not in RESULT_METHODS:
            return self.attribute_of(base, function)
        if base.kind == "result":
            return self._result_method(base, name, given)
        if base.kind == "list":
            return self._list_method(base, function, given, frame)
        if base.kind == "dict" and name in ("get", "values", "items", "keys", "pop"):
            return self._dict_method(base, function, given, frame)
        if name == "create_task":
            return given.first
        arguments = [self._argument(value, base, frame, given.node) for value in given.every]
        if name == "join":
            self.no_whole_results(given, "join")
        labels = base.labels.union(*(value.labels for value in arguments))
        if name in MUTATING_METHODS and base.kind != "text":
            self.mutate(function.value, joined(arguments) or ANY, frame)
        if name in TEXT_METHODS:
            return Value("text", labels=labels)
        if name in ("split", "splitlines", "rsplit"):
            return Value("list", labels, element=Value("text", labels), foreign=not labels)
        element = base.element if base.kind == "any" else None
        return Value(labels=labels, element=element, calls=base.calls | given.calls)

    def _argument(self, value: Value, base: Value, frame: Frame, node: ast.Call) -> Value:
        if value.kind == "function":
            return self.call_each(value, base.element, None, frame, node)
        return value if value.kind == "list" else self.plain(value)

    def _result_method(self, base: Value, name: str, given: Given) -> Value:
        if name in ("get", "pop"):
            return self.read_key(base, given.first, given.node)
        return Value("any", labels=base.labels | given.labels)

    def _dict_method(
        self, base: Value, function: ast.Attribute, given: Given, frame: Frame
    ) -> Value:
        element, name = base.element or ANY, function.attr
        if name in ("get", "pop"):
            key = self.key(given.first, given.node).constant
            if name == "pop":
                self.shrink(function.value, base, frame)
            found = (base.mapping or {}).get(key) if isinstance(key, str) else None
            value = found or element
            if found is None and len(given.positional) > 1:
                value = either(value, given.positional[1])
            origin = base.labels - {ANSWER} if MAYBE in value.labels else base.labels
            return value.labelled(origin | given.first.labels)
        key_value = Value("text", base.labels)
        shown = {"values": element, "keys": key_value}.get(
            name, Value("list", element.labels, items=(key_value, element), element=element)
        )
        return Value(
            "list", base.labels, element=shown, calls=base.calls,
            shortest=base.shortest, longest=base.longest,
            foreign=any(is_foreign(v) for v in (base.mapping or {}).values()),
        )  # fmt: skip

    def _put(self, container: ast.expr, filled: Value, added: Value, frame: Frame) -> None:
        """A list that is a variable is known afterwards; of one inside another, only its origin."""
        if self.stored(container, frame) is not None:
            self.store(container, filled, frame)
        else:
            self.mutate(container, added, frame)

    def _list_method(
        self, base: Value, function: ast.Attribute, given: Given, frame: Frame
    ) -> Value:
        name = function.attr
        if name in ("append", "add", "insert", "appendleft"):
            added = given.positional[-1] if given.positional else ANY
            if base.names & SET:
                self.key(added, given.node)
            self._put(function.value, with_item(base, added), added, frame)
            return NONE
        if name in ("extend", "update", "extendleft"):
            self._put(function.value, with_items(base, given.first), given.first, frame)
            return NONE
        for value in given.every:
            if value.kind == "function":
                self.call_each(value, base.element, base.longest, frame, given.node)
        if name in ("pop", "popleft"):
            self.shrink(function.value, base, frame)
            return self.item_of(base)
        if name in ("sort", "reverse", "clear", "remove", "discard"):
            self.store(function.value, replace(base, items=None, shortest=0), frame)
            return NONE
        if name in ("copy", "union", "intersection", "difference"):
            others = [v for v in given.every if v.kind == "list"]
            return replace(joined([base, *others]) or base, items=None, longest=None)
        return Value("number", labels=base.labels | given.labels)


def _targets(node: Comprehension) -> frozenset[str]:
    targets = (part for generator in node.generators for part in ast.walk(generator.target))
    return frozenset(part.id for part in targets if isinstance(part, ast.Name))
