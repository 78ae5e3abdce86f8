"""Time of a training step with S = 0, 1, 2 against strictly in turn: what overlapping is worth.

The schedule is the trainer's own (``RolloutRunner``, ``Pipeline``). Sampling and the update are
waits of a fixed length in a thread, executor calls are ``asyncio.sleep`` of uneven length (2-60 s,
log-normal, scaled down), so the figures are those of the schedule, whatever the machine is busy
with. The anchor does everything in turn: no program runs before all of its step are written.

    python benchmarks/pipeline.py [--scale 0.02] [--steps 12] [--sample 20] [--update 20]

Seconds on the command line and in the table are those before scaling.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.policy.stream import Stream
from llm_as_judge.reward import RewardOptions
from llm_as_judge.rollout import RolloutRunner
from llm_as_judge.training.pipeline import Pipeline, StartedStep
from llm_as_judge.types import (
    Budget,
    Completion,
    Execution,
    Problem,
    Program,
    Prompt,
    Sample,
    SampleStream,
    Sampling,
    Verdict,
)

GROUPS, SAMPLES = 4, 6
PROBLEMS = [Problem(f"p/{n}", "gsm8k", "math", f"{n}?", ("4",)) for n in range(GROUPS)]


class TimedSampler:
    """Writes programs one after the other over ``seconds``; ``streams``: tells of each at once."""

    def __init__(self, seconds: float, turn: asyncio.Lock, *, streams: bool) -> None:
        self._seconds, self._turn, self._streams = seconds, turn, streams

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        stream = Stream()
        stream.follow(self._write(stream, len(prompts_P), sampling))
        return stream

    async def _write(self, stream: Stream, problems: int, sampling: Sampling) -> None:
        written = []
        count = problems * sampling.samples
        async with self._turn:
            for number in range(count):
                await asyncio.sleep(self._seconds / count)
                p, k = number % problems, number // problems
                text = f"{sampling.seed}/{p}/{k}"
                written.append(Sample(p, k, Completion((1,), (2,), (-1.0,), text, "stop")))
                if self._streams:
                    stream.put(written.pop())
        for sample in written:
            stream.put(sample)


class SlowPrograms:
    """An environment in which every program is right, after its own time."""

    def __init__(self, scale: float) -> None:
        self._scale = scale

    def parse(self, text: str, problem: Problem) -> Program:
        return Program(text, text, hash=text)

    async def run(self, program: Program, problem: Problem) -> Execution:
        await asyncio.sleep(self._scale * latency_s(program.source))
        return Execution("ok", "4")

    async def grade(self, problem: Problem, execution: Execution) -> Verdict:
        return Verdict(True, "exact", "equal")

    def of_group(self, budget: Budget | None = None) -> SlowPrograms:
        return self


def latency_s(program: str) -> float:
    """2-60 s, median 8 s; the same program takes the same time in every schedule."""
    drawn = random.Random(f"latency/{program}").gauss(math.log(8.0), 0.8)
    return min(60.0, max(2.0, math.exp(drawn)))


async def step_seconds(
    arguments: argparse.Namespace, prompts: Path, staleness: int, *, streams: bool
) -> tuple[float, float]:
    """(seconds of a step, share of them in which neither sampling nor update ran)."""
    scale: float = arguments.scale

    turn = asyncio.Lock()
    runner = RolloutRunner(
        SlowPrograms(scale),
        TimedSampler(scale * arguments.sample, turn, streams=streams),
        PolicyPrompt(prompts, "body", {"math": "m", "qa": "q", "code": "c"}),
        RewardOptions(),
    )

    async def start(step: int) -> StartedStep:
        batch = await runner.start(PROBLEMS, Sampling(SAMPLES, 1.0, 8, seed=step))
        return StartedStep(step, batch, {})

    pipeline = Pipeline(start, done=0, last=arguments.steps, staleness=staleness)
    began = time.perf_counter()
    for done in range(arguments.steps):
        started = await pipeline.next(done)
        await started.batch.groups()
        async with turn:
            await asyncio.sleep(scale * arguments.update)
    whole = time.perf_counter() - began
    busy = arguments.steps * scale * (arguments.sample + arguments.update)
    return whole / arguments.steps, max(0.0, 1 - busy / whole)


async def main(arguments: argparse.Namespace) -> None:
    rows = [
        ("in turn (anchor)", 0, False),
        ("S = 0, run as written", 0, True),
        ("S = 1", 1, True),
        ("S = 2", 2, True),
    ]
    print(
        f"{GROUPS} groups of {SAMPLES}; sampling {arguments.sample:g} s, update "
        f"{arguments.update:g} s, programs 2-60 s (median 8); least possible "
        f"{arguments.sample + arguments.update:g} s a step"
    )
    print(f"{'schedule':24}{'s a step':>9}{'of anchor':>11}{'faster':>8}{'idle':>7}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "body.yaml").write_text("system: <<operators>>\nuser: <<problem>>\n")
        anchor = 0.0
        for name, staleness, streams in rows:
            seconds, idle = await step_seconds(arguments, Path(folder), staleness, streams=streams)
            anchor = anchor or seconds
            print(
                f"{name:24}{seconds / arguments.scale:9.1f}{seconds / anchor:11.2f}"
                f"{anchor / seconds:7.2f}x{idle:7.0%}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.02)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--sample", type=float, default=20.0)
    parser.add_argument("--update", type=float, default=20.0)
    asyncio.run(main(parser.parse_args()))
