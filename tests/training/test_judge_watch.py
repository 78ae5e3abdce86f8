"""A run stops when its judge falls silent or changes; a resumed one remembers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.assembly.learning import watch_options
from llm_as_judge.audit.drift import canaries, case_key
from llm_as_judge.audit.status import AuditStatus
from llm_as_judge.config import Config
from llm_as_judge.errors import TrainingError
from llm_as_judge.judge.scoring import UNSURE
from llm_as_judge.training.judge_watch import JudgeWatch, WatchOptions
from llm_as_judge.types import Completion, Execution, Group, Problem, Program, Rollout, Verdict

PROBLEM = Problem("nq/train/1", "open", "qa", "Who?", ("Ada",))
UNKNOWN = AuditStatus("f", "missing", "the judge has no audit report", "none.json")


class Fixed:
    def __init__(self, correct: bool | None) -> None:
        self.correct = correct
        self.calls = 0

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        self.calls += 1
        return Verdict(self.correct, "llm", "llm.fixed")


def options(**judge: Any) -> WatchOptions:
    config = Config.model_validate({"judge": {"model": "big", "canaries_every": 2} | judge})
    return watch_options(config)


def group(*verdicts: Verdict) -> Group:
    rollouts = tuple(
        Rollout(
            PROBLEM.id,
            index,
            Completion((1,), (2,), (0.0,), "", "stop", 0),
            Program("", "qa"),
            Execution("ok", answer=f"answer {index}"),
            verdict,
        )
        for index, verdict in enumerate(verdicts)
    )
    return Group(PROBLEM, rollouts)


RIGHT = Verdict(True, "llm", "llm.correct")
SILENT = Verdict(None, "llm", "llm.empty", "no readable reply")
OPEN = Verdict(None, "qa", "qa.partial", "nobody to ask")
NOT_SURE = Verdict(None, "llm", UNSURE, "right with probability 0.60")


async def test_a_trained_judge_that_is_not_sure_is_counted_and_stops_nothing() -> None:
    watch = JudgeWatch(options(kind="scoring", canaries_every=0), Fixed(True), UNKNOWN)
    metrics = await watch.after_rollouts(1, [group(RIGHT, NOT_SURE, NOT_SURE, NOT_SURE)])
    assert metrics["judge/abstained"] == 0.75
    assert metrics["judge/decided"] == 0.25
    with pytest.raises(TrainingError, match="no verdict on 2 of 3 answers"):
        await watch.after_rollouts(2, [group(RIGHT, SILENT, SILENT)])


async def test_canaries_are_graded_at_the_first_step_and_then_every_n() -> None:
    judge = Fixed(True)
    watch = JudgeWatch(options(), judge, UNKNOWN)
    seen = []
    for step in (1, 2, 3, 4):
        metrics = await watch.after_rollouts(step, [group(RIGHT)])
        seen.append("judge/canaries_right" in metrics)
    assert seen == [True, True, False, True]
    assert judge.calls == 300
    assert metrics["judge/canaries_right"] == 0.5
    assert metrics["judge/canaries_changed"] == metrics["judge/canaries_not_graded"] == 0.0


async def test_a_judge_that_changes_stops_the_run() -> None:
    judge = Fixed(True)
    watch = JudgeWatch(options(), judge, UNKNOWN)
    await watch.after_rollouts(1, [group(RIGHT)])
    judge.correct = False
    with pytest.raises(TrainingError, match=r"step 2: judge big: the judge has changed: 100 of"):
        await watch.after_rollouts(2, [group(RIGHT)])


async def test_a_judge_unlike_the_audited_one_stops_the_run_at_once(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"canaries": {case_key(c): c.correct for c in canaries()}}))
    audited = AuditStatus("f", "passed", "", str(path))
    with pytest.raises(TrainingError, match="50 of 100 canary verdicts"):
        await JudgeWatch(options(), Fixed(True), audited).after_rollouts(1, [group(RIGHT)])


async def test_a_resumed_run_compares_with_its_beginning() -> None:
    first = JudgeWatch(options(), Fixed(True), UNKNOWN)
    await first.after_rollouts(1, [group(RIGHT)])
    state = json.loads(json.dumps(first.state_dict()))
    resumed = JudgeWatch(options(), Fixed(False), UNKNOWN, state)
    with pytest.raises(TrainingError, match="100 of 100"):
        await resumed.after_rollouts(3, [group(RIGHT)])
    other = AuditStatus("another judge", "missing", "", "none.json")
    await JudgeWatch(options(), Fixed(False), other, state).after_rollouts(3, [group(RIGHT)])


async def test_rules_alone_are_not_watched() -> None:
    judge = Fixed(True)
    watch = JudgeWatch(options(model="none"), judge, UNKNOWN)
    assert await watch.after_rollouts(1, [group(SILENT, OPEN)]) == {}
    assert judge.calls == 0
    off = JudgeWatch(options(canaries_every=0), judge, UNKNOWN)
    assert list(await off.after_rollouts(1, [group(RIGHT)])) == ["judge/abstained", "judge/decided"]


async def test_how_often_and_how_surely_the_judge_decided_is_counted() -> None:
    watch = JudgeWatch(options(canaries_every=0), Fixed(True), UNKNOWN)
    ruled = Verdict(True, "exact", "exact.same")
    sure = Verdict(True, "llm", "score.right", confidence=0.9)
    refused = Verdict(False, "llm", "score.wrong", confidence=0.3)
    found = await watch.after_rollouts(1, [group(ruled, ruled, sure, refused)])
    assert found["judge/decided"] == 0.5
    assert found["judge/confidence"] == pytest.approx(0.8)


async def test_more_than_a_twentieth_without_a_verdict_pauses_the_run() -> None:
    watch = JudgeWatch(options(canaries_every=0), Fixed(True), UNKNOWN)
    one = await watch.after_rollouts(1, [group(SILENT, RIGHT, RIGHT)])
    assert one["judge/abstained"] == pytest.approx(1 / 3)  # a single one is no trend
    two = await watch.after_rollouts(2, [group(*[SILENT] * 2, *[RIGHT] * 38)])
    assert two["judge/abstained"] == 0.05
    with pytest.raises(TrainingError, match=r"2 of 20 answers, more than judge\.max_abstained"):
        await watch.after_rollouts(3, [group(*[SILENT] * 2, *[RIGHT] * 18)])
    rules = await watch.after_rollouts(4, [group(*[OPEN] * 10)])
    assert rules["judge/abstained"] == 0.0, "what rules leave open is not the model's silence"
