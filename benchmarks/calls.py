"""Executor calls that a run did not have to make, from its rollouts.jsonl.

    python benchmarks/calls.py RUN_DIR

Anchor: every program of every group run on its own. Equal programs of a group run once, then equal
calls of the group share one reply; a cache (`calls.mode`) counts with the latter.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.monitoring.runlog import read_rollouts
from llm_as_judge.types import Rollout


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


def main() -> None:
    ran: dict[tuple[int, str], set[str]] = defaultdict(set)
    sums: dict[str, Calls] = defaultdict(Calls)
    steps: set[int] = set()
    rollouts = 0
    for step, domain, rollout in read_rollouts(Path(sys.argv[1])):
        hashes = ran[step, rollout.problem_id]
        for name in (domain, "all"):
            sums[name].add(rollout, rollout.program.hash in hashes)
        hashes.add(rollout.program.hash)
        steps.add(step)
        rollouts += 1
    print(f"{len(steps)} steps, {len(ran)} groups, {rollouts} programs")
    for name in sorted(sums, key=lambda n: (n == "all", n)):
        print(f"{name:5} {sums[name]}")


if __name__ == "__main__":
    main()
