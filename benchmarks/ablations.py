"""Runs that differ in one key, side by side: what they wrote and what they were taught by.

    python benchmarks/ablations.py RUN_DIR [RUN_DIR ...] [--steps 1-6]

The first run is what the others are compared with. Runs of one seed draw the same problems, so their
groups are compared in pairs: one problem, once by each run. Intervals are of 95 %, by bootstrap over
groups; programs of a group resemble each other, so that it is the unit.

    valid           programs that run as written
    distinct        different programs in a group, of those it has
    mixed           groups with right and wrong programs among those that can run: only they teach
                    which program solves a problem (advantages.py counts those with a text that cannot
                    run as `validity`, so that its `right` are fewer)
    right           programs whose answer is right, and the difference to the first run
    by verdict      share of the sum of |advantage|, as the run had it, of such programs

No run is long enough to show which key gives the better policy; the first three columns say which
one keeps the learner supplied with something to learn from.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from advantages import step_range, steps_of

from llm_as_judge.config import LossKeys
from llm_as_judge.errors import DataError, UserError
from llm_as_judge.evaluation.statistics import bootstrap
from llm_as_judge.renamed import with_new_keys
from llm_as_judge.training.grpo import step_advantages
from llm_as_judge.types import Rollout

Steps = list[list[list[Rollout]]]


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found |= (
            flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        )
    return found


def settings(run: Path) -> dict[str, Any]:
    """Keys that can change what is learned."""
    found = flat(with_new_keys(yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))))
    return {
        key: value
        for key, value in found.items()
        if not key.startswith(("output.", "calls.", "evaluation.")) and key != "training.steps"
    }


def name_of(found: dict[str, Any], first: dict[str, Any]) -> str:
    changed = [f"`{key}` {found[key]}" for key in sorted(found) if found[key] != first.get(key)]
    return ", ".join(changed) or "as it is"


def right(rollout: Rollout) -> bool:
    return bool(rollout.verdict and rollout.verdict.correct)


def is_mixed(group: Sequence[Rollout]) -> bool:
    return len({right(r) for r in group if r.program.runnable}) > 1


def mean_of(groups: Sequence[Sequence[Rollout]], value: Callable[[Rollout], bool]) -> list[float]:
    return [sum(map(value, group)) / len(group) for group in groups]


def cell(values: Sequence[float]) -> str:
    low, high = bootstrap(values)
    return f"{sum(values) / len(values):.0%} [{low * 100:.0f}, {high * 100:.0f}]"


def by_verdict(steps: Steps, training: dict[str, Any]) -> str:
    pushed = mixed = 0.0
    for step in steps:
        scored = [[r for r in group if r.reward is not None] for group in step]
        scored = [group for group in scored if len(group) > 1]
        advantages = step_advantages(
            [[r.reward.total for r in group if r.reward] for group in scored],
            LossKeys(
                baseline=training["training.baseline"],
                advantage_norm=training["training.advantage_norm"],
            ),
        )
        for group, values in zip(scored, advantages, strict=True):
            pushed += sum(map(abs, values))
            if is_mixed(group):
                able = (r.program.runnable for r in group)
                mixed += sum(abs(v) for v, runs in zip(values, able, strict=True) if runs)
    return f"{mixed / pushed:.0%}" if pushed else "-"


def row(run: Path, steps: Steps, first: Steps, names: tuple[dict[str, Any], dict[str, Any]]) -> str:
    groups = [group for step in steps for group in step]
    before = {
        group[0].problem_id: sum(map(right, group)) / len(group) for s in first for group in s
    }
    differences = [
        sum(map(right, group)) / len(group) - before[group[0].problem_id]
        for group in groups
        if group[0].problem_id in before
    ]
    low, high = bootstrap(differences) if differences else (0.0, 0.0)
    change = sum(differences) / max(1, len(differences))
    cells = [
        name_of(*names),
        f"{len(steps)}",
        cell(mean_of(groups, lambda r: r.program.strictly_valid)),
        cell([len({r.program.hash or r.completion.text for r in g}) / len(g) for g in groups]),
        f"{sum(map(is_mixed, groups))} of {len(groups)}",
        cell(mean_of(groups, right)),
        "" if steps is first else f"{change:+.0%} [{low * 100:+.0f}, {high * 100:+.0f}]",
        by_verdict(steps, names[0]),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR")
    parser.add_argument("--steps", type=step_range, default="1-1000000", help="FIRST-LAST")
    arguments = parser.parse_args()
    found = [list(steps_of(run, *arguments.steps)) for run in arguments.runs]
    if short := [str(run) for run, steps in zip(arguments.runs, found, strict=True) if not steps]:
        raise DataError(f"no such steps in {', '.join(short)}")
    keys = [settings(run) for run in arguments.runs]
    print("| | steps | valid | distinct | mixed | right | difference | by verdict |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for run, steps, names in zip(arguments.runs, found, keys, strict=True):
        print(row(run, steps, found[0], (names, keys[0])))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
