"""Is the judge still the judge that was audited? Canaries, a second judge, and the abstentions.

A policy under reward moves towards what its judge lets through. So answers with known verdicts are
graded again every N steps, a share of what was accepted is judged once more by a second model, and
an alarm is raised where the two part.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from llm_as_judge.judge.attacks import Case, make_attacks, make_controls
from llm_as_judge.judge.rows import Grader
from llm_as_judge.types import Problem, Verdict

__all__ = ["CanaryReport", "DriftWatch", "SecondOpinions", "abstention_alarm", "canaries"]


def canaries(seed: int = 0, count: int = 100) -> list[Case]:
    """``count`` cases with known verdicts, half of them attacks."""
    rng = random.Random(seed)
    attacks, controls = make_attacks(seed, 10), make_controls(seed, 10)
    half = count // 2
    return rng.sample(attacks, half) + rng.sample(controls, count - half)


@dataclass(frozen=True, slots=True)
class CanaryReport:
    """Verdicts on the canaries, compared with those at the start of the run."""

    graded: int
    changed: tuple[str, ...]
    """``problem: candidate`` of each case whose verdict is no longer what it was."""
    not_graded: int

    @property
    def alarm(self) -> str | None:
        """What to tell the user; None if all is as it was."""
        if not self.changed:
            return None
        shown = "; ".join(self.changed[:3])
        return (
            f"judge: {len(self.changed)} of {self.graded} canary verdicts changed since the start "
            f"({shown}). Stop, and run: llm-as-judge audit"
        )


@dataclass(frozen=True, slots=True)
class SecondOpinions:
    """Accepted answers that a second judge graded as well."""

    asked: int
    agreed: int
    alarm: str | None


class DriftWatch:
    """Watches one judge over a run.

    Args:
        judge: the judge that rewards. Its cache must not answer for it: give it one without.
        second: another judge for a share of what ``judge`` accepts; None = no second opinions.
        share: of the accepted answers that ``second`` sees.
        least_agreement: below this share of agreement, after 20 opinions, there is an alarm.
    """

    def __init__(
        self,
        judge: Grader,
        second: Grader | None = None,
        *,
        share: float = 0.02,
        least_agreement: float = 0.9,
        cases: Sequence[Case] | None = None,
        seed: int = 0,
    ) -> None:
        self._judge = judge
        self._second = second
        self._share = share
        self._least = least_agreement
        self._cases = list(cases) if cases is not None else canaries(seed)
        self._rng = random.Random(seed)
        self._start: list[bool | None] | None = None
        self._asked = 0
        self._agreed = 0

    async def check(self) -> CanaryReport:
        """Grades the canaries; the first call only notes their verdicts."""
        now = [
            (await self._judge.grade(case.problem, case.candidate)).correct for case in self._cases
        ]
        if self._start is None:
            self._start = now
        changed = tuple(
            f"{case.problem.id}: {case.candidate[:40]!r}"
            for case, before, after in zip(self._cases, self._start, now, strict=True)
            if before is not after and after is not None
        )
        return CanaryReport(len(now), changed, now.count(None))

    async def after_step(self, graded: Sequence[tuple[Problem, str, Verdict]]) -> SecondOpinions:
        """Asks the second judge about a share of what was accepted; figures since the start."""
        for problem, answer, verdict in graded:
            if self._second is None or not verdict.correct or self._rng.random() >= self._share:
                continue
            opinion = await self._second.grade(problem, answer)
            if opinion.correct is not None:
                self._asked += 1
                self._agreed += opinion.correct
        return SecondOpinions(self._asked, self._agreed, self._alarm())

    def _alarm(self) -> str | None:
        if self._asked < 20 or self._agreed >= self._least * self._asked:
            return None
        return (
            f"judge: a second judge agrees with only {self._agreed} of {self._asked} acceptances. "
            "The policy may have found a hole; look at the accepted answers"
        )


def abstention_alarm(verdicts: Sequence[Verdict], most: float = 0.05) -> str | None:
    """The message that pauses a run in which too many answers of a step were not graded."""
    silent = [verdict for verdict in verdicts if verdict.correct is None]
    if not verdicts or len(silent) <= most * len(verdicts):
        return None
    rules = sorted({verdict.rule for verdict in silent})
    return (
        f"judge: {len(silent)} of {len(verdicts)} answers of this step were not graded "
        f"({', '.join(rules[:4])}); at most {most:.0%} may be. Check the judge's endpoint"
    )
