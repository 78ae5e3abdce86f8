"""Rewards of a run's rollouts under other weights; no program is run and no model is asked.

    python recipes/rescore.py logs/train_NAME --set reward.scheme=gated

Prints a line for each step: mean reward before and after, and the share of pairs inside groups that are now in
another order, which is what a policy would learn differently. Writes rescored.jsonl into the run's folder.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm_as_judge.config import load_config
from llm_as_judge.errors import DataError
from llm_as_judge.files import write_text
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.reward import RewardOptions, reward_group
from llm_as_judge.runs.runlog import ROLLOUTS
from llm_as_judge.types import Budget, PromptFacts, Rollout, from_json, to_json
from recipe import parser_of, run

RESCORED = "rescored.jsonl"


@dataclass(frozen=True, slots=True)
class StepRewards:
    """One step before and after."""

    step: int
    scored: int
    before: float
    """Mean total of the scored rollouts."""
    after: float
    reordered: float
    """Share of pairs of one group whose order changed: what a policy would learn differently."""


def rescore(run_dir: Path, options: RewardOptions) -> list[StepRewards]:
    """Rewards of every rollout of the run anew; written to ``rescored.jsonl`` in the run's folder.

    Raises:
        DataError: no such file, or a line that is no rollout (``file:line``).
        OutputError: the folder cannot be written.
    """
    _require_whole(run_dir / ROLLOUTS)
    rows: list[Mapping[str, Any]] = []
    pairs: dict[int, list[tuple[Rollout, Rollout]]] = {}
    changed: dict[int, list[bool]] = {}
    for members in _groups(run_dir / ROLLOUTS):
        before = [rollout for _, rollout in members]
        told = None if options.budget else _budget_told(members[0][0])
        after = reward_group(before, options, told)
        step = int(members[0][0]["step"])
        pairs.setdefault(step, []).extend(zip(before, after, strict=True))
        changed.setdefault(step, []).extend(_reordered(before, after))
        rows += [
            {**row, "rollout": to_json(rollout)}
            for (row, _), rollout in zip(members, after, strict=True)
        ]
    write_text(run_dir / RESCORED, "".join(json.dumps(row) + "\n" for row in rows))
    return [_step(step, pairs[step], changed[step]) for step in sorted(pairs)]


def _budget_told(row: Mapping[str, Any]) -> Budget | None:
    """That the prompt of a rollout named."""
    prompt: PromptFacts = from_json(PromptFacts, row.get("prompt", {}))
    return prompt.budget


def _require_whole(path: Path) -> None:
    """A group of which members are missing would be rewarded otherwise than it was."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
            raise DataError(
                f"{path}: ends in half a line: the run was cut off or is still writing; "
                "train --resume mends it, or copy the folder and remove that group"
            )


def _groups(path: Path) -> Iterator[list[tuple[Mapping[str, Any], Rollout]]]:
    """Rollouts of one step and problem, which stand together, their indices rising."""
    group: list[tuple[Mapping[str, Any], Rollout]] = []
    for row, rollout in _rollouts(path):
        if group:
            last_row, last = group[-1]
            same = (row["step"], rollout.problem_id) == (last_row["step"], last.problem_id)
            if not same or rollout.index <= last.index:
                yield group
                group = []
        group.append((row, rollout))
    if group:
        yield group


def _rollouts(path: Path) -> Iterator[tuple[Mapping[str, Any], Rollout]]:
    for number, row in enumerate(JsonLines(path).rows("step"), start=1):
        try:
            yield row, from_json(Rollout, row.get("rollout"))
        except TypeError as error:
            raise DataError(f"{path}:{number}: {error}; wanted a rollout of a run") from None


def _reordered(before: Iterable[Rollout], after: Iterable[Rollout]) -> list[bool]:
    """For each pair of scored rollouts, whether another one of the two is now the better."""
    totals = [
        (old.reward.total, new.reward.total)
        for old, new in zip(before, after, strict=True)
        if old.reward is not None and new.reward is not None
    ]
    return [
        _sign(a[0] - b[0]) != _sign(a[1] - b[1])
        for i, a in enumerate(totals)
        for b in totals[i + 1 :]
    ]


def _sign(difference: float) -> int:
    return 0 if abs(difference) < 1e-9 else (1 if difference > 0 else -1)


def _step(step: int, pairs: list[tuple[Rollout, Rollout]], changed: list[bool]) -> StepRewards:
    old = [a.reward.total for a, _ in pairs if a.reward is not None]
    new = [b.reward.total for _, b in pairs if b.reward is not None]
    return StepRewards(
        step=step,
        scored=len(new),
        before=sum(old) / len(old) if old else 0.0,
        after=sum(new) / len(new) if new else 0.0,
        reordered=sum(changed) / len(changed) if changed else 0.0,
    )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("run", type=Path, help="folder with rollouts.jsonl and config.yaml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="sets")
    arguments = parser.parse_args()
    settings = load_config(arguments.run / "config.yaml", overrides=arguments.sets)
    steps = rescore(arguments.run, RewardOptions(**settings.reward.model_dump()))
    print("step  scored  before   after  in another order")
    for step in steps:
        print(
            f"{step.step:4}  {step.scored:6}  {step.before:+6.3f}  {step.after:+6.3f}"
            f"  {step.reordered:16.0%}"
        )
    print(f"rollouts  {arguments.run / RESCORED}")


if __name__ == "__main__":
    run(main)
