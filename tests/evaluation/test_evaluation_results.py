"""Results files: the documented form, what is not replaced, broken ones."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from evaluation_values import CALL, OK, RIGHT, WRONG, rollout
from listed_system import QA, ROWS, Listed, begun, evaluated, rows_in, settings
from written_results import row, written

from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.layout import read_full, read_results, run_folder
from llm_as_judge.evaluation.results import full_results_of, results_of, write_results
from llm_as_judge.evaluation.system_results import read_systems
from llm_as_judge.evaluation.systems import Keep, Opened, PolicySystem
from llm_as_judge.statistics import bootstrap, share_interval
from llm_as_judge.types import Execution, IsolationReport, Problem, Program, Rollout, Verdict


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return rows_in(tmp_path)


async def test_results_have_the_documented_form(place: Path) -> None:
    record = await evaluated(settings(place, evaluation={"samples": 2}), Listed())
    path = write_results(record, place / "results" / "evaluation")
    assert path == place / "results" / "evaluation" / "x_results.json"
    found = read_results(path).as_json()
    assert found == json.loads(json.dumps(results_of(record).as_json()))
    assert {k: found[k] for k in ("model", "policy", "checkpoint", "executor", "judge")} == {
        "model": "qwen25-7b",
        "policy": "listed",
        "checkpoint": None,
        "executor": "scripted",
        "judge": "rules",
    }
    (row,) = found["datasets"]  # squad2 is left out: the system is for math only
    assert (row["dataset"], row["domain"], row["official"]) == ("gsm8k", "math", ["accuracy"])
    assert (row["num_samples"], row["rows_in_test_file"], row["sample"]) == (6, 6, "all rows")
    assert row["metrics"]["accuracy"] == 1.0
    balanced = {key: found["overall"].pop(key) for key in list(found["overall"]) if "macro" in key}
    assert found["domains"]["math"] == found["overall"] == row["metrics"]
    assert balanced["macro_accuracy"] == found["overall"]["accuracy"]  # of one set
    assert balanced["macro_sets"] == 1
    full = json.loads((run_folder(path) / "full.json").read_text())
    assert [p["id"] for p in full["problems"]] == [p.id for p in ROWS]
    assert full["problems"][0]["correct"] == [True, True]
    assert full["totals"]["tokens"] == 12 * 40
    assert full["config"]["executor"]["model"] == "scripted"


async def test_a_set_that_was_not_reached_has_no_accuracy_and_its_results_can_be_read(
    place: Path,
) -> None:
    system = Listed(most=6)
    system.domains = frozenset({"math", "qa"})
    with pytest.raises(KeyboardInterrupt):
        await evaluated(settings(place), system)
    path = write_results(begun(settings(place), system), place / "results" / "evaluation")
    found = read_results(path)
    accuracies = {row.dataset: row.metrics["accuracy"] for row in found.datasets}
    assert accuracies == {"gsm8k": 1.0, "squad2": None, "mixed": 1.0}
    assert found.domains["qa"]["tokens"] is None
    (one,) = read_systems([path])
    assert (one.accuracy(dataset="squad2"), len(one.correct)) == (None, 6)


async def test_a_stopped_evaluation_does_not_replace_finished_results(place: Path) -> None:
    folder = place / "results" / "evaluation"
    whole = write_results(await evaluated(settings(place), Listed()), folder)
    before = whole.read_bytes()
    stopped = begun(settings(place), Listed(version="2"))
    assert write_results(stopped, folder).read_bytes() == before
    assert not json.loads((stopped.folder / "full.json").read_text())["complete"]
    done = await evaluated(settings(place), Listed(version="2"))
    assert write_results(done, folder).read_bytes() != before


async def test_results_of_another_evaluation_stay_where_comparisons_find_them(place: Path) -> None:
    folder = place / "results" / "evaluation"
    first = await evaluated(settings(place), Listed())
    door = write_results(first, folder)
    whole = door.read_bytes()
    kept: list[Path] = []
    assert write_results(first, folder, kept.append) == door
    assert not kept  # the same evaluation again
    other = await evaluated(settings(place, evaluation={"limit_per_set": 1}), Listed())
    write_results(other, folder, kept.append)
    assert kept == [first.folder / "x_results.json"]
    assert kept[0].read_bytes() == whole != door.read_bytes()
    assert run_folder(door) == run_folder(other.folder / "x_results.json") == other.folder
    assert len(read_systems([kept[0], door])) == 2


async def test_results_without_a_copy_of_their_own_get_one_before_they_are_replaced(
    place: Path,
) -> None:
    folder = place / "results" / "evaluation"
    first = await evaluated(settings(place), Listed())
    other = await evaluated(settings(place), Listed(version="2"))
    door = write_results(first, folder)
    whole = door.read_bytes()
    (first.folder / door.name).unlink()
    write_results(other, folder)
    assert (first.folder / door.name).read_bytes() == whole
    for foreign in (b"{}", whole.replace(first.plan.hash.encode(), b"gone")):
        door.write_bytes(foreign)
        kept: list[Path] = []
        write_results(other, folder, kept.append)
        assert kept[0].parent == folder
        assert kept[0].read_bytes() == foreign


async def test_the_mix_has_a_row_and_no_part_in_the_overall_figure(place: Path) -> None:
    write_problems(place / "mixed" / "test_mixed.jsonl", ROWS[:2])
    both = settings(place, evaluation={"sets": ["gsm8k", "mixed"]})
    system = Listed()
    found = results_of(await evaluated(both, system)).as_json()
    assert len(system.ran) == 6  # a problem of two sets is run once
    assert [row["num_samples"] for row in found["datasets"]] == [6, 2]
    assert found["overall"]["graded"] == 6
    alone = settings(place, evaluation={"sets": ["mixed"]})
    assert results_of(await evaluated(alone, Listed())).overall["graded"] == 2


def test_a_results_file_without_its_folder_says_that_it_belongs_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "cot_results.json"
    whole = written(tmp_path, "cot", [row(0, [True], 9)]) / "full.json"
    path.write_text(json.dumps({**json.loads(whole.read_text()), "run": "gone/hash"}))
    with pytest.raises(DataError, match=r"its folder .*gone/hash is not there: .* copy both"):
        read_full(path)


async def test_a_result_that_failed_on_every_row_knows_its_first_failure(place: Path) -> None:
    everything = Listed(fails=[one.id for one in (*ROWS, *QA)])
    record = await evaluated(settings(place), everything)
    path = write_results(record, place / "results" / "evaluation")
    (dead,) = read_systems([path])
    assert (dead.right, dead.failed) == ({}, "the endpoint is down")


# ---------------------------------------------------------------------- several runs of a program
DRAWS = 3


def drawn(of: Problem, verdicts: Sequence[Verdict]) -> Rollout:
    """Run m makes m + 1 calls."""
    runs = [Execution("ok", "4", (CALL,) * (m + 1), seconds=1.0) for m in range(DRAWS)]
    first = replace(runs[0], again=tuple(runs[1:]))
    graded = [v.correct for v in verdicts if v.correct is not None]
    verdict = replace(verdicts[0], share=fmean(graded), again=tuple(verdicts[1:]))
    return rollout(of, first, verdict)


class Drawing(PolicySystem):
    """Row n is right in n of its three runs, row 4 never ran, row 5 has one run that nobody could grade."""

    def check(self, config: Config) -> None:
        pass

    @asynccontextmanager
    async def open(self, config: Config) -> AsyncIterator[Opened]:
        async def attempt(wanted: Sequence[tuple[Problem, int]], keep: Keep) -> None:
            for of, _ in wanted:
                number = int(of.id.rpartition("/")[2])
                verdicts = [RIGHT] * number + [WRONG] * (DRAWS - number)
                if number == 4:
                    keep(rollout(of, Execution("malformed"), WRONG, program=Program("?", "")))
                elif number == 5:
                    keep(drawn(of, [Verdict(None, "llm", "unsure"), RIGHT, WRONG]))
                else:
                    keep(drawn(of, verdicts))

        yield Opened(attempt, IsolationReport("jail", {}))


async def results_file(place: Path) -> tuple[Path, Any]:
    config = settings(
        place,
        executor={"model": "scripted", "temperature": 0.7},
        data={"data_dir": place, "sets": ["gsm8k"], "train_file": place / "none"},
        workflow={"draws": DRAWS},
    )
    record = await evaluated(config, Drawing("drawing", None))
    return write_results(record, place / "results" / "evaluation"), full_results_of(record)


async def test_each_run_is_listed_and_a_problem_is_their_mean(place: Path) -> None:
    path, full = await results_file(place)
    right = [0, 1 / 3, 2 / 3, 1, 0, 1 / 3]
    assert (full.samples, full.draws) == (1, DRAWS)
    assert full.overall["accuracy"] == pytest.approx(fmean(right))
    assert full.problems[1].correct == (True, False, False)
    assert full.problems[1].calls == (2, 4, 6)
    assert full.problems[4].correct == (False, False, False)
    assert full.problems[5].correct == (None, True, False)
    assert full.overall["graded"] == 6 * DRAWS - 1
    assert full.overall["calls"] == pytest.approx(5 * 4 / 6)
    (system,) = read_systems([path])
    assert list(system.correct.values()) == pytest.approx(right)


async def test_intervals_are_over_problems_whatever_the_runs(place: Path) -> None:
    _, full = await results_file(place)
    right = [0, 1 / 3, 2 / 3, 1, 0, 1 / 3]
    most = [*right[:-1], 2 / 3]  # one run of the last is open
    overall = full.overall
    ends = share_interval(right)[0], share_interval(most)[1]
    assert (overall["accuracy_low"], overall["accuracy_high"]) == ends
    ends = bootstrap(right)[0], bootstrap(most)[1]
    assert (overall["bootstrap_low"], overall["bootstrap_high"]) == ends


async def test_a_program_is_written_once_however_often_it_runs(place: Path) -> None:
    _, full = await results_file(place)
    assert full.totals["policy_tokens"] == 6 * 3
    assert full.overall["policy_tokens"] == 3
    assert full.totals["calls"] == 5 * 12


def test_a_rollout_without_further_runs_is_the_same_in_each_draw() -> None:
    one = rollout(ROWS[0], OK, RIGHT)
    assert one.each_draw(1) == (one,)
    assert one.each_draw(3) == (one, one, one)
    kept_before = replace(
        drawn(ROWS[0], [RIGHT, WRONG, RIGHT]), verdict=replace(RIGHT, share=2 / 3)
    )
    assert [r.verdict for r in kept_before.each_draw(3)] == [RIGHT, None, None]


async def test_votes_can_be_counted_without_an_answer_in_clear(place: Path) -> None:
    path, full = await results_file(place)
    row = full.problems[2]
    assert len(set(row.answers)) == 1  # all say 4
    assert full.problems[4].answers == ("", "", "")
    assert full.salt
    (kept,) = path.parent.glob("x/*/full.json")
    assert '"4"' not in kept.read_text()
