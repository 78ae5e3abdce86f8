"""Forms of what crosses between solution and tests beside literals, and what may be asked."""

from __future__ import annotations

import builtins
import collections
import enum
import functools
import importlib
import operator
from collections.abc import Callable
from typing import Any

from .functions import FILENAME, describe_error
from .literals import LiteralError

Form = dict[str, Any]


def shared_classes(namespace: dict[str, Any]) -> dict[str, type]:
    """Classes that the set-up has defined in ``namespace``."""
    return {
        name: value
        for name, value in namespace.items()
        if isinstance(value, type) and value.__module__ == namespace["__name__"]
    }


_CONTAINER_METHODS = (
    "append appendleft add insert remove discard pop popleft popitem clear extend update sort "
    "reverse keys values items get setdefault copy"
)
VALUE_METHODS = frozenset(
    name
    for kind in (str, bytes, int, float, complex, list, tuple, dict, set, collections.deque)
    for name in dir(kind)
) - {*_CONTAINER_METHODS.split()}


_MODULES = (
    *("builtins", "cmath", "collections", "copy", "datetime", "decimal", "fractions", "functools"),
    *("heapq", "itertools", "json", "math", "operator", "random", "re", "statistics", "string"),
)


def named_form(value: Any) -> Form | None:
    """The form of a function or class of the standard library, of which each side has its own."""
    name = str(getattr(value, "__name__", None))
    module = str(getattr(value, "__module__", None)).removeprefix("_")
    if module not in _MODULES or vars(importlib.import_module(module)).get(name) is not value:
        return None
    return {"#": "named", "m": module, "v": name}


class Shared:
    """Instances of classes that the set-up defines: they cross as their attributes."""

    def __init__(self, classes: dict[str, type]) -> None:
        self.classes = classes

    def form(self, value: Any, inner: Callable[[Any], Any]) -> Form | None:
        """None where ``value`` is no such instance. A class of the same name, which a solution has
        written again, counts as the set-up's."""
        name = type(value).__name__
        if name not in self.classes:
            return None
        if isinstance(value, enum.Enum):
            return {"#": "member", "c": name, "v": value.name}
        if not hasattr(value, "__dict__"):
            return None
        return {"#": "instance", "c": name, "v": [[k, inner(v)] for k, v in vars(value).items()]}

    def value(self, form: Form, inner: Callable[[Any], Any]) -> Any:
        kind = self.classes[form["c"]]
        if form["#"] == "member":
            return kind[form["v"]]  # type: ignore[index]
        value: Any = object.__new__(kind)
        for name, part in form["v"]:
            if callable(getattr(kind, name, None)):
                raise LiteralError("an attribute in the place of a method")
            object.__setattr__(value, name, inner(part))
        return value


_JUDGING = frozenset(
    f"__{name}__"
    for name in (
        *("eq", "ne", "lt", "le", "gt", "ge", "contains", "getattr", "getattribute", "add", "sub"),
        *("mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "radd", "rsub"),
        *("rmul", "rtruediv", "rfloordiv", "rmod", "rpow", "rand", "ror", "rxor"),
    )
)


def judging_methods(kind: type) -> list[str]:
    """Methods with which an instance could agree with a value that it is compared with; those that
    ``dataclass`` writes compare type and attributes."""
    written = [
        (name, value) for one in kind.__mro__[:-1] for name, value in vars(one).items()
    ]  # fmt: skip
    return [
        name
        for name, value in written
        if (name in _JUDGING or (name in VALUE_METHODS and not name.startswith("__")))
        and getattr(getattr(value, "__code__", None), "co_filename", FILENAME) != "<string>"
    ]


class Given:
    """Objects that the other side knows by number; the same object has one number."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._numbers: dict[int, int] = {}

    def number(self, value: Any) -> int:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)  # kept alive, so that its id stays its own
        return self._numbers[id(value)]

    def __getitem__(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._objects):
            raise LiteralError("no such object")
        return self._objects[number]


def _listed(value: Any) -> Any:
    """The items, where they can be taken now; an iterator of its own is asked for each."""
    iterator = iter(value)
    return None if iterator is value else iterator


BINARY = {
    name: getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
        *("and_", "or_", "xor", "lshift", "rshift"),
        *("iadd", "isub", "imul", "itruediv", "iand", "ior", "ixor"),
    )
}
COMPARING = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
OPERATIONS: dict[str, Callable[..., Any]] = {
    "call": lambda target, *args, **kwargs: target(*args, **kwargs),
    "change": lambda target, *args, **kwargs: target(*args, **kwargs),
    "get": getattr,
    "set": setattr,
    "del": delattr,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "contains": operator.contains,
    "listed": _listed,
    "next": next,
    "reversed": reversed,
    "enter": lambda value: type(value).__enter__(value),
    "exit": lambda value: type(value).__exit__(value, None, None, None),
    **{one.__name__: one for one in (len, str, repr, bool, int, float, complex, abs, round, hash)},
    **{one.__name__: one for one in (format, operator.index, operator.neg, operator.invert)},
    **BINARY,
    **COMPARING,
}


class SolutionError(Exception):
    """The solution raised something that is no builtin exception."""


def builtin_ancestor(kind: type) -> str:
    """Name of the nearest builtin class that an exception class derives from."""
    return next(one.__name__ for one in kind.__mro__ if one.__module__ == "builtins")


def raised_form(error: Exception) -> Form:
    kinds = [kind.__name__ for kind in type(error).__mro__]
    return {"raised": [builtin_ancestor(type(error)), *kinds], "message": describe_error(error)}


def builtin_exception(name: Any) -> Callable[[str], Exception]:
    kind = vars(builtins).get(str(name))
    if isinstance(kind, type) and issubclass(kind, Exception):
        return functools.partial(made_exception, kind)
    return SolutionError


def made_exception(kind: type[Exception], message: str) -> Exception:
    try:
        return kind(message)
    except TypeError:  # UnicodeDecodeError and its like want more
        return SolutionError(message)
