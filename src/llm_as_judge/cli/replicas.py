"""models replicas: the vLLM servers that write a run's programs: how they are, drain, back to work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from llm_as_judge.cli.options import ConfigOption, JsonOption, SetOption, console, settings_of
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, EndpointError


def replicas(
    config: ConfigOption = None,
    drain: Annotated[
        list[str] | None,
        typer.Option("--drain", help="Address that gets no new work; what it writes it ends."),
    ] = None,
    rejoin: Annotated[
        list[str] | None, typer.Option("--rejoin", help="Drained address that works again.")
    ] = None,
    as_json: JsonOption = False,
    set_: SetOption = None,
) -> None:
    """How the replicas of sampling.replicas are; a running training hears of a drain in seconds.

    Exit status 1 where none of them answers.
    """
    settings = settings_of(config, set_)
    if not settings.sampling.replicas:
        raise ConfigError(
            "sampling.replicas: none; give them by --config or "
            "--set sampling.backend=vllm --set sampling.replicas=[http://HOST:PORT/v1]"
        )
    from llm_as_judge.assembly import adapters_folder
    from llm_as_judge.policy.replica_health import drained, set_drained, status_of

    folder = adapters_folder(settings)
    out, back = _known(settings, drain or ()), _known(settings, rejoin or ())
    if both := sorted(out & back):
        raise ConfigError(f"{both[0]}: both --drain and --rejoin; give one of them")
    listed = set(drained(folder))
    if out or back:
        listed = (listed | out) - back
        set_drained(folder, sorted(listed))
    found = asyncio.run(status_of(settings.sampling.replicas, listed))
    if as_json:
        print(json.dumps(found))  # noqa: T201
    else:
        table = Table("replica", "state", "adapters")
        for row in found:
            table.add_row(row["replica"], row["state"], " ".join(row["adapters"]))
        console.print(table)
    if not any(row["answers"] for row in found):
        raise EndpointError(f"sampling.replicas: none of {len(found)} answers")


def _known(settings: Config, urls: Sequence[str]) -> set[str]:
    known = settings.sampling.replicas
    wanted = {url.rstrip("/"): url for url in urls}
    if unknown := next((url for name, url in wanted.items() if name not in known), None):
        raise ConfigError(f"{unknown}: none of sampling.replicas ({', '.join(known)})")
    return set(wanted)
