"""search as a person calls it; the executor is scripted."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from called_verbs import OPTIONS, ROWS, Verbs

from llm_as_judge.cli.searching import _rows
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.evaluation.search.halving import halve
from llm_as_judge.runs.table import Bank

pytestmark = pytest.mark.usefixtures("held_out_rows")

PLAIN = OPTIONS[:6]
SMALL = (*PLAIN, "--data-dir", "data", "--rows", "2", "--draws", "1")


@pytest.fixture(autouse=True)
def validation_rows(folder: Path) -> None:
    rows = [row for rows in ROWS.values() for row in rows]
    write_problems(folder / "data" / "mixed" / "val_mixed.jsonl", rows)


@pytest.mark.slow
def test_search_writes_programs_that_can_be_evaluated_and_again_runs_nothing(
    verb: Verbs, folder: Path
) -> None:
    search = ("search", *SMALL, "--count", "10", "--out", "found")
    out, err = verb.done(*search)
    assert "math: 10 programs on 2 problems" in err
    assert "estimate: " in err
    assert "programs and report.json in found" in out
    files = [folder / "found" / "report.json", folder / "results" / "bank" / "runs.jsonl"]
    before = [path.read_text() for path in files]
    report = json.loads(before[0])
    named = {(c["scope"], c["of"]) for c in report["choices"]}
    assert {("domain", "math"), ("domain", "qa"), ("data set", "gsm8k")} <= named
    for policy in ("found", "found/low", "found/high/sets/gsm8k.py"):
        name = policy.replace("/", "-")
        assert verb("evaluate", *OPTIONS, "--policy", policy, "--name", name)[0] == 0
    assert verb(*search)[0] == 0
    assert [path.read_text() for path in files] == before


def test_rows_that_the_bank_knows_are_searched_on_first(verb: Verbs, folder: Path) -> None:
    known = {rows[-1].id for rows in ROWS.values() if rows[0].domain != "code"}
    with Bank.writing(folder / "results" / "bank", {}) as bank:
        for row in (row for rows in ROWS.values() for row in rows if row.id in known):
            bank.add_problem(row)
    settings = Config.model_validate({"data": {"data_dir": "data"}})
    for rows in _rows(settings, "val", 1, folder / "results" / "bank").values():
        assert [row.id in known for row in rows] == [rows[0].domain != "code"]


@pytest.mark.slow
def test_programs_of_a_folder_take_part(verb: Verbs, folder: Path) -> None:
    Path("exported").mkdir()
    Path("exported/qa.py").write_text(
        "draft = await answer_generate(input=problem)\nreturn draft['thought']"
    )
    assert "none: no such folder" in verb.refused("search", *SMALL, "--programs", "none")
    verb.done("search", *SMALL, "--programs", "exported", "--count", "1")
    programs = (folder / "results" / "bank" / "programs.jsonl").read_text()
    assert "exported/qa.py" in programs


def test_a_count_of_none_takes_the_given_programs_alone(verb: Verbs, folder: Path) -> None:
    Path("given/math").mkdir(parents=True)
    Path("given/math/one.py").write_text("return (await answer_generate(input=problem))['answer']")
    refused = verb.refused("search", *SMALL, "--programs", "given", "--count", "0")
    assert "--programs has no program of qa" in refused
    Path("given/qa.py").write_text("return (await answer_generate(input=problem))['thought']")
    verb.done("search", *SMALL, "--programs", "given", "--count", "0")
    lines = (folder / "results" / "bank" / "programs.jsonl").read_text().splitlines()
    assert {json.loads(line)["name"] for line in lines} == {"given/math/one.py", "given/qa.py"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--split", "test"), "nothing is chosen on test rows"),
        (
            ("--draws", "2", "--set", "executor.temperature=0"),
            "draws of a greedy executor are all the same",
        ),
    ],
    ids=["split", "greedy"],
)
def test_what_does_not_fit_is_one_line(verb: Verbs, options: tuple[str, ...], said: str) -> None:
    assert said in verb.refused("search", *SMALL, *options)


def test_a_type_of_one_row_is_left_out_and_too_few_rows_are_refused_before_the_estimate(
    verb: Verbs, folder: Path
) -> None:
    rows, search = folder / "data" / "mixed" / "val_mixed.jsonl", ("search", *SMALL, "--count", "1")
    write_problems(rows, [*ROWS["gsm8k"], ROWS["hotpotqa"][0]])
    _, err = verb.done(*search)
    assert "left out: qa has 1 row of val, wanted 2 or more of a type" in err
    write_problems(rows, [ROWS["gsm8k"][0], ROWS["hotpotqa"][0]])
    code, out, err = verb(*search, "--bank", "none")
    assert code == 2, err
    wanted = "wanted 2 or more of a type to choose a program on; take --split train, or add rows"
    assert f"math has 1 row, qa has 1 row of val, {wanted}" in err
    assert "estimate" not in out + err


def test_a_search_that_is_stopped_says_what_is_kept(
    verb: Verbs, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stopped_at(*arguments: Any, **more: Any) -> Any:
        found = await halve(*arguments, **more)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)
        return found

    monkeypatch.setattr("llm_as_judge.evaluation.search.run.halve", stopped_at)
    code, _, err = verb("search", *SMALL, "--count", "2")
    assert code == 128 + signal.SIGTERM
    assert "finished runs are kept in results/bank: the same command goes on" in err
    assert (folder / "results" / "bank" / "runs.jsonl").is_file()


def test_a_search_whose_folder_cannot_be_made_asks_nobody(verb: Verbs, folder: Path) -> None:
    Path("taken").write_text("x")
    assert "taken: cannot be written" in verb.refused("search", *SMALL, "--out", "taken", status=2)
    assert not (folder / "results" / "bank").exists()
