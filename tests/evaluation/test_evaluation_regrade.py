"""Grading again: the executions of before are never touched, and no verdict is given twice."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evaluation_values import DOWN, OK, WRONG, problem, rollout

from llm_as_judge.assembly import program_options
from llm_as_judge.config import Config
from llm_as_judge.config.reading import config_file
from llm_as_judge.data.selection import EvaluatedSet
from llm_as_judge.errors import ConfigError, DataError, ModelError, OutputError
from llm_as_judge.evaluation import regrade as regrading
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.evaluation.conditions import differing, settings_of
from llm_as_judge.evaluation.records import EvaluationRecord, make_plan
from llm_as_judge.evaluation.regrade import plan_regrade, regrade
from llm_as_judge.files import exclusive
from llm_as_judge.grading.version import GRADING_VERSION
from llm_as_judge.llm.billing import Attempt, current_scope
from llm_as_judge.types import Problem, Rollout, Usage, Verdict

ROWS = [problem(n) for n in range(4)]


@pytest.fixture
def record(tmp_path: Path) -> EvaluationRecord:
    """Three executions, which were judged wrong, and a failure."""
    config = Config.model_validate(
        {
            "executor": {"model": "scripted"},
            "judge": {"model": "none"},
            "calls": {"mode": "replay", "folder": tmp_path / "calls"},
            "output": {"results": tmp_path, "cache": tmp_path / "cache"},
        }
    )
    sets = [EvaluatedSet("gsm8k", tuple(ROWS), 4)]
    plan = make_plan(config, "x", find_system("direct", program_options(config)), sets)
    kept = EvaluationRecord.begin(tmp_path / "x" / plan.hash, plan, config, ROWS)
    for of in ROWS[:3]:
        kept.add(rollout(of, OK, WRONG))
    kept.add(rollout(ROWS[3], None, None, failure=DOWN))
    return kept


class SaysRight:
    """A judge that accepts everything, and may end after some answers."""

    def __init__(self, most: int = 99) -> None:
        self.most = most
        self.asked: list[str] = []

    async def grade(self, of: Problem, answer: str) -> Verdict:
        if len(self.asked) == self.most:
            raise KeyError("stopped")
        self.asked.append(of.id)
        return Verdict(True, "exact", "r")


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> SaysRight:
    found = SaysRight()

    @asynccontextmanager
    async def opened(config: Config) -> AsyncIterator[SaysRight]:
        yield found

    monkeypatch.setattr(regrading, "open_judge", opened)
    return found


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


async def test_new_verdicts_have_a_folder_of_their_own_and_the_old_ones_stay(
    record: EvaluationRecord, judge: SaysRight, tmp_path: Path
) -> None:
    before = tree(record.folder)
    new, changes = await regrade(plan_regrade(record, tmp_path, "y"))
    assert judge.asked == [p.id for p in ROWS[:3]]
    assert [(c.problem_id, c.before, c.after) for c in changes] == [
        (p.id, WRONG, Verdict(True, "exact", "r")) for p in ROWS[:3]
    ]
    assert tree(record.folder) == before
    assert new.folder == tmp_path / "y" / new.plan.hash
    assert EvaluationRecord.read(new.folder).plan == new.plan


def test_kept_executions_of_mbpp_are_graded_by_the_assert_that_was_shown_too(
    record: EvaluationRecord, tmp_path: Path
) -> None:
    of = Problem(
        "mbpp/test/1",
        "mbpp",
        "code",
        "Write f.",
        entry_point="f",
        visible_tests=("assert f(1)",),
        hidden_tests=("assert f(2)",),
    )
    plan = make_plan(
        record.config,
        "code",
        find_system("direct", program_options(record.config)),
        [EvaluatedSet("mbpp", (of,), 1)],
    )
    kept = EvaluationRecord.begin(tmp_path / "code" / plan.hash, plan, record.config, [of])
    kept.add(rollout(of, OK, WRONG))
    ((graded, _),) = plan_regrade(kept, tmp_path, "again").executions
    assert graded.hidden_tests == ("assert f(1)", "assert f(2)")


async def test_an_interrupted_grading_goes_on_where_it_stopped(
    record: EvaluationRecord, judge: SaysRight, tmp_path: Path
) -> None:
    judge.most = 2
    with pytest.raises(KeyError):
        await regrade(plan_regrade(record, tmp_path, "y"))
    judge.most, judge.asked = 99, []
    wanted: list[int] = []
    graded: list[Rollout] = []
    _, changes = await regrade(plan_regrade(record, tmp_path, "y"), wanted.append, graded.append)
    assert wanted == [1]
    assert judge.asked == [r.problem_id for r in graded] == [ROWS[2].id]
    assert len(changes) == 3  # those of the first part too


@pytest.mark.parametrize(("mode", "requests"), [("off", 3), ("replay", 0)])
async def test_what_a_judge_model_used_is_billed_even_if_it_is_stopped(
    record: EvaluationRecord,
    judge: SaysRight,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    requests: int,
) -> None:
    judge.most = 2
    calls = record.config.calls.model_copy(update={"mode": mode})
    record.config = record.config.model_copy(update={"calls": calls})
    accept = judge.grade

    async def ask(of: Problem, answer: str) -> Verdict:
        for meter in current_scope().meters:
            meter.append(Attempt(Usage(7, 1), None, 0.1))
        return await accept(of, answer)

    monkeypatch.setattr(judge, "grade", ask)
    with pytest.raises(KeyError):
        await regrade(plan_regrade(record, tmp_path, "y"))
    stopped = EvaluationRecord.read(next((tmp_path / "y").iterdir())).ledger()
    assert stopped.total.attempts == requests  # the one that broke it was asked, too
    judge.most = 99
    new, _ = await regrade(plan_regrade(record, tmp_path, "y"))
    assert new.ledger().total.attempts == (requests + 1 if requests else 0)
    assert new.ledger().total.tokens == 8 * new.ledger().total.attempts


@pytest.mark.parametrize("named", ["shipped", "mine"])
def test_a_trained_judge_may_grade_again(
    record: EvaluationRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(config_file("judge/judge.json").parent, tmp_path / "mine")
    config = plan_regrade(record, tmp_path, "y", named).config
    assert (config.judge.kind, config.judge.model, config.calls.mode) == ("scoring", "none", "off")
    assert config.judge.options == ({} if named == "shipped" else {"adapter": "mine"})


def test_what_decides_the_verdicts_decides_the_folder(
    record: EvaluationRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def folder(judge: str | None = None) -> str:
        return plan_regrade(record, tmp_path, "y", judge).plan.hash

    first = folder()
    assert folder() == folder("none") == first != record.plan.hash
    assert folder("scripted") != first
    assert folder("shipped") not in (first, folder("scripted"))
    record.add(rollout(ROWS[0], OK, None))
    assert folder() == first  # a verdict of before is no part of it
    record.add(rollout(ROWS[0], replace(OK, answer="5"), WRONG))
    assert folder() != first
    second = folder()
    monkeypatch.setattr(regrading, "code_digest", lambda: "mended")
    assert folder() != second


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (("x",), ConfigError, "is the name of the results that are graded again"),
        (("",), ConfigError, "wanted a plain name"),
        (("a/b",), ConfigError, "wanted a plain name"),
        (("y", "zzz"), ConfigError, "judge.model: no 'zzz'"),
    ],
)
def test_what_is_refused_changes_nothing_on_disk(
    record: EvaluationRecord, tmp_path: Path, arguments: Any, error: Any, said: str
) -> None:
    before = tree(tmp_path)
    with pytest.raises(error, match=said):
        plan_regrade(record, tmp_path, *arguments)
    assert tree(tmp_path) == before


async def test_a_judge_that_cannot_be_opened_changes_nothing_on_disk(
    record: EvaluationRecord, judge: SaysRight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = plan_regrade(record, tmp_path, "y")
    await regrade(planned)
    before = tree(tmp_path)

    @asynccontextmanager
    async def away(config: Config) -> AsyncIterator[SaysRight]:
        raise ModelError("not reachable")
        yield

    monkeypatch.setattr(regrading, "open_judge", away)
    for again in (planned, plan_regrade(record, tmp_path, "y", "scripted")):
        with pytest.raises(ModelError):
            await regrade(again)
    assert tree(tmp_path) == before


async def test_two_gradings_at_once_are_one(
    record: EvaluationRecord, judge: SaysRight, tmp_path: Path
) -> None:
    planned = plan_regrade(record, tmp_path, "y")
    with exclusive(planned.folder, ""), pytest.raises(OutputError, match="is grading here"):
        await regrade(planned)
    assert not judge.asked


def test_another_judge_is_not_looked_for_in_the_recording_of_the_first(
    record: EvaluationRecord, tmp_path: Path
) -> None:
    assert plan_regrade(record, tmp_path, "y").config.calls.mode == "replay"
    assert plan_regrade(record, tmp_path, "y", "scripted").config.calls.mode == "off"


def test_a_record_without_an_execution_is_refused(record: EvaluationRecord, tmp_path: Path) -> None:
    (record.folder / "runs.jsonl").write_text("")
    with pytest.raises(DataError, match="holds no execution to grade; evaluate again"):
        plan_regrade(EvaluationRecord.read(record.folder), tmp_path, "y")


async def test_new_verdicts_are_of_todays_version_of_the_rules(
    record: EvaluationRecord, judge: SaysRight, tmp_path: Path
) -> None:
    record.plan = replace(record.plan, grading_version=1)
    new, _ = await regrade(plan_regrade(record, tmp_path, "y"))
    assert new.plan.grading_version == GRADING_VERSION


def test_rules_are_called_rules_beside_any_other_judge(record: EvaluationRecord) -> None:
    of_before = {"judge": {"kind": "llm", "model": "none"}}
    for config in ({"judge": {"kind": "rules"}}, of_before, {"judge": {"model": "none"}}):
        judge = Config.model_validate(config).judge
        assert (judge.kind, judge.model, judge.label) == ("rules", "none", "rules")
    shipped = plan_regrade(record, record.folder.parent.parent, "y", "shipped").config
    said = {
        "x": settings_of(record.config.model_dump(mode="json")),
        "before": settings_of(of_before),
        "y": settings_of(shipped.model_dump(mode="json")),
    }
    assert differing(said) == ["judge.kind rules (x, before), scoring (y)"]
    asked = plan_regrade(record, record.folder.parent.parent, "y", "scripted").config.judge
    assert (asked.kind, asked.model) == ("llm", "scripted")
