"""Cost of a sandboxed run, beside the cost of starting an interpreter.

The anchor is ``python -I -S -c pass``, spawned in turn with the runs that are measured, so that a
busy machine slows both; each figure is printed with its ratio to the anchor. The throughput part
starts 256 workflows of five operator calls that take 0.5 s each: ideal is 2.5 s. The first such burst
forks its children; the next ones find as many ready as ran at once before, as all steps of a training
run do (it says at the start what it expects). Spawning an interpreter for each (mechanism ``subprocess``) is the other side.

    python benchmarks/sandbox.py [--mechanism jail] [--rounds 200] [--bursts 3] [--soak 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.sandbox.interpreter import host_interpreter
from llm_as_judge.types import Json, RunLimits, Sandbox

LIMITS = RunLimits()
WORKFLOW = """
class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.generate = operator.AnswerGenerate(create_llm_instance(llm_config))

    async def __call__(self, problem):
        answer = "none"
        for _ in range({calls}):
            answer = (await self.generate(input=problem))["answer"]
        return answer, 0.0
"""
CONCURRENT, CALLS, CALL_S = 256, 5, 0.5
REFILLED_S = 10.0
"""Until 256 children wait for the next burst; a step of training takes longer."""


async def at_once(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
    return {"answer": "42"}


async def half_a_second(name: str, args: list[Json], kwargs: dict[str, Json]) -> Json:
    await asyncio.sleep(CALL_S)
    return {"answer": "42"}


async def spawn() -> None:
    command = (str(host_interpreter().executable), "-I", "-S", "-c", "pass")
    process = await asyncio.create_subprocess_exec(*command)
    await process.wait()


def runs(sandbox: Sandbox) -> dict[str, Callable[[], Awaitable[object]]]:
    empty, seven = WORKFLOW.format(calls=0), WORKFLOW.format(calls=7)
    problem: dict[str, Json] = {"problem": "p"}
    solution, tests = "def f(x): return x", ("assert f(1) == 1",)
    algebra = "import sympy\ndef f(): return sympy.Integer(1)"
    return {
        "spawn python (anchor)": spawn,
        "function": lambda: sandbox.run_function("def f(): return 1", "f", [], LIMITS),
        "function with sympy": lambda: sandbox.run_function(algebra, "f", [], LIMITS),
        "empty workflow": lambda: sandbox.run_workflow(empty, problem, at_once, LIMITS),
        "workflow, 7 calls": lambda: sandbox.run_workflow(seven, problem, at_once, LIMITS),
        "split grader, 1 test": lambda: sandbox.run_tests(solution, "f", tests, LIMITS),
    }


async def latency(sandbox: Sandbox, rounds: int) -> None:
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, run in runs(sandbox).items():
            started = time.perf_counter()
            await run()
            seconds.setdefault(name, []).append(time.perf_counter() - started)
    anchor = statistics.median(next(iter(seconds.values())))
    print(f"{'one at a time':24} {'best':>8} {'p50':>8} {'p95':>8}  of anchor")
    for name, values in seconds.items():
        values.sort()
        middle = statistics.median(values)
        figures = (values[0], middle, values[int(0.95 * len(values))])
        text = " ".join(f"{1000 * value:5.2f} ms" for value in figures)
        print(f"{name:24} {text}  {middle / anchor:.2f}")


async def throughput(sandbox: Sandbox, bursts: int) -> None:
    source = WORKFLOW.format(calls=CALLS)
    ideal = CALLS * CALL_S
    for number in range(bursts):
        before, started = time.process_time(), time.perf_counter()
        results = await asyncio.gather(
            *(
                sandbox.run_workflow(source, {"problem": "p"}, half_a_second, LIMITS)
                for _ in range(CONCURRENT)
            )
        )
        seconds = time.perf_counter() - started
        host_ms = 1e3 * (time.process_time() - before) / CONCURRENT
        failed = sum(result.status != "ok" for result in results)
        which = "cold" if number == 0 else "children ready"
        print(
            f"{CONCURRENT} at once, {which}: {seconds:.2f} s, {seconds / ideal:.2f} of ideal, "
            f"host {host_ms:.1f} ms of processor a run, {failed} failed; {_held()}",
            flush=True,
        )
        if number + 1 < bursts:
            await asyncio.sleep(REFILLED_S)


async def soak(sandbox: Sandbox, count: int) -> None:
    async def some(number: int) -> None:
        for _ in range(number):
            await sandbox.run_function("def f(): return 1", "f", [], LIMITS)

    await some(200)
    await asyncio.sleep(REFILLED_S)
    before = _held()
    started = time.perf_counter()
    await asyncio.gather(*(some(count // 8) for _ in range(8)))
    rate = count / (time.perf_counter() - started)
    await asyncio.sleep(1.0)  # the last children end and spare ones replace them
    print(f"{count} runs: {rate:.0f} a second; before {before}; after {_held()}")


def _held() -> str:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    resident = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    files = sum(1 for _ in Path("/proc/self/fd").iterdir())
    jailed = [pid for pid in _descendants() if Path(f"/proc/{pid}/smaps_rollup").exists()]
    private = sum(_private_kib(pid) for pid in jailed)
    return f"{resident} KiB, {files} files, {len(jailed)} processes with {private} KiB of their own"


def _descendants() -> list[int]:
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
    found, level = [], [int(Path("/proc/self").resolve().name)]
    while level:
        level = [pid for pid, parent in parents.items() if parent in level]
        found += level
    return found


def _private_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mechanism", default="auto")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--bursts", type=int, default=3, help="of 256 workflows at once")
    parser.add_argument("--soak", type=int, default=0, help="runs to watch for growth")
    options = parser.parse_args()
    sandbox = await open_sandbox(options.mechanism, ["AnswerGenerate"], CONCURRENT)
    print(f"mechanism {sandbox.isolation.mechanism}, load average {os.getloadavg()[0]:.1f}")
    await latency(sandbox, options.rounds)
    await throughput(sandbox, options.bursts)
    if options.soak:
        await soak(sandbox, options.soak)
    await sandbox.aclose()


if __name__ == "__main__":
    asyncio.run(main())
