"""models list, pull, probe: the weights of models.yaml, and what endpoints can do."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from rich.table import Table

from llm_as_judge.assembly.chat_models import embedded_weights, start_embedded
from llm_as_judge.cli.asking import Asked
from llm_as_judge.config import (
    Config,
    environment_key,
    find_model,
    known_model,
    load_endpoints,
    load_models,
)
from llm_as_judge.config.names import resolved_name
from llm_as_judge.errors import ConfigError
from llm_as_judge.llm.conformance import Conformance, examine
from llm_as_judge.llm.refusals import in_words
from llm_as_judge.llm.weights import fetch, installed
from llm_as_judge.views.console import console, note, say, say_json
from llm_as_judge.views.progress import Progress


def list_models(asked: Asked, *, as_json: bool) -> None:
    cache = asked.settings().output.cache_dir()
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
        say_json(rows)
        return
    table = Table("name", "MB", "license", "here", "description")
    for row in rows:
        megabytes, here = row["megabytes"] or "-", "yes" if row["path"] else "no"
        shown = (row["name"], megabytes, row["license"], here, row["description"])
        table.add_row(*map(str, shown))
    console.print(table)


def pull(asked: Asked, *, names: list[str] | None) -> None:
    settings = asked.settings()
    if not names:
        others = (one.model for one in settings.executors.values())
        used = [settings.policy.name, settings.executor.model, *others, settings.judge.model]
        if settings.experience.enabled:
            used.append(settings.experience.embedder)
        endpoints = load_endpoints()
        names = [n for n in dict.fromkeys(used) if n not in endpoints and find_model(n)]
    for name in names:
        entry = known_model(resolved_name(name), "models pull")
        with Progress() as view:
            path = fetch(entry, settings.output.cache_dir(), partial(view.show, unit="MB"))
        say(f"{name}: {path}")


def probe(
    asked: Asked, *, target: str, model: str | None, at_once: int, timeout: float, as_json: bool
) -> None:
    settings = asked.settings()

    async def job() -> Conformance:
        async with AsyncExitStack() as stack:
            where = await _target(stack, settings, target)
            return await examine(
                where.url,
                model or where.model,
                api_key=where.api_key,
                no_proxy=where.no_proxy,
                timeout_s=timeout,
                max_concurrency=at_once,
                told=lambda text: note(f"asking {text}"),
            )

    report = asyncio.run(job())
    if as_json:
        say_json([report.as_json()])
    else:
        console.print(probe_table(report))


@dataclass(frozen=True, slots=True)
class _Target:
    url: str
    model: str | None
    api_key: str
    no_proxy: bool | str = False


async def _target(stack: AsyncExitStack, settings: Config, target: str) -> _Target:
    """The server of ``target``; an embedded one is started for the probe."""
    if target.startswith(("http://", "https://")):
        return _Target(target, None, environment_key("OPENAI_API_KEY"))
    endpoints, target = load_endpoints(), resolved_name(target, served=True)
    if target in endpoints:
        found = endpoints[target]
        key, name = found.api_key.get_secret_value(), found.model_name or target
        return _Target(found.base_url, name, key, found.no_proxy)
    if embedded_weights(target):
        server = await start_embedded(stack, settings, target)
        return _Target(server.base_url, server.model_name, server.api_key)
    local = (name for name, entry in load_models().items() if entry.format == "gguf")
    raise ConfigError(
        f"models probe: no endpoint {target!r} (known: {', '.join((*endpoints, *local))}); "
        "or give a URL, http://HOST:PORT/v1"
    )


def probe_table(report: Conformance) -> Table:
    words = {True: "yes", False: "no", None: "could not be found out"}
    rates = ", ".join(f"{n} at once {rate:.0f}" for n, rate in report.tokens_per_s.items())
    lost = sum(report.failures.values())
    failed = f"{lost} of {report.attempts} ({in_words(report.failures)})" if lost else "none"
    title = f"{report.model} at {report.url}"
    table = Table("asked", "seen", title=title, box=None, title_justify="left")
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
        ("tokens a second", rates or "not known: replies failed"),
        ("enough requests at once", str(report.best_concurrency or "not known")),
        ("failed requests", failed),
    ):
        table.add_row(asked, seen)
    return table
