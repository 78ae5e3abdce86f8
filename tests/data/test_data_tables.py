"""Own rows come as CSV, TSV and parquet, too: the first line, or the schema, names the columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from llm_as_judge.data.catalog import custom_datasets
from llm_as_judge.data.files import ProblemFile, own_problems
from llm_as_judge.errors import DataError
from llm_as_judge.types import Problem

ROWS: list[dict[str, Any]] = [
    {"problem": "What is 3, times 10?", "answer": "30", "type": "math", "context": None},
    {"problem": "Who?", "answer": ["Ann", "Anna"], "type": "qa", "context": "Ann came."},
]


def csv(path: Path) -> None:
    path.write_text(
        'problem,answer,type,context\n"What is 3, times 10?",30,math,\n'
        'Who?,"[""Ann"", ""Anna""]",qa,Ann came.\n'
    )


def tsv(path: Path) -> None:
    path.write_text(
        "problem\tanswer\ttype\tcontext\nWhat is 3, times 10?\t30\tmath\t\n"
        'Who?\t"[""Ann"", ""Anna""]"\tqa\tAnn came.\n'
    )


def parquet(path: Path) -> None:
    table = {name: [row[name] for row in ROWS] for name in ("problem", "type", "context")}
    answers = [["30"], ["Ann", "Anna"]]
    pq.write_table(pa.table({**table, "answer": answers}), path)


@pytest.mark.parametrize("write", [csv, tsv, parquet], ids=lambda write: write.__name__)
def test_a_table_is_read_by_its_columns(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / f"rows.{write.__name__}"
    write(path)
    first, second = own_problems(path)
    assert (first.question, first.answers, first.domain) == (
        "What is 3, times 10?",
        ("30",),
        "math",
    )
    assert (second.answers, second.context) == (("Ann", "Anna"), "Ann came.")
    sets = {one.name: one for one in custom_datasets(path)}
    assert sorted(sets) == ["rows_math", "rows_qa"]
    found = [
        one.convert(row, "custom")
        for one in sets.values()
        for row in one.rows([path])
        if isinstance(row.record, dict)
    ]
    assert [problem.question for problem in found if isinstance(problem, Problem)] == [
        first.question,
        second.question,
    ]


def test_a_tolerance_is_a_number_and_an_answer_is_the_text_of_its_cell(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("problem,answer,type,tolerance\nHow many?,007,math,0.5\n")
    (found,) = own_problems(tmp_path / "rows.csv")
    assert (found.answers, found.spec.tolerance) == (("007",), 0.5)


def test_a_cell_of_an_empty_list_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("problem,answer,type\nWho?,[],qa\nWhich?,[sic],qa\n")
    unanswerable, text = own_problems(tmp_path / "rows.csv")
    assert (unanswerable.answers, text.answers) == ((), ("[sic]",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "problem,answer,type\nWho?,Ann\n",
            r"rows\.csv:2: found 2 cells, wanted 3, as in the first",
        ),
        (
            "Who?,Ann,Ann\nWho?,Ann,qa\n",
            r"rows\.csv:1: found the first line 'Who\?', 'Ann', 'Ann'; wanted",
        ),
        (
            "problem,answer,type\nWho?,,qa\n",
            r"rows\.csv: no row has 'answer' \(found: problem, type\)",
        ),
        (
            "problem,answer,type\nWho?,Ann,qa\nWho?,,qa\n",
            r"rows\.csv:3: no 'answer' \(keys: problem, type\)",
        ),
        (
            "Who?,Ann\nWhich?,Bob\n",
            r"no row has 'problem', 'answer', 'type' \(found: Who\?, Ann\); .* the first line names$",
        ),
    ],
)
def test_a_table_that_is_none_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        own_problems(tmp_path / "rows.csv")


def test_a_table_in_the_place_of_prepared_rows_says_how_to_prepare_them(tmp_path: Path) -> None:
    csv(tmp_path / "rows.csv")
    with pytest.raises(
        DataError, match=r"rows\.csv: a table, wanted JSON lines; make them: .* init"
    ):
        ProblemFile(tmp_path / "rows.csv")


def refused(path: Path) -> str:
    with pytest.raises(DataError) as told:
        list(own_problems(path))
    return str(told.value)


def test_a_cell_that_is_a_list_as_text_is_that_list_in_parquet_too(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    answers = ['["Ann", "Anna"]', "[]", '["a", 1]', "[0, 1)"]
    table = {"problem": [f"Who is number {n}?" for n in range(4)], "answer": answers}
    pq.write_table(pa.table({**table, "type": ["qa"] * 4, "context": ["Text."] * 4}), path)
    found = [problem.answers for problem in own_problems(path)]
    assert found == [("Ann", "Anna"), (), ("a", "1"), ("[0, 1)",)]


@pytest.mark.parametrize("cell", ['"[""a"", b]"', '"[1, 2"', "\"['a', 'b']\""])
def test_what_looks_like_a_list_and_is_none_is_refused(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"type,problem,answer,kind\nqa,Who?,{cell},\n")
    assert "looks like a list and is no JSON" in refused(path)
    path.write_text(f"type,problem,answer,kind\nqa,Who?,{cell},short_text\n")
    (problem,) = own_problems(path)
    assert problem.answers[0].startswith("[")


def test_a_long_cell_is_read_and_a_row_of_separators_is_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"type,problem,answer\nqa,{'x' * 300_000},red\n,,\n")
    (problem,) = own_problems(path)
    assert len(problem.question) == 300_000


def test_names_of_columns_in_other_case_are_named_with_the_right_ones(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("Type,Problem,Answer\nmath,2+2?,4\n")
    with pytest.raises(DataError) as told:
        custom_datasets(path)
    assert "'Type', 'Problem', 'Answer'; did you mean 'type', 'problem', 'answer'?" in str(
        told.value
    )
