"""Advantages that a run was taught by, by kind of group, under other rewards and scales.

    python benchmarks/advantages.py RUN_DIR [--steps 1-8]

Rewards and advantages of every recorded group anew (no program is run), for each scheme of the
reward and the two ways to center and divide that are in use. A group is

    validity   some of its texts are no runnable program
    right      all run; some are right and some wrong
    all right, all wrong   all run to the same verdict: they differ in cost and form alone

An answer that nobody could grade counts as not right. Groups that teach are counted among those with two
scored programs or more.

"taught by" is the share of the sum of |advantage|; "wrong, up" the share of it that makes a wrong
program likelier. Both say where the gradient points, not what it does to accuracy.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from llm_as_judge.config import LossKeys, load_config
from llm_as_judge.errors import DataError, UserError
from llm_as_judge.reward import RewardOptions, reward_group
from llm_as_judge.runs.runlog import read_rollouts
from llm_as_judge.training.grpo import has_variance, step_advantages
from llm_as_judge.types import Rollout

KINDS = ("validity", "right", "all right", "all wrong")
WAYS: Sequence[tuple[Any, Any]] = (("mean", "group"), ("leave_one_out", "batch"))


def steps_of(run: Path, first: int, last: int) -> Iterator[list[list[Rollout]]]:
    """The groups of each step, scored rollouts alone."""
    for step, lines in groupby(read_rollouts(run), key=lambda line: line[0]):
        if first <= step <= last:
            members = groupby((line[2] for line in lines), key=lambda r: r.problem_id)
            yield [list(group) for _, group in members]


def step_range(text: str) -> tuple[int, int]:
    """FIRST-LAST, or one step."""
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: wanted FIRST-LAST, as in 1-8")
    return int(first), int(last or first)


def kind_of(group: Sequence[Rollout]) -> str:
    if any(not r.program.runnable for r in group):
        return "validity"
    verdicts = {bool(r.verdict and r.verdict.correct) for r in group}
    return "right" if len(verdicts) > 1 else "all right" if True in verdicts else "all wrong"


def show(run: Path, first: int, last: int) -> None:
    reward = load_config(run / "config.yaml").reward
    weights = {name: getattr(reward, name) for name in RewardOptions.__dataclass_fields__}
    steps = list(steps_of(run, first, last))
    if not steps:
        raise DataError(f"{run}: no such steps")
    kinds = Counter(kind_of(group) for step in steps for group in step)
    print("groups: " + ", ".join(f"{kind} {kinds[kind]}" for kind in KINDS))
    print(
        "| reward | baseline, advantage norm | groups that teach | "
        + " | ".join(KINDS)
        + " | wrong, up |"
    )
    print("|---|---|---:|" + "---:|" * (len(KINDS) + 1))
    for scheme in ("weighted", "gated"):
        options = RewardOptions(**{**weights, "scheme": scheme})
        rewarded = [[reward_group(group, options) for group in step] for step in steps]
        for baseline, advantage_norm in WAYS:
            print(_row(rewarded, scheme, baseline, advantage_norm))


def _row(
    steps: Sequence[Sequence[Sequence[Rollout]]], scheme: str, baseline: Any, advantage_norm: Any
) -> str:
    pushed: dict[str, float] = defaultdict(float)
    teach = groups = 0
    for step in steps:
        scored = [[r for r in group if r.reward is not None] for group in step]
        scored = [group for group in scored if len(group) > 1]
        rewards = [[r.reward.total for r in group if r.reward] for group in scored]
        groups += len(scored)
        teach += sum(map(has_variance, rewards))
        for group, advantages in zip(
            scored,
            step_advantages(rewards, LossKeys(baseline=baseline, advantage_norm=advantage_norm)),
            strict=True,
        ):
            for rollout, advantage in zip(group, advantages, strict=True):
                pushed["all"] += abs(advantage)
                pushed[kind_of(group)] += abs(advantage)
                wrong = not (rollout.verdict and rollout.verdict.correct)
                pushed["wrong, up"] += max(0.0, advantage) if wrong else 0.0
    whole = pushed["all"] or 1
    cells = [f"{pushed[name] / whole:.0%}" for name in (*KINDS, "wrong, up")]
    return (
        f"| {scheme} | {baseline}, {advantage_norm} | {teach} of {groups} | "
        + " | ".join(cells)
        + " |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--steps", type=step_range, default="1-1000000", help="FIRST-LAST")
    arguments = parser.parse_args()
    show(arguments.run, *arguments.steps)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
