"""The bank on disk: it grows line by line, outlives a kill, and mixes no two conditions."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.runs.record import RunKey, RunRecord, read_record
from llm_as_judge.runs.table import VERSION, Bank, BankProgram, grading_version, is_bank
from llm_as_judge.types import (
    Completion,
    Execution,
    OperatorCall,
    Problem,
    Program,
    ReplyLogProbs,
    Rollout,
    Verdict,
)

ABOUT = {"executor.model": "small"}
PROBLEM = Problem("gsm8k/val/1", "gsm8k", "math", "1 + 1?", ("2",))
PROGRAM = BankProgram("math", "ab", "direct", "shipped", "return 'x'")


def cell(draw: int = 0, right: float | None = 1.0, problem: str = PROBLEM.id) -> RunRecord:
    return RunRecord(PROGRAM.key, problem, draw, right, 12.5, 40, 2, "ok")


def fill(folder: Path, *cells: RunRecord) -> None:
    with Bank.writing(folder, ABOUT) as bank:
        bank.add_program(PROGRAM)
        bank.add_problem(PROBLEM)
        for one in cells:
            bank.add(one)


def test_what_was_added_is_read_again_and_nothing_is_written_twice(tmp_path: Path) -> None:
    fill(tmp_path, cell(0), cell(1, None))
    with Bank.writing(tmp_path, ABOUT) as bank:
        assert bank.runs[RunKey(PROGRAM.key, PROBLEM.id, 1)].right is None
        assert bank.add_program(replace(PROGRAM, name="other")) == PROGRAM  # equal: the first stays
        bank.add_problem(PROBLEM)
    assert len((tmp_path / "programs.jsonl").read_text().splitlines()) == 1
    assert len((tmp_path / "problems.jsonl").read_text().splitlines()) == 1


def test_a_line_that_a_kill_cut_off_is_no_cell_and_the_next_one_is_whole(tmp_path: Path) -> None:
    fill(tmp_path, cell(0))
    with (tmp_path / "runs.jsonl").open("a") as stream:
        stream.write('{"program": "math/ab", "prob')
    with Bank.writing(tmp_path, ABOUT) as bank:
        assert len(bank.runs) == 1
        bank.add(cell(1))
    assert [key[2] for key in Bank(tmp_path).runs] == [0, 1]


def test_cells_of_other_conditions_are_not_mixed_in(tmp_path: Path) -> None:
    fill(tmp_path, cell())
    with (
        pytest.raises(DataError, match=r"executor\.model: 'small' there, 'large' here"),
        Bank.writing(tmp_path, {"executor.model": "large"}),
    ):
        pass
    assert json.loads((tmp_path / "about.json").read_text()) == ABOUT


def test_a_bank_without_a_run_takes_the_conditions_of_the_next_command(tmp_path: Path) -> None:
    """A first command may have ended before any run, as where the endpoint was not reached."""
    with Bank.writing(tmp_path, {"executor.model": "large"}):
        pass
    fill(tmp_path, cell())
    assert json.loads((tmp_path / "about.json").read_text()) == ABOUT
    with (
        pytest.raises(DataError, match=r"another --bank \(headroom: another --out\)"),
        Bank.writing(tmp_path, {"executor.model": "large"}),
    ):
        pass


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with (
        Bank.writing(tmp_path, ABOUT),
        pytest.raises(OutputError, match="is filling the bank here"),
        Bank.writing(tmp_path, ABOUT),
    ):
        pass


def test_another_problem_of_the_same_id_is_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    with (
        Bank.writing(tmp_path, ABOUT) as bank,
        pytest.raises(DataError, match="gsm8k/val/1 is not the same problem"),
    ):
        bank.add_problem(replace(PROBLEM, answers=("3",)))


def test_a_line_that_is_no_cell_is_named(tmp_path: Path) -> None:
    fill(tmp_path, cell())
    with (tmp_path / "runs.jsonl").open("a") as stream:
        stream.write('{"program": 3}\n')
    with pytest.raises(DataError, match=r"runs\.jsonl:2: .*remove that line"):
        Bank(tmp_path)


def test_a_table_has_a_gap_where_nothing_ran_and_an_open_run_is_not_right(tmp_path: Path) -> None:
    fill(tmp_path, cell(0), cell(2, None))
    table = Bank(tmp_path).table()
    assert table.right_JPD.shape == (1, 1, 3)
    np.testing.assert_array_equal(table.right_JPD[0, 0], [1.0, np.nan, 0.0])
    np.testing.assert_array_equal(table.open_JPD[0, 0], [0.0, np.nan, 1.0])
    np.testing.assert_array_equal(table.cost_JPD[0, 0], [12.5, np.nan, 12.5])


def test_what_can_be_compared_is_programs_that_ran_on_the_same_cells(tmp_path: Path) -> None:
    rows = [replace(PROBLEM, id=f"gsm8k/val/{n}") for n in range(20)]
    poor = replace(PROGRAM, hash="cd")
    with Bank.writing(tmp_path, ABOUT) as bank:
        for program in (PROGRAM, poor, replace(PROGRAM, hash="ef", domain="qa")):
            bank.add_program(program)
        for n, row in enumerate(rows):
            bank.add_problem(row)
            for draw in range(2):
                if n != 7 or draw == 0:
                    bank.add(cell(draw, None if n == 3 else 1.0, row.id))
        bank.add(replace(cell(), program=poor.key, problem=rows[0].id))
    whole = Bank(tmp_path).table().whole("math")
    assert [program.hash for program in whole.programs] == ["ab"]
    assert len(whole.problems) == 19  # the one that misses a draw is out
    assert Bank(tmp_path).table().whole("code").programs == ()


def test_a_bank_of_cells_without_answers_is_read_and_has_the_digest_that_it_had(
    tmp_path: Path,
) -> None:
    fill(tmp_path, replace(cell(), answer="0f" * 8))
    assert [one.answer for one in Bank(tmp_path).runs.values()] == ["0f" * 8]
    digest, path = Bank(tmp_path).sha256(), tmp_path / "runs.jsonl"
    row = json.loads(path.read_text())
    del row["answer"]
    path.write_text(json.dumps(row) + "\n")
    assert [one.answer for one in Bank(tmp_path).runs.values()] == [""]
    assert Bank(tmp_path).sha256() == digest
    path.write_text(json.dumps({**row, "answer": 3}) + "\n")
    with pytest.raises(DataError, match=r"runs\.jsonl:1: 'answer' is 3; remove that line"):
        Bank(tmp_path)


def test_a_bank_says_the_version_of_the_rules_and_an_old_one_is_of_the_first(
    tmp_path: Path,
) -> None:
    assert grading_version(tmp_path / "none") == 1
    for about, version in (({}, 1), ({VERSION: 7}, 7)):
        with Bank.writing(tmp_path / str(version), about):
            pass
        assert grading_version(tmp_path / str(version)) == version
    (tmp_path / "7" / "about.json").write_text("[")
    with pytest.raises(DataError, match=r"about\.json: cannot be read"):
        grading_version(tmp_path / "7")


def test_the_cells_of_an_earlier_version_are_read_once_with_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Bank.writing(tmp_path, {VERSION: 2}) as bank:
        bank.add_program(PROGRAM)
        bank.add_problem(PROBLEM)
    row = {name: value for name, value in cell().as_row().items() if name != "grading_version"}
    (tmp_path / "cells.jsonl").write_text(json.dumps(row) + "\n")
    known = {cell().key: replace(cell(), grading_version=2)}
    assert Bank.named(tmp_path, "bank").runs == known
    assert "cells.jsonl is of an earlier version" in capsys.readouterr().err
    assert not (tmp_path / "runs.jsonl").exists()
    with Bank.writing(tmp_path, {VERSION: 2}) as bank:
        bank.add(cell(1))
    (tmp_path / "cells.jsonl").write_text("never read again\n")
    assert list(Bank(tmp_path).runs) == [cell(n).key for n in range(2)]


@pytest.mark.parametrize("runs", ["runs.jsonl", "cells.jsonl"])
def test_a_folder_is_a_bank_with_programs_and_their_runs(tmp_path: Path, runs: str) -> None:
    assert not is_bank(tmp_path)
    (tmp_path / "programs.jsonl").touch()
    assert not is_bank(tmp_path)
    (tmp_path / runs).touch()
    assert is_bank(tmp_path)
    (tmp_path / "programs.jsonl").unlink()
    assert not is_bank(tmp_path)


def test_a_run_keeps_the_log_probs_of_its_replies_and_the_version_that_graded_it() -> None:
    sure = ReplyLogProbs(12, -0.25)
    calls = (OperatorCall("Custom", logprobs=(sure,)), OperatorCall("Custom"))
    written = Rollout(
        PROBLEM.id,
        3,
        Completion((), (), (), "x", "stop"),
        Program("x", "x"),
        Execution("ok", "2", calls),
        Verdict(True, "exact", "r"),
    )
    for whole in (True, False):
        record = RunRecord.of(PROGRAM.key, written, 7, whole=whole)
        assert (record.logprobs, record.grading_version, record.right) == ((sure,), 7, 1.0)
        assert read_record(json.loads(json.dumps(record.as_row()))) == record


@pytest.mark.parametrize(
    ("name", "value"),
    [("right", 1e308), ("right", math.nan), ("cost", -1.0), ("cost", math.inf), ("calls", 10**30)],
)
def test_a_figure_that_no_run_can_have_is_named(name: str, value: float) -> None:
    sound = RunRecord("p", "x", 0, 1.0, 9.0, 3, 1, "ok").as_row()
    with pytest.raises(TypeError, match=rf"'{name}' is "):
        read_record({**sound, name: value})
