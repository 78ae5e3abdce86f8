"""A reward part, a grader, an operator and a data set of your own, in one file outside the package.

python examples/extend/clocks.py              # one training step, on the models of `embedded`
llm-as-judge train --set plugins=[clocks]     # the first three in any run, from this folder
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from llm_as_judge import GRPOTrainer
from llm_as_judge.grading.graders import grader
from llm_as_judge.operators import Operator, operator
from llm_as_judge.reward import reward_part
from llm_as_judge.types import Json, Problem, Rollout


# 1. A reward part: -10..10, with an option that `reward.options.brevity.most` sets.
@dataclass(frozen=True)
class BrevityOptions:
    most: int = 400


@reward_part("brevity", weight=0.05, options=BrevityOptions)
def brevity(rollout: Rollout, group: Sequence[Rollout], options: BrevityOptions) -> float:
    """+10 for an empty program, 0 for one of `most` characters, falling on to -10."""
    return max(-10.0, 10.0 * (1 - len(rollout.program.source) / options.most))


# 2. A grader: True, False, or None where it cannot tell; asked before rules and judge model.
TIME = re.compile(r"\b(\d{1,2}):(\d\d)(?: ?([ap])\.?m\b)?", re.IGNORECASE)


def minutes(text: str) -> set[int]:
    """Times of day in a text, in minutes since midnight."""
    halves = {"": 0, "a": 0, "p": 12}
    found = [(int(hour), int(minute), half.lower()) for hour, minute, half in TIME.findall(text)]
    return {((h % 12 if half else h) + halves[half]) * 60 + m for h, m, half in found}


def asks_for_a_time(problem: Problem) -> bool:
    return any(minutes(answer) for answer in problem.answers)


@grader("clock", domain="qa", when=asks_for_a_time)
def clock(problem: Problem, answer: str) -> bool | None:
    """2:15 pm is 14:15. No time is wrong; several are left to the rules."""
    said, wanted = minutes(answer), minutes(" ".join(problem.answers))
    return None if len(said) > 1 else bool(said & wanted)


# 3. An operator: what programs may call; Restate.yaml beside this file describes it.
@operator
class Restate(Operator):
    """The problem in one sentence."""

    empty: ClassVar[Mapping[str, Json]] = {"restated": ""}
    worst_case_calls = 1
    prompt_names = ("restate",)

    async def run(self, problem: str) -> dict[str, Json]:
        reply = await self.context.ask("restate", {"problem": problem})
        return {"restated": reply.text.strip()}


# 4. A data set: rows of your own.
ROWS = [
    {"problem": f"A film begins at 13:{m} and lasts an hour. When does it end?", "type": "qa"}
    | {"answer": f"14:{m}"}
    for m in range(10, 60, 5)
]

if __name__ == "__main__":
    trainer = GRPOTrainer(*sys.argv[1:] or ["embedded"], train_dataset=ROWS)
    print(asyncio.run(trainer.train(num_steps=1)).metrics["reward/brevity"])
