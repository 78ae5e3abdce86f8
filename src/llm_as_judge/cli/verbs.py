"""The program and its verbs: each stands beside its function, in the file of its job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import typer

Function = TypeVar("Function", bound=Callable[..., Any])

VERBS = {
    "Start here": ("quickstart", "init"),
    "Data and weights": ("data", "models", "pool"),
    "Training": ("train", "monitor", "report"),
    "Evaluation": ("evaluate", "compare", "search", "headroom"),
    "Use": ("solve", "serve", "export"),
    "Single steps": ("check", "run", "grade", "judge"),
}
"""The verbs as ``--help`` shows them: by what a person is about to do, in the order of doing it."""


class _InOrder(typer.core.TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        """Commands and groups as ``VERBS`` mixes them; typer would put all groups last."""
        return [verb for verbs in VERBS.values() for verb in verbs]


app = typer.Typer(
    name="llm-as-judge",
    cls=_InOrder,
    help="Train a small language model, the policy, to write agent workflows. A larger model, the executor, "
    "answers the calls in them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


_GROUPS = {verb: name for name, verbs in VERBS.items() for verb in verbs}


def verb(epilog: str) -> Callable[[Function], Function]:
    """Makes a function the verb of its name."""

    def add(function: Function) -> Function:
        panel = _GROUPS[function.__name__]
        app.command(epilog=epilog, rich_help_panel=panel)(function)
        return function

    return add


def verbs_of(name: str, description: str) -> typer.Typer:
    """The group of verbs called ``name``; each is a command of what is returned."""
    group = typer.Typer(no_args_is_help=True, help=description)
    app.add_typer(group, name=name, rich_help_panel=_GROUPS[name])
    return group
