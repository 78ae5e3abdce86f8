"""Levers beside fixed programs: the programs that are written, and the table of a bank made by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from levers import hull, levers, mixture, references, report, write_programs
from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.operators.stopping import FEATURES, StopRule, StopTable
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import DOMAINS, Domain, Problem
from llm_as_judge.workflow.program import parse_program

RULE = {"0.1": StopRule(((0.0,) * (1 + len(FEATURES)),), ())}
STOP = StopTable(
    {},
    {"math": ("cot", "program_of_thought"), "qa": ("cot",), "code": ("direct",)},
    {},
    dict.fromkeys(DOMAINS, RULE),
)
NO_STOP = StopTable({}, {}, {}, {})


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_program_passes_the_check_and_no_two_of_a_kind_are_equal(domain: Domain) -> None:
    known, tried = references(domain), levers(domain, STOP)
    for texts in (known, {n: t for n, t in tried.items() if n != "together"}):
        parsed = [parse_program(text, domain, "body") for text in texts.values()]
        assert all(program.strictly_valid for program in parsed)
        assert len({program.hash for program in parsed}) == len(parsed)
    assert not known.keys() & tried.keys()
    assert {"stop", "together"} <= tried.keys()
    assert "stop" not in levers(domain, NO_STOP)


def test_all_levers_are_there_and_a_folder_is_written_once(tmp_path: Path) -> None:
    out = tmp_path / "programs"
    assert len(write_programs(out, STOP)) == 3
    assert {"stop", "retrieve", "retrieve_vote_of_3", "together", "cot_vote_4"} <= {
        path.stem for path in (out / "qa").iterdir()
    }
    assert {"stop", "together", "until_passed_3"} <= {p.stem for p in (out / "code").iterdir()}
    with pytest.raises(OutputError, match="there already; name another folder"):
        write_programs(out, STOP)


def filled(folder: Path, part: str, *, problems: int = 40, less: str = "") -> Bank:
    """Mathematics: each reference costs 100 a call and is right on half of the rows; the stop costs as much as a
    vote of three and is right on three of four."""
    folder.mkdir()
    bank = Bank(folder)
    texts = references("math") | levers("math", STOP)
    rows = [Problem(f"gsm8k/{part}/{n}", "gsm8k", "math", "?", ("1",)) for n in range(problems)]
    for row in rows:
        bank.add_problem(row)
    done = set()
    for name, text in texts.items():
        program = parse_program(text, "math", "body")
        if name == less or program.hash in done:
            continue
        done.add(program.hash)
        kept = bank.add_program(BankProgram("math", program.hash, name, "given", text))
        for n, row in enumerate(rows):
            better = name == "stop"
            cost = 300.0 if better else 100.0 * program.worst_case_calls
            right = float(n % 4 != 0 if better else n % 2)
            bank.add(RunRecord(kept.key, row.id, 0, right, cost, 200, 1, "ok", "a"))
    return bank


def test_a_lever_stands_beside_what_is_as_dear_and_what_is_as_right(tmp_path: Path) -> None:
    learned, fresh = filled(tmp_path / "a", "train"), filled(tmp_path / "b", "test")
    lines = report(learned, fresh, STOP).splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines[2:]]
    assert [cell[:4] for cell in cells] == [
        ["math", "stop", "75.0", "300"],
        ["math", "together", "75.0", "300"],
    ]
    reference, points, p, ratio = cells[0][4:]
    assert reference in references("math")
    assert points.startswith("+25.0 [+1")
    assert float(p) < 0.01
    assert ratio == "-"  # no fixed program is right as often


def test_rows_of_both_banks_and_missing_runs_are_one_line(tmp_path: Path) -> None:
    learned = filled(tmp_path / "a", "train")
    with pytest.raises(DataError, match=r"gsm8k/train/0 is in .*, too; name fresh rows"):
        report(learned, learned, STOP)
    with pytest.raises(DataError, match=r"math: no run of 'cot_vote_4'; run: llm-as-judge search"):
        report(learned, filled(tmp_path / "b", "test", less="cot_vote_4"), STOP)
    with pytest.raises(DataError, match="29 problems have every run; 30 are wanted"):
        report(learned, filled(tmp_path / "c", "test", problems=29), STOP)


def test_the_hull_leaves_out_what_a_mixture_beats() -> None:
    right, cost = np.array([0.1, 0.5, 0.2, 0.6, 0.6]), np.array([1.0, 3.0, 2.0, 4.0, 5.0])
    assert hull(right, cost) == [0, 1, 3]


def test_a_mixture_costs_what_is_wanted_and_never_leaves_the_ends() -> None:
    assert mixture([1.0, 3.0, 4.0], 2.0) == [(0, 0.5), (1, 0.5)]
    assert mixture([1.0, 3.0, 4.0], 0.5) == [(0, 1.0)]
    assert mixture([1.0, 3.0, 4.0], 9.0) == [(2, 1.0)]
