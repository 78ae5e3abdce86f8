"""Executor calls that a run did not have to make, from its rollouts.jsonl.

    python benchmarks/calls.py [RUN_DIR] [--again qwen25-coder-0.5b --data-dir data]

Anchor: every program of every group run on its own. Equal programs of a group run once, then equal
calls of the group share one reply; a cache (`calls.mode`) counts with the latter.

``--again EXECUTOR`` runs the same programs anew with ``group_draws`` shared, independent, and
independent from another seed, rules only, at ``--temperature`` (at 0 there is nothing to draw): what
sharing does to accuracy, and, from the two independent runs, what chance does.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from llm_as_judge.assembly import open_workbench, policy_prompt, problem_file, rollout_runner
from llm_as_judge.config import load_config
from llm_as_judge.evaluation.statistics import bootstrap
from llm_as_judge.policy.stream import ready
from llm_as_judge.runs.runlog import read_rollouts
from llm_as_judge.types import Problem, Prompt, Rollout, SampleStream, Sampling


@dataclass
class Calls:
    asked: int = 0
    equal_programs: int = 0
    shared: int = 0

    def add(self, rollout: Rollout, ran_before: bool) -> None:
        calls = rollout.execution.calls if rollout.execution else ()
        count = sum(call.llm_calls for call in calls)
        self.asked += count
        if ran_before:
            self.equal_programs += count
        else:
            self.shared += sum(call.cached for call in calls)

    def __str__(self) -> str:
        made = self.asked - self.equal_programs - self.shared
        whole = max(1, self.asked)
        return (
            f"{self.asked} asked for, {made} made: {1 - made / whole:.0%} saved "
            f"(equal programs {self.equal_programs / whole:.0%}, shared replies "
            f"{self.shared / whole:.0%})"
        )


# --------------------------------------------------------------------------------- the run again
@dataclass(frozen=True, slots=True)
class Texts:
    """A policy that writes what a group of the run wrote."""

    rollouts: Sequence[Rollout]

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        return ready([[rollout.completion for rollout in self.rollouts] for _ in prompts_P])


async def again(groups: list[tuple[Problem, list[Rollout]]], options: Any) -> None:
    arms: list[tuple[Literal["shared", "independent"], int]] = [
        ("shared", 0),
        ("independent", 0),
        ("independent", 1),
    ]
    right: list[list[float]] = []
    print(f"\n{len(groups)} groups again, {options.again}, temperature {options.temperature}")
    for draws, seed in arms:
        flags = {
            "executor.model": options.again,
            "executor.temperature": options.temperature,
            "executor.slots": 1,
            "workflow.group_draws": draws,
            "executor.seed": seed,
        }
        if options.cache:
            flags |= {"calls.mode": "cache", "calls.folder": options.cache}
        async with open_workbench(load_config("embedded", flags=flags)) as bench:
            shares = []
            for problem, rollouts in groups:
                prompt, form = policy_prompt(bench.config), bench.config.sampling.form
                runner = rollout_runner(bench, prompt, Texts(rollouts), form)
                (group,) = await runner.groups([problem], Sampling(len(rollouts), 1.0, 64))
                scored = [r.verdict.correct is True for r in group.rollouts if r.verdict]
                shares.append(statistics.mean(scored))
            right.append(shares)
            calls = bench.ledger.total.calls
        low, high = bootstrap(shares)
        print(
            f"{draws}, seed {seed}: right {statistics.mean(shares):.1%} ({low:.1%} to {high:.1%}), "
            f"{calls} calls made now",
            flush=True,
        )
    for i, j in itertools.combinations(range(len(arms)), 2):
        name, other = ("{}, seed {}".format(*arms[k]) for k in (i, j))
        gaps = [a - b for a, b in zip(right[i], right[j], strict=True)]
        low, high = bootstrap(gaps)
        print(f"{name} - {other}: {statistics.mean(gaps):+.1%} ({low:+.1%} to {high:+.1%})")


def newest_run() -> Path | None:
    found = Path("logs").glob("*/rollouts.jsonl")
    return max((path.parent for path in found), key=lambda p: p.stat().st_mtime, default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run_dir", type=Path, nargs="?", help="default: the newest under logs/")
    parser.add_argument("--steps", type=int, default=10, help="of the run, from its first")
    parser.add_argument("--again", metavar="EXECUTOR", help="run the programs anew")
    parser.add_argument("--temperature", type=float, default=0.7, help="of the executor")
    parser.add_argument("--cache", type=Path, help="folder of replies: what is known is not asked")
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    options = parser.parse_args()
    run_dir = options.run_dir or newest_run()
    if run_dir is None:
        print("no run under logs/: llm-as-judge train --config embedded makes one")
        return
    ran: dict[tuple[int, str], list[Rollout]] = defaultdict(list)
    sums: dict[str, Calls] = defaultdict(Calls)
    for step, domain, rollout in read_rollouts(run_dir):
        if step > options.steps:
            continue
        before = ran[step, rollout.problem_id]
        for name in (domain, "all"):
            sums[name].add(rollout, rollout.program.hash in {r.program.hash for r in before})
        before.append(rollout)
    steps, rollouts = len({step for step, _ in ran}), sum(map(len, ran.values()))
    print(f"{steps} steps, {len(ran)} groups, {rollouts} programs")
    for name in sorted(sums, key=lambda n: (n == "all", n)):
        print(f"{name:5} {sums[name]}")
    if options.again:
        file = options.data_dir / "mixed" / "train_mixed.jsonl"
        problems = {problem.id: problem for problem in problem_file(file)}
        groups = [(problems[id_], found) for (_, id_), found in sorted(ran.items())]
        asyncio.run(again(groups, options))


if __name__ == "__main__":
    main()
