"""models replicas: the servers that write programs, drained and put back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rich.table import Table

from llm_as_judge.assembly import adapters_folder
from llm_as_judge.cli.asking import Asked
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, EndpointError
from llm_as_judge.policy.replica_health import drained, set_drained, status_of
from llm_as_judge.views.console import console, say_json


def replicas(
    asked: Asked, *, drain: list[str] | None, rejoin: list[str] | None, as_json: bool
) -> None:
    settings = asked.settings()
    if not settings.sampling.replicas:
        raise ConfigError(
            "sampling.replicas: none; give them by --config or "
            "--set sampling.backend=vllm --set sampling.replicas=[http://HOST:PORT/v1]"
        )

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
        say_json(found)
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
