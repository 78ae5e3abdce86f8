"""Many rollouts in flight: throughput against latency / concurrency, memory and handles over time.

Everything is real but the executor: rollouts of ``RolloutRunner``, programs parsed and checked, run
in the jail, graded by rules. The executor answers after a time of its own (uniform, half to one and
a half of ``--latency``), and books what it answered. The anchor is what a machine of no cost would
take: mean latency of a rollout x rollouts / rollouts in flight.

    python benchmarks/in_flight.py --in-flight 1000 --rollouts 20000 --latency 90 --held    # half an hour
    python benchmarks/in_flight.py --scale 1,2,4 --in-flight 50 --rollouts 400 --latency 5
    python benchmarks/in_flight.py --backend ray --workers 4 ...      # a Ray of this machine

``--in-flight`` is of all workers together, with ``--scale`` of each worker (a local worker being so
many programs at once). Memory and handles are those of this process (the driver) and, with ray, of
the workers; the children of the jail are counted as processes.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from llm_as_judge.assembly import Workbench, open_workbench, policy_prompt, rollout_runner
from llm_as_judge.config import load_config
from llm_as_judge.llm.billing import Attempt
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.policy.stream import ready
from llm_as_judge.types import (
    ChatReply,
    ChatRequest,
    Completion,
    Problem,
    Prompt,
    SampleStream,
    Sampling,
    Usage,
)
from llm_as_judge.workers.pool import WorkerPool

BODY = """\
first = await answer_generate(input=problem)
again = await custom(input=problem, instruction="Check: " + first["answer"])
return again["response"]"""
CALLS = 2
PROBLEMS = [
    Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} plus 2000?", (str(n + 2000),))
    for n in range(500)
]


class SlowExecutor:
    """Answers after ``latency_s / CALLS``, half to one and a half of it; keeps nothing."""

    name = "simulated"

    def __init__(self, latency_s: float, ledger: Ledger) -> None:
        self._latency_s, self._ledger = latency_s, ledger
        self._seen = 0

    async def chat(self, request: ChatRequest) -> ChatReply:
        self._seen += 1
        digest = hashlib.sha256(f"{self._seen}".encode()).digest()
        seconds = self._latency_s / CALLS * (0.5 + digest[0] / 255)
        await asyncio.sleep(seconds)
        usage = Usage(100, 20)
        self._ledger.record_call("executor")
        self._ledger.record_attempt("executor", Attempt(usage, None, seconds))
        return ChatReply(rehearsed_reply(request), "stop", usage, seconds=seconds)


class OneProgram:
    """PolicySampler: always the same program."""

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        one = Completion((1,), (2,), (-0.5,), f"```python\n{BODY}\n```", "stop")
        return ready([[one] * sampling.samples for _ in prompts_P])


# -------------------------------------------------------------------------------------- what is held
@dataclass(slots=True)
class Held:
    """Memory and handles at one moment."""

    rollouts: int
    megabytes: float
    """Resident, of the driver."""
    handles: int
    worker_megabytes: float
    worker_handles: int


@dataclass(slots=True)
class Watch:
    """Looks at the driver and its workers."""

    workers: Sequence[int]
    held: list[Held] = field(default_factory=list)

    def look(self, rollouts: int) -> None:
        own = os.getpid()
        self.held.append(
            Held(
                rollouts,
                _megabytes(own),
                _handles(own),
                sum(map(_megabytes, self.workers)),
                sum(map(_handles, self.workers)),
            )
        )


def _megabytes(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _handles(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@contextmanager
def processor_seconds() -> Iterator[list[float]]:
    """Of this machine, all processes: busy seconds while inside."""
    found: list[float] = []
    before = _busy_s()
    yield found
    found.append(_busy_s() - before)


def _busy_s() -> float:
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq = map(int, fields[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


# --------------------------------------------------------------------------------------- one run
@dataclass(frozen=True, slots=True)
class Ran:
    seconds: float
    ideal_s: float
    rollouts: int
    busy_s: float
    driver_s: float
    """Processor seconds of this process."""


async def run(bench: Workbench, options: argparse.Namespace, in_flight: int, watch: Watch) -> Ran:
    """``options.rollouts`` rollouts, so many in flight all the time.

    Raises:
        RuntimeError: one did not end ok and graded, or a bill is missing.
    """
    executor = SlowExecutor(options.latency, bench.ledger)
    before = bench.ledger.total.attempts
    simulated = replace(bench, executor=executor)
    runner = rollout_runner(simulated, policy_prompt(bench.config), OneProgram())
    turns = asyncio.Semaphore(in_flight)
    done = 0
    gone_wrong: list[str] = []

    async def one(number: int) -> None:
        nonlocal done
        problem = PROBLEMS[number % len(PROBLEMS)]
        try:
            (group,) = await runner.groups([problem], Sampling(1, 1.0, 64, seed=number))
        finally:
            turns.release()
        (rollout,) = group.rollouts
        if rollout.failure or rollout.verdict is None or rollout.execution is None:
            gone_wrong.append(str(rollout.failure))
        elif rollout.execution.status != "ok":
            gone_wrong.append(rollout.execution.error)
        done += 1
        if done % max(1, options.rollouts // 20) == 0:
            bench.ledger.take_rollouts()  # as a run does after each step
            watch.look(done)

    tasks: set[asyncio.Task[None]] = set()
    began, driver_s = time.perf_counter(), time.process_time()
    with processor_seconds() as busy:
        for number in range(options.rollouts):
            await turns.acquire()
            task = asyncio.ensure_future(one(number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
        seconds, driver_s = time.perf_counter() - began, time.process_time() - driver_s
    attempts = bench.ledger.total.attempts - before
    if gone_wrong or attempts != CALLS * options.rollouts:
        raise RuntimeError(
            f"{len(gone_wrong)} of {options.rollouts} rollouts went wrong, {attempts} calls booked "
            f"of {CALLS * options.rollouts}: {gone_wrong[:3]}"
        )
    # The last ones run alone: a queue that ends is no fault of throughput, and counted as ideal.
    ideal = options.latency * options.rollouts / in_flight
    return Ran(seconds, ideal, options.rollouts, busy[0], driver_s)


async def measured(options: argparse.Namespace, workers: int, in_flight: int) -> Ran:
    ray = options.backend == "ray"
    # A little more room than is asked for: a place is free again a moment after its rollout ends.
    room = in_flight // workers if ray else in_flight
    flags = {
        "executor.model": "scripted",
        "judge.model": "none",
        "workflow.concurrency": room + max(2, room // 20),
        "workers.backend": options.backend,
        "workers.count": workers,
        "workers.cpus": 0.01,
    }
    async with open_workbench(load_config("embedded", flags=flags)) as bench:
        pids = []
        if isinstance(bench.work, WorkerPool):
            while bench.work.ready < workers:  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(0.1)
            pids = [facts.pid for facts in bench.work.facts]
        if options.warm_up:
            warm = argparse.Namespace(**{**vars(options), "rollouts": in_flight, "latency": 1.0})
            await run(bench, warm, in_flight, Watch(pids))
        watch = Watch(pids)
        watch.look(0)
        ran = await run(bench, options, in_flight, watch)
        if options.held:
            _print_held(watch.held)
        return ran


def _print_held(held: Sequence[Held]) -> None:
    print(f"{'rollouts':>9}{'driver MB':>11}{'handles':>9}{'workers MB':>12}{'handles':>9}")
    for one in held:
        print(
            f"{one.rollouts:9}{one.megabytes:11.0f}{one.handles:9}"
            f"{one.worker_megabytes:12.0f}{one.worker_handles:9}"
        )
    middle = held[len(held) // 4 : -1]  # full from the first quarter on; the last one has run dry
    first, last = middle[: len(middle) // 2], middle[len(middle) // 2 :]
    for name in ("megabytes", "handles", "worker_megabytes", "worker_handles"):
        early, late = (statistics.mean(getattr(h, name) for h in part) for part in (first, last))
        if early:
            print(f"{name}: second half against first {late / early:.3f}")


async def main(options: argparse.Namespace) -> None:
    counts = [int(n) for n in options.scale.split(",")] if options.scale else [options.workers]
    print(f"{options.backend}, executor of {options.latency:g} s a rollout ({CALLS} calls)")
    print(
        f"{'workers':>8}{'in flight':>11}{'rollouts':>10}{'seconds':>9}{'ideal':>8}"
        f"{'of ideal':>10}{'a second':>10}{'against 1':>11}{'driver ms':>11}"
        f"{'busy cores':>12}"
    )
    first = 0.0
    for workers in counts:
        in_flight = options.in_flight * (workers if options.scale else 1)
        ran = await measured(options, workers, in_flight)
        rate = ran.rollouts / ran.seconds
        first = first or rate
        print(
            f"{workers:8}{in_flight:11}{ran.rollouts:10}{ran.seconds:9.1f}{ran.ideal_s:8.1f}"
            f"{ran.seconds / ran.ideal_s:10.2f}{rate:10.1f}{rate / first:10.2f}x"
            f"{1000 * ran.driver_s / ran.rollouts:11.1f}"
            f"{ran.busy_s / ran.seconds:12.2f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=["local", "ray"], default="local")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--in-flight", type=int, default=200)
    parser.add_argument("--rollouts", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=5.0)
    parser.add_argument("--scale", help="numbers of workers, e.g. 1,2,4")
    parser.add_argument("--held", action="store_true", help="memory and handles over the run")
    parser.add_argument("--warm-up", action="store_true", help="fill all places once before")
    asyncio.run(main(parser.parse_args()))
