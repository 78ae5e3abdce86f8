"""Follows calls of builtins and of the allowed modules."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from llm_as_judge.workflow.containers import Containers, Given
from llm_as_judge.workflow.expressions import SET
from llm_as_judge.workflow.frames import Frame
from llm_as_judge.workflow.values import ANY, NO_CONSTANT, NONE, Value, joined

__all__ = ["PlainCalls"]

_OBJECT = frozenset({"object"})
"""Name of a value made by a module: of its kind nothing is known."""
_COPIES = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"})
_PICKS = frozenset({"max", "min", "next"})
_NUMBERS = frozenset(
    {
        "len",
        "int",
        "float",
        "bool",
        "abs",
        "round",
        "sum",
        "any",
        "all",
        "isinstance",
        "issubclass",
        "hash",
        "id",
        "ord",
        "pow",
        "callable",
        "hasattr",
        "complex",
    }
)
_OF_TEXTS = frozenset({"int", "float", "abs", "round", "ord", "complex"})
"""Take a text or a number, never a whole result."""
_TEXTS = frozenset({"str", "repr", "format", "chr", "ascii", "hex", "bin", "oct"})


class PlainCalls(Containers):
    """Builtins, ``asyncio`` and the other modules."""

    def call_each(
        self,
        function: Value,
        element: Value | None,
        times: int | None,
        frame: Frame,
        node: ast.Call,
    ) -> Value:
        """A function handed to ``map``, ``max(key=)`` and the like: followed once."""
        if function.kind == "operator":
            self.report("W210", node, "an operator is handed on uncalled")
        if function.kind != "function":
            return ANY
        before = frame.state.cost if frame.state else 0
        value = self.call_function(function, node, [element or ANY], {}, frame)
        if isinstance(function.node, ast.AsyncFunctionDef):
            value = self.pending(node, function.node.name, value)
        self.multiply(before, times, frame, node)
        return value

    def pending(self, node: ast.Call, name: str, element: Value) -> Value:
        """What an un-awaited call gives."""
        self.created_calls[id(node)] = (node, name)
        return Value("pending", labels=element.labels, element=element, calls=frozenset({id(node)}))

    # -------------------------------------------------------------------------------- builtins
    def builtin_call(self, name: str, given: Given, frame: Frame) -> Value:
        if name == "range":
            return _range(given)
        if name in ("map", "filter"):
            return self._mapped(name, given, frame)
        values = [self._followed(value, given, frame) for value in given.every]
        labels = frozenset[str]().union(*(value.labels for value in values))
        if name == "sum" and len(given.positional) > 1:
            return Value(labels=labels)  # of lists: sum(lists, [])
        if name in _OF_TEXTS:
            self.no_whole_results(given, name)
        if name in ("set", "frozenset"):
            self.key(self.item_of(given.first), given.node)
        if name == "len":
            return _length(given.first, labels)
        if name in _NUMBERS:
            return Value("number", labels=labels)
        if name in _TEXTS:
            return Value("text", labels=labels)
        if name == "dict":
            return _dict(given, labels)
        if name in _COPIES:
            return _copied(name, given)
        if name == "enumerate":
            number_and_item = (Value("number"), self.item_of(given.first))
            return _rows(given.first, number_and_item, labels)
        if name == "zip":
            return _zipped(given, tuple(self.item_of(v) for v in given.positional), labels)
        if name in _PICKS:
            return self._picked(name, given, labels)
        return NONE if name == "print" else Value(labels=labels, calls=given.calls)

    def _followed(self, value: Value, given: Given, frame: Frame) -> Value:
        if value.kind == "function":
            source = next((v for v in given.positional if v.kind in ("list", "any")), ANY)
            return self.call_each(
                value, source.element or source, source.longest, frame, given.node
            )
        return value if value.kind == "list" else self.plain(value)

    def _mapped(self, name: str, given: Given, frame: Frame) -> Value:
        sources = given.positional[1:]
        source = sources[0] if sources else ANY
        element = self.item_of(source)
        made = self.call_each(given.first, element, source.longest, frame, given.node)
        if name == "filter":
            return replace(source, items=None, shortest=0)
        made = made.labelled(given.labels) if given.first.kind != "function" else made
        return Value(
            "list", labels=made.labels, element=made, shortest=source.shortest,
            longest=source.longest, endless=source.endless, calls=made.calls,
        )  # fmt: skip

    def _picked(self, name: str, given: Given, labels: frozenset[str]) -> Value:
        plain = [v for k, v in given.named.items() if k not in ("key", "default")]
        sources = [*given.positional, *plain]
        if len(sources) == 1 or (sources and sources[0].kind == "list"):
            picked = self.item_of(sources[0])
            return replace(picked, labels=picked.labels | labels, shortest=0)
        picked = joined(sources) or ANY
        least, most = _picked_bounds(name, sources)
        return replace(picked, labels=labels, constant=NO_CONSTANT, shortest=least, longest=most)

    # --------------------------------------------------------------------------------- modules
    def module_call(self, name: str, given: Given, frame: Frame) -> Value:
        if (follow := _ASYNCIO.get(name)) is not None:
            return follow(self, given)
        if name == "asyncio.run":
            self.mark_awaited(given.first)
            self.report("W305", given.node, f"{name} inside a program that already runs")
            return _outcome(given.first)
        followed = [self._followed(value, given, frame) for value in given.every]
        labels = frozenset[str]().union(*(value.labels for value in followed))
        if name.startswith(("re.", "math.", "statistics.")):
            self.no_whole_results(given, name)
        if name in ("itertools.count", "itertools.cycle"):
            return Value("list", labels, element=given.first.element, endless=True, shortest=1)
        if name == "itertools.repeat":
            endless = len(given.positional) < 2
            shortest, longest = (0, None) if endless else _bounds(given.positional[1])
            return Value(
                "list", labels, element=given.first, endless=endless, shortest=shortest,
                longest=longest,
            )  # fmt: skip
        if name in ("itertools.chain", "collections.deque"):
            return self._chained(name, given)
        if name in (
            "random.sample",
            "random.choices",
            "random.choice",
            "copy.copy",
            "copy.deepcopy",
        ):
            return self._sampled(name, given)
        if name.startswith(("re.sub", "json.dumps", "string.", "textwrap.")):
            return Value("text", labels=labels)
        return Value("any", labels, _OBJECT, element=_counted_item(given), calls=given.calls)

    def _chained(self, name: str, given: Given) -> Value:
        sources = given.positional if name == "itertools.chain" else given.positional[:1]
        lengths = [v.longest for v in sources]
        known = [length for length in lengths if length is not None]
        return Value(
            "list",
            given.labels,
            element=joined(self.item_of(v) for v in sources),
            longest=sum(known) if len(known) == len(lengths) else None,
            foreign=any(v.foreign for v in sources),
            calls=given.calls,
        )

    def _sampled(self, name: str, given: Given) -> Value:
        if name == "random.choice":
            return self.item_of(given.first)
        return given.first if name.startswith("copy.") else replace(given.first, items=None)

    def gathered(self, given: Given) -> Value:
        """``asyncio.gather(a, b)``, ``asyncio.gather(*calls)``."""
        self.mark_awaited(Value(calls=given.calls))
        if given.unknown and given.positional:
            (*known, rest) = given.positional
            element = joined(_outcome(v) for v in [*known, rest.element or ANY])
            extra = len(known)
            longest = None if rest.longest is None else rest.longest + extra
            results = Value(
                "list", given.labels, element=element, shortest=rest.shortest + extra,
                longest=longest, foreign=rest.foreign,
            )  # fmt: skip
        else:
            outcomes = tuple(_outcome(v) for v in given.positional)
            results = Value(
                "list", given.labels, items=outcomes, element=joined(outcomes),
                shortest=len(outcomes), longest=len(outcomes),
            )  # fmt: skip
        return self.pending(given.node, "asyncio.gather", results)

    def scheduled(self, given: Given) -> Value:
        """``create_task``, ``wait_for``, ``shield``: the call's own outcome, to be awaited."""
        self.mark_awaited(given.first)
        outcome = _outcome(given.first)
        return self.pending(given.node, ast.unparse(given.node.func), outcome)

    def completed(self, given: Given) -> Value:
        """``asyncio.as_completed(calls)``: the calls again, each to be awaited."""
        return replace(given.first, items=None)

    def waited(self, given: Given) -> Value:
        """``asyncio.wait(calls)``: (done, pending)."""
        self.mark_awaited(given.first)
        done = Value("list", given.labels, element=self.item_of(given.first))
        both = Value("list", given.labels, items=(done, done), element=done)
        return self.pending(given.node, "asyncio.wait", both)

    def slept(self, given: Given) -> Value:
        return Value("pending", element=NONE)


