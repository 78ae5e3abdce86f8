"""Verbs and options as ``verbs.yaml`` lists them, and the command line that is built of them.

A verb's module is imported when the verb is called: ``--help`` loads none of them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

_NUMBERS: Mapping[str, str] = {"int": "<int>", "float": "<float>"}
_KINDS: Mapping[str, type] = {"text": str, "int": int, "float": float, "bool": bool, "path": Path}


@dataclass(frozen=True, slots=True)
class Option:
    """One option or positional argument of a verb."""

    name: str
    """Of the parameter that the verb's function has for it."""
    help: str
    type: str = "text"
    flags: str = ""
    """With blanks between them; empty: two dashes and the name."""
    argument: bool = False
    key: str = ""
    """Key of the configuration that it sets, or config, model or overrides (``--set``). The verb's
    function does not get it: it is part of the configuration that the function is given."""
    default: Any = None
    required: bool = False
    many: bool = False
    metavar: str | None = None
    least: float | None = None
    most: float | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Its flags; a positional argument has none."""
        if self.argument:
            return ()
        return tuple(self.flags.split()) or (f"--{self.name.replace('_', '-')}",)

    @property
    def annotation(self) -> Any:
        """The type of the function's parameter."""
        kind: Any = _KINDS[self.type]
        if self.many:
            kind = list[kind]
        return kind if self.required or self._default is not None else kind | None

    @property
    def _default(self) -> Any:
        if self.default is None:
            return False if self.type == "bool" else None
        return _KINDS[self.type](self.default)

    def _number(self, given: Any) -> Any:
        """typer's own refusals leave out what was found."""
        wanted = {"int": "a whole number", "float": "a number"}[self.type]
        least = -math.inf if self.least is None else self.least
        most = math.inf if self.most is None else self.most
        if math.isfinite(least):
            wanted += f" from {least:g}" + (f" to {most:g}" if math.isfinite(most) else " on")
        try:
            number = _KINDS[self.type](given)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise typer.BadParameter(f"found {given!r}, wanted {wanted}")
        return number

    def parameter(self) -> Parameter:
        """As typer reads it."""
        shown: dict[str, Any] = {"help": self.help, "metavar": self.metavar}
        if self.type in ("int", "float"):
            shown |= {"parser": self._number, "metavar": self.metavar or _NUMBERS[self.type]}
        info = typer.Argument(**shown) if self.argument else typer.Option(*self.words, **shown)
        return Parameter(
            self.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if self.required else self._default,
            annotation=Annotated[self.annotation, info],
        )


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb, or one of a group (``data process``)."""

    name: str
    function: str
    """``module:function`` of this package. It takes the configuration as an ``Asked`` where an option
    sets a key, and the other options by name."""
    help: str
    epilog: str
    options: Sequence[Option]

    def load(self) -> Callable[..., None]:
        """The function; imports its module."""
        module, _, function = self.function.partition(":")
        found: Callable[..., None] = getattr(
            importlib.import_module(f"llm_as_judge.cli.{module}"), function
        )
        return found

    def __call__(self, **given: Any) -> None:
        keyed = {one.key: given.pop(one.name) for one in self.options if one.key}
        if not keyed:
            return self.load()(**given)
        from llm_as_judge.cli.asking import Asked

        return self.load()(Asked.of(keyed), **given)

    def command(self) -> Callable[..., None]:
        """The verb as typer wants it: a function with these parameters."""

        def called(**given: Any) -> None:
            self(**given)

        parameters = [one.parameter() for one in self.options]
        called.__name__, called.__doc__ = self.name.split()[-1], self.help
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return called


class _InOrder(typer.core.TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        """Commands and groups as the panels mix them; typer would put all groups last."""
        return [verb for verbs in PANELS.values() for verb in verbs]


def _read() -> tuple[Mapping[str, Any], dict[str, Verb]]:
    text = Path(__file__).with_name("verbs.yaml").read_text(encoding="utf-8")
    table = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    shared = {name: Option(name, **body) for name, body in table["shared"].items()}
    verbs = {}
    for name, body in table["verbs"].items():
        options: list[Option] = []
        for entry in body.pop("options"):
            if isinstance(entry, str):
                options += [shared[word] for word in entry.split()]
            else:
                options += [Option(own, **keys) for own, keys in entry.items()]
        verbs[name] = Verb(name, **body, options=options)
    return table, verbs


_table, VERBS = _read()
PANELS: Mapping[str, Sequence[str]] = _table["panels"]
"""Heading of ``--help`` -> the verbs and groups below it."""
app = typer.Typer(
    name="llm-as-judge",
    cls=_InOrder,
    help=_table["program"],
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _build() -> None:
    panel_of = {verb: panel for panel, verbs in PANELS.items() for verb in verbs}
    groups = {}
    for name, said in _table["groups"].items():
        groups[name] = typer.Typer(no_args_is_help=True, help=said)
        app.add_typer(groups[name], name=name, rich_help_panel=panel_of[name])
    for verb in VERBS.values():
        *above, last = verb.name.split()
        to, panel = (groups[above[0]], None) if above else (app, panel_of[last])
        to.command(last, epilog=verb.epilog, rich_help_panel=panel)(verb.command())


_build()


def verb_of(words: Sequence[str]) -> Verb | None:
    """The verb that a command line begins with."""
    return VERBS.get(" ".join(words[:2])) or VERBS.get(" ".join(words[:1]))
