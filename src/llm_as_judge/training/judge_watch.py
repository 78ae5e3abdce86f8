"""The judge is watched while it rewards: abstentions, canaries.

Rules alone cannot drift: only a judge with a language model is watched by canaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from llm_as_judge.audit.drift import CanaryWatch
from llm_as_judge.audit.status import AuditStatus
from llm_as_judge.errors import TrainingError
from llm_as_judge.files import read_json
from llm_as_judge.judge.rows import Grader
from llm_as_judge.judge.scoring import UNSURE
from llm_as_judge.types import Group


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How a judge is watched; keys of the section ``judge``."""

    label: str
    """Its name in messages."""
    rules_alone: bool
    canaries_every: int
    """Steps; 0 = never."""
    max_abstained_fraction: float


class JudgeWatch:
    def __init__(
        self,
        options: WatchOptions,
        judge: Grader,
        audit_status: AuditStatus,
        saved: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Args:
            judge: the judge that rewards, without its memory.
            audit_status: where the audit report stands, with the verdicts on the canaries then.
            saved: ``state_dict()`` of the run that is resumed.
        """
        self._options = options
        saved = saved or {}
        self._canaries: CanaryWatch | None = None
        if not options.rules_alone and options.canaries_every:
            same = saved.get("fingerprint") == audit_status.fingerprint
            before = saved.get("canaries") if same else _audited_canaries(audit_status)
            self._canaries = CanaryWatch(judge, before)
        self._fingerprint = audit_status.fingerprint
        self._checked = False

    def state_dict(self) -> dict[str, Any]:
        return {
            "fingerprint": self._fingerprint,
            "canaries": self._canaries.before if self._canaries else {},
        }

    async def after_rollouts(self, step: int, groups: Sequence[Group]) -> dict[str, float]:
        """Metrics ``judge/*`` of this step.

        Raises:
            TrainingError: too many abstentions, or the judge has changed.
        """
        return {**self._count_verdicts(step, groups), **await self._look_at_canaries(step)}

    def _count_verdicts(self, step: int, groups: Sequence[Group]) -> dict[str, float]:
        if self._options.rules_alone:
            return {}
        rollouts = [r for group in groups for r in group.rollouts if r.execution]
        graded = [r.verdict for r in rollouts if r.verdict]
        open_ = [v for v in graded if v.correct is None and v.stage == "llm"]
        # not to be sure is what such a judge is for
        silent = [v for v in open_ if v.rule != UNSURE]
        allowed = self._options.max_abstained_fraction
        if len(silent) > max(1.0, allowed * len(graded)):
            raise TrainingError(
                f"step {step}: judge {self._options.label}: no verdict on "
                f"{len(silent)} of {len(graded)} answers, more than judge.max_abstained_fraction = "
                f"{allowed:g}; the first: {silent[0].rule}: {silent[0].explanation}. Mend that "
                "and go on with --resume"
            )
        if not graded:
            return {"judge/abstained": 0.0}
        decided = [v for v in graded if v.correct is not None and v.stage == "llm"]
        metrics = {
            "judge/abstained": len(open_) / len(graded),
            "judge/decided": len(decided) / len(graded),
        }
        known = [v.confidence for v in decided if v.confidence is not None]
        if known:
            metrics["judge/confidence"] = fmean(max(p, 1 - p) for p in known)
        return metrics

    async def _look_at_canaries(self, step: int) -> dict[str, float]:
        every = self._options.canaries_every
        if self._canaries is None or (self._checked and step % every):
            return {}
        report = await self._canaries.check()
        self._checked = True
        if report.alarm:
            raise TrainingError(
                f"step {step}: judge {self._options.label}: {report.alarm}. rewards since step "
                f"{max(1, step - every)} are in doubt: audit the judge again (llm-as-judge judge audit) "
                "before --resume"
            )
        return {
            "judge/canaries_right": report.right / report.graded,
            "judge/canaries_changed": len(report.changed) / report.graded,
            "judge/canaries_not_graded": report.not_graded / report.graded,
        }


def _audited_canaries(audit_status: AuditStatus) -> Mapping[str, bool | None] | None:
    """Verdicts on the canaries at the audit; None without a report of this judge."""
    if audit_status.status not in ("passed", "failed", "old"):
        return None
    report = read_json(Path(audit_status.report))
    found = report.get("canaries")
    return found if isinstance(found, dict) else None
