"""Results files: the documented form, what is not replaced, broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from listed_system import QA, ROWS, Listed, begun, evaluated, rows_in, settings
from written_results import row, written

from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.layout import read_full, read_results, run_folder
from llm_as_judge.evaluation.results import results_of, write_results
from llm_as_judge.evaluation.system_results import read_systems


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
        "judge": "none",
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
