"""Speed of the embedded executor on a training step's calls, by server settings.

Workload: every operator prompt (about 90 tokens) about every problem (about 120 tokens), two draws
each, all at once, as the programs of a few groups send them. Settings are run one after the other
and then again in reverse order; ratios are to the first one, within this run. Processor seconds of
the server are shown beside wall seconds: on a machine that others use too, they are the figure to
trust.

    python benchmarks/executor.py [--model qwen25-coder-0.5b] [--rounds 2] [--only default slots4]
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from llm_as_judge.config import OutputConfig, load_models
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.local import EmbeddedServer, ServerSettings
from llm_as_judge.llm.weights import fetch
from llm_as_judge.types import ChatRequest, Message

DEFAULT = ServerSettings()
SETTINGS = {
    "default": DEFAULT,
    "slots1": replace(DEFAULT, slots=1),
    "slots2": replace(DEFAULT, slots=2),
    "slots4": replace(DEFAULT, slots=4),
    "slots8": replace(DEFAULT, slots=8),
    "slots16": replace(DEFAULT, slots=16),
    "context1024": replace(DEFAULT, context_tokens=1024),
    "batch256": replace(DEFAULT, batch_tokens=256),
    "batch2048": replace(DEFAULT, batch_tokens=2048),
}
OPERATORS = (
    (
        "You answer questions. Think in at most three short steps, each on its own line, then give the "
        "final answer on a last line that starts with 'Answer:'. Do not repeat the question. Use plain "
        "numbers without units. If the question cannot be answered from what is given, write "
        "'Answer: unknown'. Never add anything after the answer line."
    ),
    (
        "You are a careful reviewer. Read the problem, solve it for yourself in one or two lines, and "
        "then say whether 42 is a right answer to it: write 'Verdict: yes' or 'Verdict: no' on a last "
        "line. Do not be polite, do not explain what a review is, and never write anything after the "
        "verdict line. Numbers are equal when their values are equal."
    ),
    (
        "You write a Python function solve() that takes no arguments and returns the answer of the "
        "problem as a string. Use only the standard library. Write the function alone, without example "
        "calls, prints or comments, inside one code block. Compute the answer step by step in variables "
        "with telling names, and return str of the last one."
    ),
)
PROBLEM = (
    "A shop sells {n} crates of apples a day. Every crate holds {m} apples, of which {k} are bruised "
    "and sold for half the price. A good apple costs 30 cents. The shop is open six days a week, "
    "pays 12 dollars of rent a day, and gives every tenth crate to a school for free. The owner "
    "wants to know how many dollars are left at the end of a week of {n} crates a day after the "
    "rent is paid, and how many more crates a day would double that sum."
)


def requests(problems: int, max_tokens: int) -> list[ChatRequest]:
    """Problem-major order, as groups arrive; draw 1 is a sampled second opinion."""
    return [
        ChatRequest(
            (Message("system", operator), Message("user", PROBLEM.format(n=n, m=n + 7, k=n % 5))),
            max_tokens=max_tokens,
            temperature=0.7,
            seed=11,
            draw=draw,
        )
        for n in range(20, 20 + problems)
        for operator in OPERATORS
        for draw in range(2)
    ]


async def answer_all(server: EmbeddedServer, batch: list[ChatRequest]) -> tuple[float, int, int]:
    """(seconds, prompt tokens, completion tokens)"""
    limits = EndpointLimits(timeout_s=300)
    async with OpenAIChat(
        server.model_name, server.base_url, api_key=server.api_key, limits=limits
    ).opened() as chat:
        warm = ChatRequest((Message("user", "hi"),), max_tokens=2)
        await chat.chat(warm)
        started = time.perf_counter()
        replies = await asyncio.gather(*(chat.chat(request) for request in batch))
        seconds = time.perf_counter() - started
    return (
        seconds,
        sum(reply.usage.prompt_tokens for reply in replies),
        sum(reply.usage.completion_tokens for reply in replies),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="qwen25-coder-0.5b")
    parser.add_argument("--problems", type=int, default=4)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=SETTINGS, default=list(SETTINGS))
    arguments = parser.parse_args()

    weights = fetch(load_models()[arguments.model], OutputConfig().cache_dir())
    batch = requests(arguments.problems, arguments.max_tokens)
    seconds = measure(weights, arguments.model, batch, arguments.only, arguments.rounds)
    base = seconds[arguments.only[0]]
    print(f"{arguments.model}, {len(batch)} requests at once, {arguments.max_tokens} tokens each")
    print(f"{'settings':<16} {'wall s':<16} {'ratio':>6}   {'processor s':<16} {'ratio':>6}")
    for name, runs in seconds.items():
        columns = []
        for axis in range(2):
            times = [run[axis] for run in runs]
            ratio = min(times) / min(run[axis] for run in base)
            columns.append(f"{' '.join(f'{t:.1f}' for t in times):<16} {ratio:6.2f}")
        print(f"{name:<16} {'   '.join(columns)}")


def processor_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(
    weights: Path, model: str, batch: list[ChatRequest], names: list[str], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """(wall, processor) seconds of each run; loading the weights counts only as processor time."""
    seconds: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            before = processor_seconds_of_children()
            with EmbeddedServer(weights, model, SETTINGS[name]) as server:
                taken, prompt, completion = asyncio.run(answer_all(server, batch))
            worked = processor_seconds_of_children() - before
            seconds[name].append((taken, worked))
            print(
                f"# {name}: {taken:.1f} s, processor {worked:.1f} s, {prompt} prompt and "
                f"{completion} completion tokens",
                flush=True,
            )
    return seconds


if __name__ == "__main__":
    main()
