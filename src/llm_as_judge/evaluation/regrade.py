"""Saved executions graded again, without executor or policy: after a mended rule, or by another
judge. Nothing is run but hidden tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from llm_as_judge.assembly import judge_fingerprint, open_judge
from llm_as_judge.config import Config
from llm_as_judge.config.grading import JudgeConfig
from llm_as_judge.data.code import graded_by_all_asserts
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.layout import free_name
from llm_as_judge.evaluation.records import EvaluationRecord, Plan, code_digest
from llm_as_judge.files import exclusive
from llm_as_judge.grading.version import GRADING_VERSION
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.judge_file import JUDGE_FILE
from llm_as_judge.judge.kinds import rules_alone
from llm_as_judge.judge.scoring import SHIPPED
from llm_as_judge.llm.billing import metered
from llm_as_judge.rollout.environment import grade_runs
from llm_as_judge.rollout.line import OUR_FAULT
from llm_as_judge.runs.record import RunKey, RunRecord
from llm_as_judge.runs.runner import Keep, at_most, fill
from llm_as_judge.types import Failure, Problem, Rollout, Verdict, to_json

AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Change:
    """A verdict that the new grading does not share."""

    problem_id: str
    before: Verdict | None
    after: Verdict | None


@dataclass(frozen=True, slots=True)
class Regrade:
    """Kept executions, who grades them again, and where the verdicts go."""

    executions: tuple[tuple[Problem, Rollout], ...]
    """With the verdicts of before."""
    plan: Plan
    config: Config
    folder: Path


def plan_regrade(
    record: EvaluationRecord, folder: Path, name: str, other: str | None = None
) -> Regrade:
    """What is to be graded again, under ``FOLDER/NAME/HASH``; nothing is opened or written.

    HASH stands for executions, judge and code, so that the same again finds the verdicts that an
    interrupted one gave, and another judge never those.

    Args:
        record: with the executions.
        other: judge instead of the record's own: a model, the folder of a trained judge, ``shipped``, or ``none`` =
            rules only.
    Raises:
        ConfigError: no such judge, or the name is that of ``record``.
        DataError: the record holds no execution.
    """
    if free_name(name) == record.plan.name:
        raise ConfigError(
            f"--name {name!r}: is the name of the results that are graded again; give another one"
        )
    config = record.config
    judge = config.judge if other is None else _judge_named(config.judge, other)
    if judge != config.judge:
        # a recording of the evaluation has nothing that this judge said
        calls = config.calls.model_copy(update={"mode": "off"})
        config = config.model_copy(update={"judge": judge, "calls": calls})
    executions = tuple(
        (graded_by_all_asserts(group.problem), rollout)
        for group in record.groups()
        for rollout in group.rollouts
        if rollout.execution is not None
    )
    if not executions:
        raise DataError(f"{record.folder}: holds no execution to grade; evaluate again")
    graded = [[to_json(problem), to_json(_bare(rollout))] for problem, rollout in executions]
    by = judge_fingerprint(config)
    decisive = [record.plan.hash, by, code_digest(), graded]
    digest = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode())
    facts = {**record.plan.facts, "judge": by} if record.plan.facts else {}
    plan = replace(
        record.plan,
        name=name,
        hash=digest.hexdigest()[:12],
        facts=facts,
        grading_version=GRADING_VERSION,
    )
    return Regrade(executions, plan, config, folder / plan.name / plan.hash)


def _judge_named(judge: JudgeConfig, name: str) -> JudgeConfig:
    if name == "none":
        return judge if rules_alone(judge) else judge.with_rules_alone()
    if Path(name) == SHIPPED or (Path(name) / JUDGE_FILE).is_file():
        options = {} if Path(name) == SHIPPED else {"adapter": name}
        return judge.model_copy(update={"kind": "scoring", "model": "none", "options": options})
    return judge.asking(name)


async def regrade(
    planned: Regrade,
    on_begin: Callable[[int], None] | None = None,
    on_rollout: Callable[[Rollout], None] | None = None,
) -> tuple[EvaluationRecord, list[Change]]:
    """A record of the same executions with new verdicts. Each is kept as it is given, and what a
    judge model used is added to the bill of the record, but in a replay, which asks nobody.

    Args:
        on_begin: called with how many are to be graded now, once the judge is open.
    Raises:
        UserError: the judge cannot be started: nothing on disk has changed then. Another process
            works in the folder, or it cannot be written.
    """
    async with open_judge(planned.config) as judge:
        with exclusive(planned.folder, "give another --name", doing="grading"):
            problems = (problem for problem, _ in planned.executions)
            new = EvaluationRecord.begin(planned.folder, planned.plan, planned.config, problems)
            wanted = {
                new.key(problem.id, rollout.index): (problem, rollout)
                for problem, rollout in planned.executions
            }

            if on_begin is not None:
                kept = (new.table.runs.get(key) for key in wanted)
                on_begin(sum(run is None or not _is_graded(run) for run in kept))

            async def env(missing: Mapping[RunKey, tuple[Problem, Rollout]], keep: Keep) -> None:
                async def one(pair: tuple[Problem, Rollout]) -> None:
                    keep(new.record_of(await _grade(judge, *pair)))

                await at_most(AT_ONCE, missing.values(), one)

            def on_run(run: RunRecord) -> None:
                if on_rollout is not None and run.rollout is not None:
                    on_rollout(run.rollout)

            with metered() as attempts:
                try:
                    await fill(new.table, wanted, env, on_run, settled=_is_graded)
                finally:
                    if attempts and planned.config.calls.mode != "replay":
                        new.bill(attempts)
    return new, _changes(planned, new)


def _changes(planned: Regrade, new: EvaluationRecord) -> list[Change]:
    pairs = (
        (rollout, new.rollout(rollout.problem_id, rollout.index))
        for _, rollout in planned.executions
    )
    return [
        Change(before.problem_id, before.verdict, after.verdict)
        for before, after in pairs
        if after is not None and _decision(before.verdict) != _decision(after.verdict)
    ]


def _is_graded(run: RunRecord) -> bool:
    return run.rollout is not None and run.rollout.failure is None


def _decision(verdict: Verdict | None) -> list[bool | None]:
    """Of each run."""
    return [one.correct for one in (verdict, *verdict.again)] if verdict is not None else [None]


def _bare(rollout: Rollout) -> Rollout:
    return replace(rollout, verdict=None, failure=None, reward=None)


async def _grade(judge: Judge, problem: Problem, rollout: Rollout) -> Rollout:
    assert rollout.execution is not None
    bare = _bare(rollout)
    try:
        return replace(bare, verdict=await grade_runs(judge, problem, rollout.execution))
    except OUR_FAULT as error:
        return replace(bare, failure=Failure("grade", type(error).__name__, str(error)))
