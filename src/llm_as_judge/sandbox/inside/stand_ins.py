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
from typing import Any, Protocol

from .crossing import BINARY, COMPARING, VALUE_METHODS
from .testing import Changing, UncrossableError, Watch


class Asking(Protocol):
    """Has things done in the solution's process: :class:`.remote.TestsEnd`."""

    watch: Watch

    def ask(
        self,
        operation: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        in_place: bool = False,
    ) -> Any: ...

    def truth(self, value: Any) -> bool: ...


class Held:
    """An object that stayed in the solution's process: it can be handed back, nothing else.

    To compare it or to ask for its truth is an error, so that neither ``==`` nor ``!=`` holds.
    """

    __slots__ = ("_end", "_number", "_type_name")
    _end: Asking
    _number: int
    _type_name: str

    def __init__(self, end: Asking, number: int, type_name: str) -> None:
        for name, value in zip(Held.__slots__, (end, number, type_name), strict=True):
            object.__setattr__(self, name, value)

    def _no_value(self, *_: Any) -> Any:
        what = "a function of the solution" if isinstance(self, Function) else (
            f"an object of the solution's class {self._type_name}"
        )  # fmt: skip
        raise self._end.watch.raised(UncrossableError(f"{what} stands where a value is wanted"))

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _no_value
    __hash__ = object.__hash__


class Function(Held, Changing):
    """A callable of the solution's process."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._end.ask("call", self, args, kwargs)

    def in_place(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it; what it changed in its arguments is changed here, too."""
        return self._end.ask("call", self, args, kwargs, in_place=True)


class Named(Changing):
    """A function that the solution defines by name."""

    def __init__(self, end: Asking, name: str) -> None:
        self._end = end
        self.__name__ = self.__qualname__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._end.ask("get", self, (name,), {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._end.ask("call", self, args, kwargs)

    def in_place(self, *args: Any, **kwargs: Any) -> Any:
        """See :meth:`Function.in_place`."""
        return self._end.ask("call", self, args, kwargs, in_place=True)


class Live(Held):
    """An object of a class that the tests name.

    Args:
        made: the tests made it themselves.
    """

    __slots__ = ("_fresh", "_made")
    _made: bool
    _fresh: bool
    """Made by the tests, and not used since then."""

    def __init__(self, end: Asking, number: int, type_name: str, made: bool = False) -> None:
        super().__init__(end, number, type_name)
        object.__setattr__(self, "_made", made)
        object.__setattr__(self, "_fresh", made)

    def made_by_the_tests(self) -> Live:
        """Another stand-in for the same object; a result of the solution never becomes one."""
        return type.__call__(type(self), self._end, self._number, self._type_name, True)  # type: ignore[no-any-return]

    def used(self) -> None:
        """It may have changed: from now on it is compared with nothing."""
        object.__setattr__(self, "_fresh", False)

    def _itself(self, result: Any) -> Any:
        """``result``, or this stand-in where it is of the same object."""
        same = isinstance(result, Live) and result._number == self._number  # noqa: SLF001
        return self if same else result

    def _ask(self, operation: str, *args: Any) -> Any:
        return self._end.ask(operation, self, args, {})

    def _own(self) -> None:
        if not self._made:
            self._no_value()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name in VALUE_METHODS:
            self._own()
        return self._ask("get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask("set", name, value)

    def __delattr__(self, name: str) -> None:
        self._ask("del", name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._end.ask("call", self, args, kwargs)

    def __iter__(self) -> Any:
        items = self._ask("listed")
        return self if items is None else items

    def __contains__(self, item: Any) -> Any:
        self._own()
        return self._end.truth(self._ask("contains", item))

    def __bool__(self) -> bool:
        return self._end.truth(self._ask("bool"))

    def __enter__(self) -> Any:
        return self._itself(self._ask("enter"))

    def __exit__(self, *_: Any) -> None:
        self._ask("exit")

    def __round__(self, digits: int | None = None) -> Any:
        return self._ask("round", *([] if digits is None else [digits]))


def _one(operation: str) -> Callable[..., Any]:
    def ask(self: Live, *args: Any) -> Any:
        return self._ask(operation, *args)

    return ask


def _binary(operation: str, reflected: bool) -> Callable[[Live, Any], Any]:
    def ask(self: Live, other: Any) -> Any:
        if not isinstance(other, Live):
            self._own()
        left, right = (other, self) if reflected else (self, other)
        result = self._end.ask(operation, left, (right,), {})
        return self._itself(result) if operation.startswith("i") else result

    return ask


def _comparing(operation: str) -> Callable[[Live, Any], Any]:
    def ask(self: Live, other: Any) -> Any:
        if not (isinstance(other, Live) and self._fresh and other._fresh):  # noqa: SLF001
            self._no_value()
        return self._end.truth(self._ask(operation, other))

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


class LiveClass(type):
    """A class of the solution: called it makes an object there."""

    _home: Asking

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls._home.ask("call", cls, args, kwargs)
        return made.made_by_the_tests() if isinstance(made, Live) else made

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls._home.ask("get", cls, (name,), {})
