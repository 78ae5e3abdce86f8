"""Stand-ins: what a test holds in the place of an object of the solution's process.

What the tests may do with one is bounded, so that no object can agree with whatever it is compared
with:

- of a class that the tests do not name: hand it back, nothing else;
- made by a call that the tests made of a class they name (``Stack()``): all that Python allows, but
  comparison only with another such object, and only before either was used otherwise;
- got from the solution (``stack.copy()``, also where it gives an object that the tests have made):
  attributes, items, iteration and methods, but no comparison, no arithmetic and no method of a
  builtin value (``startswith``), which would hand the expected value to the solution and let it
  answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .crossing import BINARY, COMPARING, VALUE_METHODS
from .testing import Changing, UncrossableError

if TYPE_CHECKING:
    from .remote import TestsEnd


class Held:
    """An object that stayed in the solution's process: it can be handed back, nothing else.

    To compare it with more than None or to ask for its truth is an error, so that neither ``==`` nor
    ``!=`` holds.
    """

    __slots__ = ("_remote_end", "_remote_number", "_remote_type_name")
    _remote_end: TestsEnd
    _remote_number: int
    _remote_type_name: str

    def __init__(self, end: TestsEnd, number: int, type_name: str) -> None:
        for name, value in zip(Held.__slots__, (end, number, type_name), strict=True):
            object.__setattr__(self, name, value)

    def _remote_no_value(self, *_: Any) -> Any:
        what = "a function of the solution" if isinstance(self, Function) else (
            f"an object of the solution's class {self._remote_type_name}"
        )  # fmt: skip
        raise self._remote_end.watch.raised(
            UncrossableError(f"{what} stands where a value is wanted")
        )

    def __eq__(self, other: object) -> bool:
        return False if other is None else self._remote_no_value()

    def __ne__(self, other: object) -> bool:
        return True if other is None else self._remote_no_value()

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _remote_no_value
    __hash__ = object.__hash__


class _Called(Changing):
    __slots__ = ()
    _remote_end: TestsEnd

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._remote_end.ask("call", self, *args, **kwargs)

    def in_place(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it; what it changed in its arguments is changed here, too."""
        return self._remote_end.ask("change", self, *args, **kwargs)


class Function(Held, _Called):
    """A callable of the solution's process."""

    __slots__ = ()


class Named(_Called):
    """A function that the solution defines by name."""

    def __init__(self, end: TestsEnd, name: str) -> None:
        self._remote_end = end
        self.__name__ = self.__qualname__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._remote_end.ask("get", self, name)


class Live(Held):
    """An object of a class that the tests name. Names of its own begin with ``_remote``: all others
    are the solution's.

    Args:
        made: the tests made it themselves.
    """

    __slots__ = ("_remote_fresh", "_remote_made")
    _remote_made: bool
    _remote_fresh: bool
    """Made by the tests, and not used since then."""

    def __init__(self, end: TestsEnd, number: int, type_name: str, made: bool = False) -> None:
        super().__init__(end, number, type_name)
        object.__setattr__(self, "_remote_made", made)
        object.__setattr__(self, "_remote_fresh", made)

    def _remote_itself(self, result: Any) -> Any:
        """``result``, or this stand-in where it is of the same object."""
        same = isinstance(result, Live) and result._remote_number == self._remote_number  # noqa: SLF001
        return self if same else result

    def _remote_ask(self, operation: str, *args: Any) -> Any:
        return self._remote_end.ask(operation, self, *args)

    def _remote_own(self) -> None:
        if not self._remote_made:
            self._remote_no_value()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name in VALUE_METHODS:
            self._remote_own()
        return self._remote_ask("get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._remote_ask("set", name, value)

    def __delattr__(self, name: str) -> None:
        self._remote_ask("del", name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._remote_end.ask("call", self, *args, **kwargs)

    def __iter__(self) -> Any:
        items = self._remote_ask("listed")
        return self if items is None else items

    def __contains__(self, item: Any) -> Any:
        self._remote_own()
        return self._remote_end.truth(self._remote_ask("contains", item))

    def __bool__(self) -> bool:
        return self._remote_end.truth(self._remote_ask("bool"))

    def __enter__(self) -> Any:
        return self._remote_itself(self._remote_ask("enter"))

    def __exit__(self, *_: Any) -> None:
        self._remote_ask("exit")

    def __round__(self, digits: int | None = None) -> Any:
        return self._remote_ask("round", *([] if digits is None else [digits]))


def _one(operation: str) -> Callable[..., Any]:
    def ask(self: Live, *args: Any) -> Any:
        return self._remote_ask(operation, *args)

    return ask


def _binary(operation: str, reflected: bool) -> Callable[[Live, Any], Any]:
    def ask(self: Live, other: Any) -> Any:
        if not isinstance(other, Live):
            self._remote_own()
        left, right = (other, self) if reflected else (self, other)
        result = self._remote_end.ask(operation, left, right)
        return self._remote_itself(result) if operation.startswith("i") else result

    return ask


def _comparing(operation: str) -> Callable[[Live, Any], Any]:
    def ask(self: Live, other: Any) -> Any:
        if other is None and operation in ("eq", "ne"):
            return operation == "ne"  # no object is None, whatever its class says
        if not (isinstance(other, Live) and self._remote_fresh and other._remote_fresh):  # noqa: SLF001
            return self._remote_no_value()
        return self._remote_end.truth(self._remote_ask(operation, other))

    return ask


for _name in ("len", "str", "repr", "int", "float", "complex", "index", "format", "next", "abs"):
    setattr(Live, f"__{_name}__", _one(_name))
for _name in ("neg", "invert", "reversed", "getitem", "setitem", "delitem"):
    setattr(Live, f"__{_name}__", _one(_name))
for _name in BINARY:
    setattr(Live, f"__{_name.rstrip('_')}__", _binary(_name, reflected=False))
    setattr(Live, f"__r{_name.rstrip('_')}__", _binary(_name, reflected=True))
for _name in COMPARING:
    setattr(Live, f"__{_name}__", _comparing(_name))


def mark_used(stand_in: Live) -> None:
    """It may have changed: from now on it is compared with nothing."""
    object.__setattr__(stand_in, "_remote_fresh", False)


class LiveClass(type):
    """A class of the solution: called it makes an object there."""

    _home: TestsEnd

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls._home.ask("call", cls, *args, **kwargs)
        if not isinstance(made, Live):
            return made
        # Another stand-in than the one that results of the solution get for the same object.
        known = made._remote_end, made._remote_number, made._remote_type_name  # noqa: SLF001
        return type.__call__(type(made), *known, True)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls._home.ask("get", cls, name)
