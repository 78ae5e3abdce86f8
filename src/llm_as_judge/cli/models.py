"""models list, models pull: the weights of models.yaml."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from llm_as_judge.cli.options import (
    ConfigOption,
    JsonOption,
    ModelOption,
    console,
    progress_bar,
)
from llm_as_judge.config import load_config, load_models
from llm_as_judge.errors import ConfigError

models = typer.Typer(no_args_is_help=True, help="Weights: list and pull.")


def register(app: typer.Typer) -> None:
    app.add_typer(models, name="models")


@models.command("list", epilog="Example: llm-as-judge models list --json")
def list_models(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Every entry of models.yaml and whether its weights are on this machine."""
    from llm_as_judge.llm.weights import installed

    cache = load_config(config).output.cache_dir()
    rows = [
        {
            "name": entry.name,
            "format": entry.format,
            "megabytes": round((entry.bytes or 0) / 1e6),
            "licence": entry.licence,
            "path": str(path) if (path := installed(entry, cache)) else None,
            "description": entry.description,
        }
        for entry in load_models().values()
    ]
    if as_json:
        print(json.dumps(rows))  # noqa: T201
        return
    table = Table()
    for heading in ("name", "MB", "licence", "here", "description"):
        table.add_column(heading)
    for row in rows:
        here = "yes" if row["path"] else "no"
        table.add_row(
            str(row["name"]),
            str(row["megabytes"]),
            str(row["licence"]),
            here,
            str(row["description"]),
        )
    console.print(table)


@models.command(epilog="Example: llm-as-judge models pull smollm2-135m")
def pull(
    names: Annotated[
        list[str] | None, typer.Argument(help="Entries; default: those the configuration uses.")
    ] = None,
    config: ConfigOption = None,
    model: ModelOption = None,
) -> None:
    """Fetch weights into the cache: verified, resumable, from the first source that has them."""
    from llm_as_judge.llm.weights import fetch

    settings, entries = load_config(config, model=model), load_models()
    if not names:
        used = [settings.policy.name, settings.executor.model, settings.judge.model]
        if settings.experience.enabled:
            used.append(settings.experience.embedder)
        names = [name for name in dict.fromkeys(used) if name in entries]
    for name in names:
        if name not in entries:
            raise ConfigError(f"no model {name!r} in models.yaml (known: {', '.join(entries)})")
        with progress_bar() as show:
            path = fetch(entries[name], settings.output.cache_dir(), show)
        console.print(f"{name}: {path}", highlight=False)
