"""Canaries: answers with known verdicts, by which a judge that changes is noticed.

A model can change behind one name. So these answers are graded again every N steps, and an alarm is
raised where verdicts differ from those of the audit.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass

from llm_as_judge.audit.attacks import Case, make_attacks, make_controls
from llm_as_judge.grading.graders import failed_as_open
from llm_as_judge.judge.rows import Grader
from llm_as_judge.quoting import quoted
from llm_as_judge.types import Problem, Verdict

_OPEN = (
    ("What do bees make?", "honey", "the sweet food in a honeycomb", "a honeycomb of stone"),
    ("Who painted the Mona Lisa?", "Leonardo da Vinci", "Leonardo, from Vinci", "Leonardo Bruni"),
    ("What did the storm break?", "the northern wall", "the wall on the north side", "the north gate"),
    ("When does the shop open?", "at nine in the morning", "9 a.m., in the morning", "nine at night"),
    ("Why did the boat turn back?", "the fog was thick", "because of thick fog", "the ice was thick"),
    ("What is the lamp made of?", "brass", "brass metal, an alloy", "brass-coloured plastic"),
    ("Where do they meet?", "under the old clock", "below the clock, the old one", "at the old gate"),
    ("What does the farmer grow?", "barley and oats", "oats as well as barley", "barley and rye"),
    ("How did she travel?", "by train", "she took a train there", "by a train of camels"),
    ("What was lost?", "the captain's logbook", "the logbook of the captain", "the captain's compass"),
    ("Who keeps the bridge?", "the miller's son", "the son of the miller", "the miller's brother"),
    ("What is the river's source?", "a glacier", "it comes from a glacier", "a lake below a glacier"),
    ("Which animal is on the flag?", "a red deer", "a deer in red", "a red fox"),
    ("What do the pipes carry?", "hot water", "water that is hot", "cold water"),
    ("What made the noise?", "a falling tree", "a tree that fell", "a falling rock"),
    ("What was the prize?", "a silver cup", "a cup of silver", "a silver coin"),
    ("How many came?", "a few dozen people", "some dozens of people", "a few people"),
    ("What does the key open?", "the cellar door", "the door of the cellar", "the cellar window"),
    ("Who found the cave?", "two shepherds", "a pair of shepherds", "two soldiers"),
    ("What covers the roof?", "slate tiles", "tiles made from slate", "clay tiles"),
    ("Why is the road closed?", "a landslide", "land slid onto it: a landslide, earth and stone", "a landslide test"),
    ("What did the letter announce?", "the queen's visit", "a visit by the queen", "the queen's death"),
    ("What do they export?", "dried fish", "fish that is dried", "fresh fish"),
    ("Where is the archive kept?", "in a salt mine", "inside a mine for salt", "in a coal mine"),
    ("What is the island known for?", "its wild ponies", "ponies living wild", "its wild goats"),
)  # fmt: skip
"""Question, gold, another way to say it, something else that shares a word with it."""


def canaries() -> list[Case]:
    """100 cases, half of them wrong; half of them need a model."""
    rng = random.Random(0)
    cases = []
    for question, gold, right, wrong in rng.sample(_OPEN, len(_OPEN)):
        problem = Problem(f"canary/open/{gold}", "open", "qa", question, (gold,))
        cases += [
            Case(problem, text, correct, "canary", "open")
            for text, correct in ((right, True), (wrong, False))
        ]
    attacks, controls = make_attacks(0, 10), make_controls(0, 10)
    return [*cases, *rng.sample(attacks, 25), *rng.sample(controls, 25)]


def case_key(case: Case) -> str:
    """Names a case whatever its place in a list: for verdicts that are kept in a file."""
    line = [case.problem.id, case.problem.question, case.problem.answers, case.candidate]
    return hashlib.sha256(json.dumps(line).encode()).hexdigest()[:16]


MOST_CHANGED = 0.02
"""Share of canary verdicts that may differ: audited judges may flip up to 1 % of theirs."""
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class CanaryReport:
    """Verdicts on the canaries, compared with those of the audit (or the first grading)."""

    graded: int
    right: int
    """Verdicts that are as the canary's label says."""
    not_graded: int
    changed: tuple[str, ...]
    """``problem: candidate`` of each case whose verdict is no longer what it was."""

    @property
    def alarm(self) -> str | None:
        """What to tell the user; None if all is as it was."""
        if len(self.changed) <= MOST_CHANGED * self.graded:
            return None
        return (
            f"the judge has changed: {len(self.changed)} of {self.graded} canary verdicts are not "
            f"what they were ({'; '.join(self.changed[:3])})"
        )


class CanaryWatch:
    """Grades the canaries again and again.

    Args:
        judge: the judge that rewards, without its memory of verdicts.
        before: verdicts by :func:`case_key`, of the audit or of an earlier part of the run; what
            is not in it is noted at the first check.
    """

    def __init__(
        self,
        judge: Grader,
        before: Mapping[str, bool | None] | None = None,
    ) -> None:
        self._judge = judge
        self._cases = canaries()
        self.before: dict[str, bool | None] = dict(before or {})

    async def check(self) -> CanaryReport:
        """Grades all of them. One that is not graded, now or before, has not changed."""
        limit = asyncio.Semaphore(_AT_ONCE)

        async def one(case: Case) -> Verdict:
            async with limit:
                return await failed_as_open(self._judge.grade(case.problem, case.candidate))

        now = await asyncio.gather(*map(one, self._cases))
        changed, right = [], 0
        for case, verdict in zip(self._cases, now, strict=True):
            key = case_key(case)
            if self.before.get(key) is None:
                self.before[key] = verdict.correct
            elif verdict.correct is not None and verdict.correct is not self.before[key]:
                changed.append(f"{case.problem.question} {quoted(case.candidate, 40)!r}")
            right += verdict.correct is case.correct
        silent = sum(verdict.correct is None for verdict in now)
        return CanaryReport(len(now), right, silent, tuple(changed))
