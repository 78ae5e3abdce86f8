"""Records: nothing lost, only what is missing is run again, what decides the folder."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from listed_system import QA, ROWS, Listed, begun, evaluated, rows_in, settings

from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.evaluate import open_evaluation, run_evaluation
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.evaluation.results import full_results_of, results_of, write_results
from llm_as_judge.evaluation.systems import Keep, Opened
from llm_as_judge.llm.billing import Attempt
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.types import BUDGETS, Problem, Usage, to_json


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return rows_in(tmp_path)


async def test_an_interrupted_run_goes_on_where_it_stopped(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        await evaluated(settings(place), Listed(most=4))
    again = Listed()
    record = await evaluated(settings(place), again)
    assert again.ran == [(p.id, 0) for p in ROWS[4:]]
    assert record.missing() == {}
    assert results_of(record).as_json()["overall"]["correct"] == 6


async def test_a_finished_run_is_not_run_again_but_for_our_own_failures(place: Path) -> None:
    await evaluated(settings(place), Listed(fails=[ROWS[2].id]))
    again = Listed()
    record = await evaluated(settings(place), again)
    assert again.ran == [(ROWS[2].id, 0)]
    assert results_of(record).as_json()["overall"]["failed"] == 0
    third = Listed()
    await evaluated(settings(place), third)
    assert third.ran == []


async def test_what_held_in_the_sandbox_is_kept_of_each_kind_that_ran_a_part(place: Path) -> None:
    for most, jail in ((1, "bubblewrap+seccomp"), (2, "bubblewrap+seccomp"), (9, "landlock")):
        system = Listed(most)
        system.jail = jail
        with contextlib.suppress(KeyboardInterrupt):
            record = await evaluated(settings(place), system)
    seen = [report["mechanism"] for report in full_results_of(record).as_json()["isolation"]]
    assert seen == ["bubblewrap+seccomp", "landlock"]
    (record.folder / "isolation.jsonl").write_text('{"mechanism": "jail"}\n')
    with pytest.raises(DataError, match=r"isolation\.jsonl: not a report of evaluate: .*remove it"):
        full_results_of(record).as_json()
    (record.folder / "isolation.jsonl").write_text("xx\n")
    with pytest.raises(DataError, match=r"isolation\.jsonl:1: not JSON.*; remove this file"):
        begun(settings(place), Listed())  # before anything is started


async def test_what_a_killed_evaluation_has_paid_is_on_its_bill_failed_requests_too(
    place: Path,
) -> None:
    billed: list[int] = []

    class Paying(Listed):
        @asynccontextmanager
        async def open(self, config: Config) -> AsyncIterator[Opened]:
            ledger = Ledger()
            async with super().open(config) as opened:

                async def paid(wanted: Sequence[tuple[Problem, int]], keep: Keep) -> None:
                    for one in wanted:
                        ledger.record_attempt("executor", Attempt(None, None, 1.0, failure="429"))
                        ledger.record_attempt("judge", Attempt(Usage(10, 2), 0.5, 1.0, number=2))
                        await opened.attempt([one], keep)
                        billed.append(record.ledger().total.attempts)

                yield Opened(paid, opened.isolation)

    record = begun(settings(place), Paying())
    for system in (Paying(2), Paying()):
        with contextlib.suppress(KeyboardInterrupt):
            await evaluated(settings(place), system)
    # as a kill would leave it; the third was asked for twice
    assert billed == [2, 4, 8, 10, 12, 14]
    record = begun(settings(place), system)
    assert (await run_evaluation(record, system)).total.attempts == 0  # nothing was left to ask
    total = record.ledger().total
    assert (total.attempts, total.tokens, total.cost_usd) == (14, 84, 3.5)
    assert record.ledger().failures == {"429": 7}
    assert set(record.ledger().by_attempt) == {"1", "2"}
    (record.folder / "ledger.json").write_text("[]")
    with pytest.raises(DataError, match=r"ledger\.json: not a bill of evaluate"):
        record.ledger()


async def test_a_line_cut_off_by_a_kill_is_run_again_and_breaks_nothing(place: Path) -> None:
    record = await evaluated(settings(place), Listed())
    path = record.folder / "runs.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    again = Listed()
    record = await evaluated(settings(place), again)
    assert again.ran == [(ROWS[5].id, 0)]
    assert path.read_bytes() == whole
    assert EvaluationRecord.read(record.folder).missing() == {}


async def test_what_decides_the_figures_decides_the_folder(place: Path) -> None:
    first = begun(settings(place), Listed()).folder
    assert begun(settings(place), Listed()).folder == first
    others = [
        begun(settings(place), Listed(version="2")),
        begun(settings(place, training={"seed": 1}), Listed()),
        begun(settings(place, executor={"model": "smollm2-135m"}), Listed()),
        begun(settings(place, evaluation={"limit_per_set": 2}), Listed()),
    ]
    assert len({first, *(other.folder for other in others)}) == 5
    same = settings(place, policy={"device": "cpu"})
    assert begun(same, Listed()).folder == first


def test_a_budget_decides_the_folder_of_what_is_told_it(place: Path) -> None:
    def folder(system: Listed, **reward: str) -> str:
        with open_evaluation(settings(place, reward=reward), system, "a") as record:
            assert results_of(record).budget == record.plan.budget
            return f"{record.folder.name} {record.plan.budget}"

    told, written = Listed(), Listed()
    written.is_prompted = False
    priced = [folder(told, scheme="priced", budget=word) for word in BUDGETS]
    assert [one.split()[1] for one in priced] == list(BUDGETS)
    assert folder(told, scheme="priced") == priced[1]
    every = [*priced, folder(told), folder(told, budget="low")]
    assert len(set(every)) == 4
    assert every[-1].endswith("None")
    same = {folder(written, scheme="priced", budget=word) for word in BUDGETS}
    assert len(same) == 1


async def test_the_rows_decide_the_folder_not_how_they_were_chosen(place: Path) -> None:
    first = (await evaluated(settings(place), Listed())).folder
    for chosen in ({"limit_per_set": 6}, {"limit_per_set": 99999}, {"sets": None}):
        again = Listed()
        record = await evaluated(settings(place, evaluation=chosen), again)
        assert (record.folder, again.ran) == (first, [])
    write_problems(place / "mixed" / "test_mixed.jsonl", ROWS)
    mixed = begun(settings(place, evaluation={"sets": ["mixed"]}), Listed())
    assert mixed.folder != first  # its results have a row of another set


async def test_rows_of_domains_without_a_program_are_not_called_a_sample(place: Path) -> None:
    write_problems(place / "mixed" / "test_mixed.jsonl", [*ROWS, *QA])
    mixed = settings(place, evaluation={"sets": ["mixed"]})
    (planned,) = begun(mixed, Listed()).plan.sets
    assert planned.sample == "6 of 8 rows: those of the policy's domains"


async def test_a_fresh_run_puts_the_old_rollouts_aside(place: Path) -> None:
    record = await evaluated(settings(place), Listed())
    old = (record.folder / "runs.jsonl").read_bytes()
    fresh = begun(settings(place), Listed(), fresh=True)
    assert len(fresh.missing()) == 6
    assert (record.folder / "runs.old1.jsonl").read_bytes() == old


async def test_a_record_is_read_back_from_any_of_its_files(place: Path) -> None:
    record = await evaluated(settings(place), Listed())
    path = write_results(record, place / "results" / "evaluation")
    for source in (path, record.folder, record.folder / "runs.jsonl"):
        found = EvaluationRecord.read(source)
        assert found.plan == record.plan
        assert found.config == record.config
        assert to_json(found.groups()) == to_json(record.groups())
        assert full_results_of(found).as_json() == full_results_of(record).as_json()


async def test_a_system_without_a_fitting_set_is_refused(place: Path) -> None:
    with pytest.raises(ConfigError, match="listed: only for math"):
        begun(settings(place, evaluation={"sets": ["squad2"]}), Listed())


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc/x"])
async def test_a_name_that_is_a_path_is_refused(place: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="wanted a plain name"):
        begun(settings(place), Listed(), name)


async def test_a_broken_plan_is_a_data_error_that_names_it_and_what_mends_it(place: Path) -> None:
    file = (await evaluated(settings(place), Listed())).folder / "plan.json"
    whole = file.read_bytes()
    for content, found in (
        (b"", "not JSON: "),
        (b"[]", "Plan: found list, wanted an object"),
        (b"3", "Plan: found int, wanted an object"),
        (b"{}", "Plan: no field 'name'"),
        (b'{"name": 3}', "Plan: no field 'policy'"),
        (b"\xff", "codec can't decode"),
    ):
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"plan\.json: not a plan of evaluate") as caught:
            EvaluationRecord.read(file.parent)
        assert found in str(caught.value)
        assert "run its evaluate or grade again" in str(caught.value)
    again = Listed()
    await evaluated(settings(place), again)  # as the message says
    assert (again.ran, file.read_bytes()) == ([], whole)
    plan = json.loads(whole)
    plan["config"]["judge"]["max_tokens"] = "many"
    file.write_text(json.dumps(plan))
    with pytest.raises(DataError, match=r"config\.judge\.max_tokens: .*integer"):
        EvaluationRecord.read(file.parent)


async def test_a_folder_without_a_plan_or_with_foreign_rows_is_refused(place: Path) -> None:
    with pytest.raises(DataError, match=r"no plan\.json; wanted a folder"):
        EvaluationRecord.read(place)
    record = await evaluated(settings(place), Listed())
    with (record.folder / "runs.jsonl").open("a") as file:
        file.write('{"problem": {"id": 3}}\n')
    said = r"runs\.jsonl:7: 'program' is missing; remove that line: what is missing is run again"
    with pytest.raises(DataError, match=said):
        EvaluationRecord.read(record.folder)
    (record.folder / "runs.jsonl").write_text("{\n")
    with pytest.raises(DataError, match=r"runs\.jsonl:1: not JSON: .*; remove that line"):
        EvaluationRecord.read(record.folder)
    (record.folder / "runs.jsonl").unlink()
    with pytest.raises(DataError, match=r"runs\.jsonl: no such file: .*run its evaluate"):
        EvaluationRecord.read(record.folder)


async def test_the_rollouts_of_an_earlier_version_are_read_once_with_a_line(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = await evaluated(settings(place), Listed())
    runs, older = record.folder / "runs.jsonl", record.folder / "rollouts.jsonl"
    rows = [
        {"problem": to_json(group.problem), "rollout": to_json(rollout)}
        for group in record.groups()
        for rollout in group.rollouts
    ]
    older.write_text("".join(json.dumps(row) + "\n" for row in rows[:4]))
    whole = runs.read_text()
    runs.unlink()
    (record.folder / "problems.jsonl").unlink()
    assert len(EvaluationRecord.read(record.folder).table.runs) == 4
    assert "rollouts.jsonl is of an earlier version" in capsys.readouterr().err
    again = Listed()
    assert (await evaluated(settings(place), again)).missing() == {}
    assert again.ran == [(one.id, 0) for one in ROWS[4:]]
    assert runs.read_text() == whole
    older.write_text("never read again\n")
    assert EvaluationRecord.read(record.folder).missing() == {}
