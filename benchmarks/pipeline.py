"""What overlapping is worth: time of a training step with S = 0, 1, 2 against strictly in turn.

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
from pathlib import Path
from typing import Any

from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.reward import RewardOptions
from llm_as_judge.rollout import RolloutRunner
from llm_as_judge.training.pipeline import Pipeline, StartedStep
from llm_as_judge.types import (
    ChatModel,
    Completion,
    Execution,
    Message,
    OnCompletion,
    Problem,
    Program,
    Sampling,
    Verdict,
)

GROUPS, SAMPLES = 4, 6
PROBLEMS = [Problem(f"p/{n}", "gsm8k", "math", f"{n}?", ("4",)) for n in range(GROUPS)]


class TimedSampler:
    """Writes programs one after the other over ``seconds``; ``streams``: tells of each at once."""

    def __init__(self, seconds: float, *, streams: bool) -> None:
        self._seconds, self._streams = seconds, streams

    def sample(
        self,
        prompts_P: list[list[Message]],
        sampling: Sampling,
        *,
        on_completion: OnCompletion | None = None,
        **options: Any,
    ) -> list[list[Completion]]:
        written: list[list[Completion]] = [[] for _ in prompts_P]
        count = len(prompts_P) * sampling.samples
        for number in range(count):
            time.sleep(self._seconds / count)
            p, k = number % len(prompts_P), number // len(prompts_P)
            written[p].append(Completion((1,), (2,), (-1.0,), f"{sampling.seed}/{p}/{k}", "stop"))
            if self._streams and on_completion:
                on_completion(p, k, written[p][-1])
        return written


class RightAnswers:
    async def grade(self, problem: Problem, answer: str) -> Verdict:
        return Verdict(True, "exact", "equal")


def latency_s(program: str) -> float:
    """2-60 s, median 8 s; the same program takes the same time in every schedule."""
    drawn = random.Random(f"latency/{program}").gauss(math.log(8.0), 0.8)
    return min(60.0, max(2.0, math.exp(drawn)))


async def step_seconds(
    arguments: argparse.Namespace, prompts: Path, staleness: int, *, streams: bool
) -> tuple[float, float]:
    """(seconds of a step, share of them in which neither sampling nor update ran)."""
    scale: float = arguments.scale

    async def run(program: Program, problem: Problem, executor: ChatModel) -> Execution:
        await asyncio.sleep(scale * latency_s(program.source))
        return Execution("ok", "4")

    runner = RolloutRunner(
        prompt=PolicyPrompt(prompts, "body", {"math": "m", "qa": "q", "code": "c"}),
        sampler=TimedSampler(scale * arguments.sample, streams=streams),
        parse=lambda text, problem: Program(text, text, hash=text),
        run=run,
        executor=ScriptedChat(),
        judge=RightAnswers(),  # type: ignore[arg-type]
        reward=RewardOptions(),
    )

    async def start(step: int) -> StartedStep:
        batch = await runner.start(PROBLEMS, Sampling(SAMPLES, 1.0, 8, seed=step))
        return StartedStep(step, batch, {})

    pipeline = Pipeline(start, done=0, last=arguments.steps, staleness=staleness)
    began, idle = time.perf_counter(), 0.0
    for done in range(arguments.steps):
        started = await pipeline.next(done)
        waiting = time.perf_counter()
        await started.batch.groups()
        idle += time.perf_counter() - waiting
        await asyncio.to_thread(time.sleep, scale * arguments.update)
    whole = time.perf_counter() - began
    return whole / arguments.steps, idle / whole


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
