"""models list, pull, probe, replicas: the weights of models.yaml, and what endpoints can do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from llm_as_judge.cli.options import (
    ConfigOption,
    JsonOption,
    ModelOption,
    SetOption,
    console,
    note,
    progress_bar,
    say,
    settings_of,
)
from llm_as_judge.cli.verbs import verbs_of
from llm_as_judge.config import (
    Config,
    environment_key,
    find_model,
    known_model,
    load_config,
    load_endpoints,
    load_models,
)
from llm_as_judge.config.names import resolved_name
from llm_as_judge.errors import ConfigError, EndpointError

if TYPE_CHECKING:
    from llm_as_judge.llm.conformance import Conformance


models = verbs_of("models", "Model weights: list, pull. Endpoints: probe, replicas.")


@models.command("list", epilog="Example: llm-as-judge models list --json")
def list_models(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the entries of models.yaml and whether their weights are on this machine."""
    from llm_as_judge.llm.weights import installed

    cache = load_config(config).output.cache_dir()
    rows = [
        {
            "name": entry.name,
            "format": entry.format,
            "megabytes": round(entry.bytes / 1e6) if entry.bytes else None,
            "license": entry.license,
            "path": str(path) if (path := installed(entry, cache)) else None,
            "description": entry.description,
        }
        for entry in load_models().values()
    ]
    if as_json:
        print(json.dumps(rows))  # noqa: T201
        return
    table = Table()
    for heading in ("name", "MB", "license", "here", "description"):
        table.add_column(heading)
    for row in rows:
        here = "yes" if row["path"] else "no"
        table.add_row(
            str(row["name"]),
            "-" if row["megabytes"] is None else str(row["megabytes"]),
            str(row["license"]),
            here,
            str(row["description"]),
        )
    console.print(table)


@models.command(epilog="Example: llm-as-judge models pull smollm2-135m")
def pull(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Entries of models.yaml, or hub ids. Default: the models of the configuration."
        ),
    ] = None,
    config: ConfigOption = None,
    model: ModelOption = None,
) -> None:
    """Download weights into the cache, verified and resumable, from the first source that has them."""
    from llm_as_judge.llm.weights import fetch

    settings = load_config(config, model=model)
    if not names:
        others = (one.model for one in settings.executors.values())
        used = [settings.policy.name, settings.executor.model, *others, settings.judge.model]
        if settings.experience.enabled:
            used.append(settings.experience.embedder)
        endpoints = load_endpoints()
        names = [n for n in dict.fromkeys(used) if n not in endpoints and find_model(n)]
    for name in names:
        entry = known_model(resolved_name(name), "models pull")
        with progress_bar() as show:
            path = fetch(entry, settings.output.cache_dir(), show)
        say(f"{name}: {path}")


@models.command(epilog="Example: llm-as-judge models probe http://localhost:8002/v1")
def probe(
    target: Annotated[
        str,
        typer.Argument(help="URL that ends in /v1, or a name in aflow_llm.yaml or models.yaml."),
    ],
    model: Annotated[
        str | None, typer.Option("--model", help="Model to ask. Default: the first one served.")
    ] = None,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, help="Most requests sent at once.")
    ] = 16,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds one request may take.")] = 60,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find out what an endpoint can do, by a few dozen short requests (it may bill them)."""
    from llm_as_judge.llm.conformance import examine

    settings = load_config(config)

    async def job() -> list[Conformance]:
        async with AsyncExitStack() as stack:
            return [
                await examine(
                    where.url,
                    model or where.model,
                    api_key=where.api_key,
                    no_proxy=where.no_proxy,
                    timeout_s=timeout,
                    max_concurrency=at_once,
                    told=lambda text: note(f"asking {text}"),
                )
                for where in await _targets(stack, settings, target)
            ]

    reports = asyncio.run(job())
    if as_json:
        print(json.dumps([report.as_json() for report in reports]))  # noqa: T201
        return
    for report in reports:
        console.print(_probe_table(report))


@dataclass(frozen=True, slots=True)
class _Target:
    url: str
    model: str | None
    api_key: str
    no_proxy: bool | str = False


async def _targets(stack: AsyncExitStack, settings: Config, target: str) -> list[_Target]:
    """Every server of ``target``; an embedded one is started for the probe."""
    if target.startswith(("http://", "https://")):
        return [_Target(target, None, environment_key("OPENAI_API_KEY"))]
    endpoints, target = load_endpoints(), resolved_name(target, served=True)
    if target in endpoints:
        found = endpoints[target]
        key, name = found.api_key.get_secret_value(), found.model_name or target
        return [_Target(found.base_url, name, key, found.no_proxy)]
    from llm_as_judge.assembly.chat_models import embedded_weights, start_embedded

    if embedded_weights(target):
        server = await start_embedded(stack, settings, target)
        return [_Target(server.base_url, server.model_name, server.api_key)]
    local = (name for name, entry in load_models().items() if entry.format == "gguf")
    raise ConfigError(
        f"models probe: no endpoint {target!r} (known: {', '.join((*endpoints, *local))}); "
        "or give a URL, http://HOST:PORT/v1"
    )


def _probe_table(report: Conformance) -> Table:
    words = {True: "yes", False: "no", None: "could not be found out"}
    rates = ", ".join(f"{n} at once {rate:.0f}" for n, rate in report.tokens_per_s.items())
    table = Table(title=f"{report.model} at {report.url}", box=None, title_justify="left")
    table.add_column("asked")
    table.add_column("seen")
    for asked, seen in (
        ("models served", ", ".join(report.served) or "it has no list"),
        ("readable replies", f"{report.readable or 'none'} of {report.asked}"),
        ("empty replies", f"{report.empty_fraction:.0%} of {report.asked}"),
        ("says the tokens used", words[report.usage]),
        ("equal seed, equal reply", words[report.seed]),
        ("other seed, other reply", words[report.seeds_differ]),
        ("follows a JSON schema", words[report.json_schema]),
        ("log-probs", words[report.logprobs] + report.logprobs_to_write),
        ("token ids", words[report.token_ids]),
        ("several draws a request", words[report.several_draws]),
        ("tokens a second", rates or "every try failed"),
        ("enough requests at once", str(report.best_concurrency)),
        ("failed tries", ", ".join(f"{k} {n}" for k, n in report.failures.items()) or "none"),
    ):
        table.add_row(asked, seen)
    return table


# ---------------------------------------------------------------------------------------- replicas


@models.command(epilog="Example: llm-as-judge models replicas --drain http://10.0.0.7:8010/v1")
def replicas(
    config: ConfigOption = None,
    drain: Annotated[
        list[str] | None,
        typer.Option("--drain", help="Address that gets no new work; it finishes what it has."),
    ] = None,
    rejoin: Annotated[
        list[str] | None, typer.Option("--rejoin", help="Drained address that gets work again.")
    ] = None,
    as_json: JsonOption = False,
    set_: SetOption = None,
) -> None:
    """Show the state of the servers in sampling.replicas, or drain one.

    A running training follows within seconds. Exit status 1 if no replica answers.
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
