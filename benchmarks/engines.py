"""Engines for the embedded executor: written tokens per second, and per processor second.

    python benchmarks/engines.py [--model qwen25-coder-0.5b] [--rounds 2] [--tokens 200] [--at-once 1 8 16]
    python -m pip install 'xllamacpp>=2026.10'     # for the engines that are not installed with us

Every engine serves the same prompts of our own over HTTP from a child process, one engine after the
other and then in reverse order; ratios are to the first engine, within this run. Beside requests at
once there are draws: ``--draws`` replies to one prompt, asked with ``n``. Processor seconds are the
child's, and the figure to trust on a machine that others use too: a thread that spins while it waits
spends them on nothing.

xllamacpp is llama.cpp's server: ``xllamacpp`` as a plain start has it, with OpenMP's threads
waiting passively; ``-1-thread``; ``-no-poll``, with llama.cpp's own wait turned off. llama-cpp-python is
left out: as a source package it needs a compiler and minutes, which an install must not ask for.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from llm_as_judge.config import OutputConfig, load_models
from llm_as_judge.llm import local_server
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.local import EmbeddedServer, ServerSettings
from llm_as_judge.llm.weights import fetch
from llm_as_judge.types import ChatRequest, Message

OTHERS: dict[str, dict[str, int]] = {
    "xllamacpp": {},
    "xllamacpp-1-thread": {"threads": 1},
    "xllamacpp-no-poll": {"poll": 0},
}
ENGINES = ("xllamacpp", "openvino", "xllamacpp-1-thread", "xllamacpp-no-poll")
ASK = (
    "A shop sells {n} crates of apples a day. Every crate holds {m} apples, of which {k} are bruised and "
    "sold for half the price; a good one costs 30 cents. The shop pays 12 dollars of rent a day. How "
    "many dollars are left after a week of six days?\n\nSolve it step by step; show each step with its "
    "result. End with a line 'Answer: ' and the number alone."
)


@dataclass(frozen=True, slots=True)
class Seen:
    """Of one load."""

    wall_s: float
    processor_s: float
    written: int


def request(number: int, tokens: int) -> ChatRequest:
    text = ASK.format(n=20 + number, m=31 + 7 * number, k=number % 5)
    return ChatRequest((Message("user", text),), max_tokens=tokens, temperature=0.7, seed=number)


def processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


async def load(server: EmbeddedServer, options: argparse.Namespace) -> dict[str, Seen]:
    assert server.pid is not None
    limits = EndpointLimits(timeout_s=900)
    seen: dict[str, Seen] = {}
    async with OpenAIChat(
        "m", server.base_url, api_key=server.api_key, limits=limits
    ).opened() as chat:

        async def one(name: str, asking: Any) -> None:
            wall, used = time.perf_counter(), processor_s(server.pid or 0)
            replies = await asking
            seen[name] = Seen(
                time.perf_counter() - wall,
                processor_s(server.pid or 0) - used,
                sum(reply.usage.completion_tokens for reply in replies),
            )

        for at_once in options.at_once:  # prompts of no earlier load
            asked = [request(1000 * at_once + n, options.tokens) for n in range(at_once)]
            await one(f"{at_once} at once", asyncio.gather(*map(chat.chat, asked)))
        if options.draws > 1:
            known = await chat.known_draws()
            if known.most >= options.draws:
                draws = chat.draws(request(7, options.tokens), options.draws)
                await one(f"{options.draws} draws", draws)
    return seen


def measure(engine: str, weights: Path, options: argparse.Namespace) -> dict[str, Any]:
    settings = ServerSettings(slots=max(*options.at_once, options.draws), context_tokens=1024)
    command = [sys.executable, "-m", "llm_as_judge.llm.local_server"]
    if engine in OTHERS:
        settings = replace(settings, threads=OTHERS[engine].get("threads", 0))
        command = [sys.executable, __file__, "--serve", engine]
    started = time.perf_counter()
    with EmbeddedServer(weights, "m", settings, command=command, start_timeout_s=600) as server:
        assert server.pid is not None
        loaded = time.perf_counter() - started
        used = processor_s(server.pid)
        seen = asyncio.run(load(server, options))
        memory = resident_mib(server.pid)
    print(f"# {engine}: loaded in {loaded:.1f} s, {memory} MiB, {seen}", flush=True)
    return {"load_s": loaded, "load_processor_s": used, "mib": memory, "seen": seen}


def table(found: dict[str, list[dict[str, Any]]], loads: Sequence[str]) -> None:
    print(
        "| engine | load | tok/s | tok per processor s | against the first | MiB | to load, s (processor s) |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    first = next(iter(found))
    for name in loads:
        for engine, runs in found.items():
            if any(name not in run["seen"] for run in runs):
                print(f"| {engine} | {name} | takes no `n` in time | | | | |")
                continue
            rate = _rate(runs, name, "processor_s")
            print(
                f"| {engine} | {name} | {_rate(runs, name, 'wall_s'):.1f} | {rate:.1f} | "
                f"x {rate / _rate(found[first], name, 'processor_s'):.2f} | "
                f"{max(run['mib'] for run in runs)} | "
                f"{statistics.median(run['load_s'] for run in runs):.0f} "
                f"({statistics.median(run['load_processor_s'] for run in runs):.0f}) |"
            )


def _rate(runs: list[dict[str, Any]], name: str, per: Literal["wall_s", "processor_s"]) -> float:
    seen: list[Seen] = [run["seen"][name] for run in runs]
    return sum(one.written for one in seen) / sum(
        one.wall_s if per == "wall_s" else one.processor_s for one in seen
    )


# ------------------------------------------------------------------------------------ other engines
def serve_llama_cpp(engine: str) -> None:
    """The child process with llama.cpp's server in the place of ours; its life is the same."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

    def serve(settings: dict[str, Any]) -> Any:
        from xllamacpp import CommonParams, Server

        params = CommonParams()
        params.model.path = settings["weights"]
        params.model_alias = {settings["model_name"]}
        params.api_keys = [settings["api_key"]]
        params.hostnames = ["127.0.0.1"]
        params.port = settings["port"]
        params.ui = False
        params.n_parallel = settings["slots"]
        params.n_ctx = settings["slots"] * settings["context_tokens"]
        params.n_threads_http = settings["slots"] + 4
        params.fit_params = False
        for threads in (params.cpuparams, params.cpuparams_batch):
            threads.n_threads = settings["threads"]
            if "poll" in OTHERS[engine]:
                threads.poll = OTHERS[engine]["poll"]
        return Server(params)

    local_server._serve = serve  # noqa: SLF001  everything else about the child stays
    local_server.main()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", default="qwen25-coder-0.5b")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 8, 16])
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--serve", choices=OTHERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve_llama_cpp(options.serve)
        return
    weights = fetch(load_models()[options.model], OutputConfig().cache_dir())
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for number in range(options.rounds):
        for engine in options.engines if number % 2 == 0 else reversed(options.engines):
            found[engine].append(measure(engine, weights, options))
    print(f"{options.model}, {options.tokens} written tokens at most, {options.rounds} rounds")
    table(
        {engine: found[engine] for engine in options.engines},
        list(found[options.engines[0]][0]["seen"]),
    )


if __name__ == "__main__":
    main()