_ASYNCIO: dict[str, Callable[[Any, Given], Value]] = {
    "asyncio.gather": PlainCalls.gathered,
    "asyncio.create_task": PlainCalls.scheduled,
    "asyncio.ensure_future": PlainCalls.scheduled,
    "asyncio.wait_for": PlainCalls.scheduled,
    "asyncio.shield": PlainCalls.scheduled,
    "asyncio.as_completed": PlainCalls.completed,
    "asyncio.wait": PlainCalls.waited,
    "asyncio.sleep": PlainCalls.slept,
}


def _outcome(value: Value) -> Value:
    if value.kind == "pending":
        return value.element or Value(labels=value.labels)
    return Value(labels=value.labels, element=value.element)


def _counted_item(given: Given) -> Value | None:
    """What comes out of ``Counter(items)`` and other collections made of one."""
    return given.first.element


def _length(value: Value, labels: frozenset[str]) -> Value:
    """``len(...)``: a number, with what is known of it as its own bounds."""
    if value.kind != "list":
        return Value("number", labels=labels)
    exact = value.longest is not None and value.shortest == value.longest
    return Value(
        "number", labels, shortest=value.shortest, longest=value.longest,
        constant=value.longest if exact else NO_CONSTANT,
    )  # fmt: skip


def _picked_bounds(name: str, numbers: list[Value]) -> tuple[int, int | None]:
    """Bounds of ``min(a, b)`` and ``max(a, b)``."""
    bounds = [_bounds(number) for number in numbers]
    greatest = [most for _, most in bounds if most is not None]
    if name == "min":
        return min((least for least, _ in bounds), default=0), min(greatest, default=None)
    known = len(greatest) == len(bounds)
    return max((least for least, _ in bounds), default=0), max(greatest) if known else None


