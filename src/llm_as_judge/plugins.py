"""Registries of what users add without changing this package, and the modules that fill them.

A plugin is a Python module. It is found by the key ``plugins`` of the configuration, or by an entry
point of the group ``llm_as_judge.plugins`` of an installed package. Importing it runs its
decorators, which fill the registries.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.metadata
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from llm_as_judge.errors import ConfigError, LlmAsJudgeError, UserError
from llm_as_judge.imported import OURS, imported_sources, sources_digest
from llm_as_judge.refused import dotted, wanted_of

ENTRY_POINTS = "llm_as_judge.plugins"


class Registered(Protocol):
    """What a registry holds."""

    @property
    def name(self) -> str: ...

    @property
    def defined(self) -> Callable[..., Any]:
        """The function or class behind it."""
        ...


T = TypeVar("T", bound=Registered)
Defined = TypeVar("Defined", bound=Callable[..., Any])
_registries: list[Registry[Any]] = []


class Registry(Generic[T]):
    """Things by name, in the order in which they were added.

    Args:
        kind: what it holds, for messages: ``reward part``.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._held: dict[str, T] = {}
        _registries.append(self)

    def add(self, thing: T) -> None:
        """
        Raises:
            ConfigError: another thing has this name.
        """
        known = self._held.get(thing.name)
        # The same one again: a module that was loaded anew, a cell that was run again.
        if known is not None and _place(known.defined) != _place(thing.defined):
            raise ConfigError(
                f"{self.kind} {thing.name!r} stands in {_place(known.defined)} and in "
                f"{_place(thing.defined)}; give one of them another name"
            )
        self._held[thing.name] = thing

    def all(self) -> Mapping[str, T]:
        """What it holds now."""
        return dict(self._held)

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def get(self, name: str) -> T:
        """
        Raises:
            ConfigError: there is none; says the nearest name.
        """
        if name not in self._held:
            raise ConfigError(
                no_such_name(f"{self.kind} {name!r}", name, self._held)
                + " (one of your own is known once `plugins` names its module)"
            )
        return self._held[name]

    __getitem__ = get

    def chosen(self, name: str, options: Mapping[str, Any], key: str) -> T:
        """What ``key`` of the configuration names, its options checked; makes nothing.

        Raises:
            ConfigError: there is none, or an option is not as wanted.
        """
        try:
            found = self.get(name)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from None
        if isinstance(found, Plugin):
            found.read_options(options)
        return found

    def adding(self, thing: Callable[[Defined], T]) -> Callable[[Defined], Defined]:
        """A decorator that adds ``thing`` of what it decorates, and leaves that as it is."""

        def register(defined: Defined) -> Defined:
            self.add(_callable(thing(defined)))
            return defined

        return register

    @contextmanager
    def with_also(self, things: Iterable[T]) -> Iterator[None]:
        """These things, too, until the block ends; what a module adds meanwhile stays, since it is imported once.

        Raises:
            ConfigError: another thing has one of their names, or one takes other arguments than its kind.
        """
        before: dict[str, T | None] = {}
        try:
            for thing in things:
                known = self._held.get(thing.name)
                self.add(_callable(thing))
                before.setdefault(thing.name, known)
            yield
        finally:
            for name, known in before.items():
                if known is None:
                    del self._held[name]
                else:
                    self._held[name] = known


def _callable(thing: T) -> T:
    if isinstance(thing, Plugin):
        thing.require_arguments()
    return thing


def _place(defined: Callable[..., Any]) -> str:
    return f"{defined.__module__}.{defined.__qualname__}"


