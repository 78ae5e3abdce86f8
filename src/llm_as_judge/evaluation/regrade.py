"""Saved executions graded again, without executor or policy: after a mended rule, or by another
judge. Nothing is run but hidden tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from llm_as_judge.build import judge_fingerprint, open_judge
from llm_as_judge.errors import DataError, EndpointError, SandboxError
from llm_as_judge.evaluation.layout import free_name
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Failure, Problem, Rollout, Verdict

AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Change:
    """A verdict that the new grading does not share."""

    problem_id: str
    before: Verdict | None
    after: Verdict | None


async def regrade(
    record: EvaluationRecord,
    folder: Path,
    name: str,
    judge_model: str | None = None,
    on_rollout: Callable[[Rollout], None] | None = None,
) -> tuple[EvaluationRecord, list[Change]]:
    """A record of the same executions with new verdicts, under ``FOLDER/NAME/HASH``.

    Args:
        record: with the executions.
        judge_model: instead of the record's own; ``none`` = rules only.
    Raises:
        DataError: the record holds no execution.
        UserError: the judge cannot be started.
    """
    config = record.config
    if judge_model is not None:
        judge = config.judge.model_copy(update={"model": judge_model})
        config = config.model_copy(update={"judge": judge})
    graded = [
        (group.problem, rollout)
        for group in record.groups()
        for rollout in group.rollouts
        if rollout.execution is not None
    ]
    if not graded:
        raise DataError(f"{record.folder}: holds no execution to grade")
    facts = {**record.plan.facts, "judge": judge_fingerprint(config)} if record.plan.facts else {}
    plan = replace(record.plan, name=free_name(name), facts=facts)
    new = EvaluationRecord.begin(
        folder / plan.name / plan.hash, plan, config, (p for p, _ in graded), fresh=True
    )
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(problem: Problem, rollout: Rollout) -> Change | None:
        async with at_once:
            again = await _grade(judge_, problem, rollout)
        new.add(again)
        if on_rollout is not None:
            on_rollout(again)
        same = _decision(again.verdict) == _decision(rollout.verdict)
        return None if same else Change(problem.id, rollout.verdict, again.verdict)

    async with open_judge(config) as judge_:
        changes = await asyncio.gather(*(one(p, r) for p, r in graded))
    return new, [change for change in changes if change is not None]


def _decision(verdict: Verdict | None) -> bool | None:
    return verdict.correct if verdict is not None else None


async def _grade(judge: Judge, problem: Problem, rollout: Rollout) -> Rollout:
    execution = rollout.execution
    assert execution is not None
    bare = replace(rollout, verdict=None, failure=None, reward=None)
    if execution.status != "ok":
        return replace(bare, verdict=Verdict(False, "execution", execution.status, execution.error))
    try:
        return replace(bare, verdict=await judge.grade(problem, execution.answer))
    except (EndpointError, SandboxError) as error:
        return replace(bare, failure=Failure("grade", type(error).__name__, str(error)))