def _bounds(number: Value) -> tuple[int, int | None]:
    """(least, greatest) of a number."""
    if type(number.constant) is int:
        return number.constant, number.constant
    return number.shortest, number.longest


def _range(given: Given) -> Value:
    numbers = [value.constant for value in given.positional]
    shortest, longest = 0, None
    if numbers and all(type(number) is int for number in numbers):
        try:
            shortest = longest = len(range(*[n for n in numbers if isinstance(n, int)]))
        except (ValueError, TypeError, OverflowError):
            longest = None
    elif 1 <= len(numbers) <= 2:
        # range(len(xs)): as many rounds as the bound at most, and from 0 or more at least.
        shortest, longest = _bounds(given.positional[-1])
        if len(numbers) == 2:
            shortest = 0
    element = Value("number", given.labels)
    return Value("list", given.labels, element=element, shortest=shortest, longest=longest)


def _dict(given: Given, labels: frozenset[str]) -> Value:
    known = not given.positional and not given.unknown
    values = given.every
    return Value(
        "dict", labels, mapping=dict(given.named) if known else None, element=joined(values),
        longest=len(given.named) if known else None, calls=given.calls,
    )  # fmt: skip


def _copied(name: str, given: Given) -> Value:
    source = given.first
    names = SET if name in ("set", "frozenset") else frozenset[str]()
    if not given.positional:
        return Value("list", names=names, items=(), longest=0)
    if source.kind == "list":
        ordered = name in ("list", "tuple", "iter")
        shortest = min(1, source.shortest) if "set" in name else source.shortest
        items = source.items if ordered else None
        return replace(source, items=items, shortest=shortest, names=names)
    element = Value("text", source.labels) if source.kind == "text" else source.element
    return Value("list", given.labels, names, element=element, foreign=not source.labels)


def _rows(source: Value, row: tuple[Value, ...], labels: frozenset[str]) -> Value:
    item = Value("list", labels, items=row, element=joined(row), calls=source.calls)
    return Value(
        "list", labels, element=item, shortest=source.shortest, longest=source.longest,
        endless=source.endless, calls=source.calls,
    )  # fmt: skip


def _zipped(given: Given, row: tuple[Value, ...], labels: frozenset[str]) -> Value:
    lengths = [v.longest for v in given.positional if v.longest is not None]
    item = Value("list", labels, items=row, element=joined(row), calls=given.calls)
    return Value(
        "list", labels, element=item, calls=given.calls,
        shortest=min((v.shortest for v in given.positional), default=0),
        longest=min(lengths, default=None),
        endless=bool(given.positional) and all(v.endless for v in given.positional),
    )  # fmt: skip