def no_such_name(what: str, name: str, known: Iterable[str]) -> str:
    """One line: there is no ``what``, and which name may have been meant."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    meant = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names) or 'none'}"
    return f"no {what}; {meant}"


# ---------------------------------------------------------------------------------------- options
@dataclass(frozen=True, slots=True)
class Plugin:
    """A function or class under a name, which may take options of its own."""

    kind: ClassVar[str] = "plugin"
    """For messages: ``reward part``."""
    options_key: ClassVar[str] = ""
    """Where the configuration writes the options, for messages: ``reward.options.{name}``."""
    takes: ClassVar[tuple[str, ...]] = ("place",)
    """What it is given, without its options."""

    name: str
    defined: Callable[..., Any]
    """Takes what its kind is given, and its options after that where it has some."""
    options: type[Any] | None = None
    """Dataclass or pydantic model, every field with a default."""

    def require_arguments(self) -> None:
        """
        Raises:
            ConfigError: it takes others than it is given.
        """
        wanted = (*self.takes, *(["options"] if self.options is not None else []))
        found = inspect.signature(self.defined)
        try:
            found.bind(*wanted)
        except TypeError:
            raise ConfigError(
                f"{self.kind} {self.name!r}: takes {found.replace(return_annotation=found.empty)}, wanted "
                f"({', '.join(wanted)}) (docs/extending.md)"
            ) from None

    def read_options(self, given: Mapping[str, Any]) -> Any:
        """The options, checked; None if it has none.

        Raises:
            ConfigError: no such option, or a value that is not as wanted.
        """
        of, key = f"{self.kind} {self.name!r}", self.options_key.format(name=self.name)
        return read_options(self.options, given, of, key)

    def default_options(self) -> dict[str, Any]:
        """As the configuration writes them."""
        if self.options is None:
            return {}
        found: dict[str, Any] = TypeAdapter(self.options).dump_python(self.options(), mode="json")
        return found

    @property
    def place(self) -> str:
        """``FILE:LINE`` of its code; empty where that is not known."""
        code = getattr(self.defined, "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code else ""

    def call(self, *given: Any, options: Any) -> Any:
        """What ``defined`` returns for ``given``; ``options``: as :meth:`read_options` gave them."""
        return self.defined(*given) if self.options is None else self.defined(*given, options)

    def make(self, place: Any, options: Mapping[str, Any], key: str) -> Any:
        """What ``defined`` makes of ``place``, for ``key`` of the configuration.

        Raises:
            ConfigError: an option is wrong, or it failed.
        """
        chosen = self.read_options(options)
        with failing(f"{key}: {self.name}"):
            return self.call(place, options=chosen)

    def able(self, made: Any, method: str, key: str) -> Any:
        """``made``, which has a method such as ``grade(problem, answer)``.

        Raises:
            ConfigError: it has not.
        """
        if not callable(getattr(made, method.partition("(")[0], None)):
            raise ConfigError(
                f"{key}: {self.name}: found {made!r}, wanted a {self.kind} with {method}"
            )
        return made


@contextmanager
def failing(where: str, remedy: str = "", kind: type[UserError] = ConfigError) -> Iterator[None]:
    """A failure of code as one line; errors of this package go on as they are.

    Args:
        kind: of the error that is raised.
    Raises:
        UserError: ``where``, what failed in which line, ``remedy``.
    """
    try:
        yield
    except LlmAsJudgeError:
        raise
    except Exception as error:
        raise kind(f"{where}: {error_line(error)}{remedy and f'; {remedy}'}") from error


def read_options(
    kind: type[Any] | None,
    given: Mapping[str, Any],
    of: str,
    key: str = "",
) -> Any:
    """Options of a registered thing, checked; None if it has none.

    Args:
        kind: dataclass or pydantic model.
        of: whose they are, for messages: ``reward part 'brevity'``.
        key: where the configuration writes them, for messages: ``reward.options.brevity``.
    Raises:
        ConfigError: no such option, one is missing, or a value is not as wanted.
    """
    known = {} if kind is None else TypeAdapter(kind).json_schema().get("properties", {})
    for name in given:
        if name not in known:
            raise ConfigError(no_such_name(f"option {name!r} of {of}", name, known))
    if kind is None:
        return None
    try:
        return TypeAdapter(kind).validate_python(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        option = dotted(first["loc"])
        if first["type"] != "missing":
            said = f"found {first['input']!r}{wanted_of(first)}"
            raise ConfigError(f"option {option!r} of {of}: {said}") from None
        wanted = f"a value ({known.get(option, {}).get('type', 'of any type')})"
        where = f"{key}.{option}".lstrip(".")
        raise ConfigError(
            f"{where}: no value; {of} wants {wanted}; write it in the configuration file, or give "
            f"--set {where}=VALUE"
        ) from None


# ---------------------------------------------------------------------------------------- modules
_loaded: dict[str, ModuleType] = {}


def load_plugins(names: Iterable[str] = ()) -> None:
    """Import the plugins of installed packages and those named here, each once.

    A name is found as Python finds modules, and last in the current folder.

    Raises:
        ConfigError: a module is missing, or importing it failed: which one, why, what to do.
    """
    for module, package in _installed():
        _load(module, f"plugin {module} of the installed package {package}", "or uninstall it")
    for name in names:
        _load(name, f"plugins: {name}", "or take it out of `plugins`")


@functools.cache
def _installed() -> tuple[tuple[str, str], ...]:
    """(module, package) of each entry point."""
    return tuple(
        (point.module, point.dist.name if point.dist else "?")
        for point in importlib.metadata.entry_points(group=ENTRY_POINTS)
    )


def _load(name: str, where: str, otherwise: str) -> None:
    if name in _loaded:
        return
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # last: nothing here hides an installed module
    importlib.invalidate_caches()
    try:
        _loaded[name] = importlib.import_module(name)
    except UserError as error:  # of this package: a name that is taken, a wrong description
        raise ConfigError(f"{where}: {error}") from error
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and _is_part(error.name, name):
            raise ConfigError(
                f"{where}: no module {error.name!r}; put it into {here} or on PYTHONPATH, "
                f"{otherwise}"
            ) from None
        raise ConfigError(
            f"{where}: importing it failed: {error_line(error)}; mend it, {otherwise}"
        ) from error


def _is_part(missing: str | None, name: str) -> bool:
    """Whether the missing module is the plugin itself, not one that it needs."""
    return missing is not None and f"{name}.".startswith(f"{missing}.")


def error_line(error: Exception) -> str:
    """One line: its kind, what it says, and the line of code that raised it."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    said = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if traceback is None or isinstance(error, SyntaxError):  # which names file and line itself
        return said
    return f"{said} ({traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno})"


def plugin_facts() -> dict[str, str]:
    """SHA-256 of each module outside this package that adds something, by name: of its file and of
    what it imports of its own package. A notebook has no file: ``no source file``."""
    adding = {thing.defined.__module__ for held in _registries for thing in held.all().values()}
    modules = {*_loaded, *(name for name in adding if not f"{name}.".startswith(f"{OURS}."))}
    return {name: _digest(name) for name in sorted(modules)}


def _digest(module: str) -> str:
    try:
        return sources_digest(imported_sources([module], leaving_out=[OURS]))
    except ConfigError:
        return "no source file"
