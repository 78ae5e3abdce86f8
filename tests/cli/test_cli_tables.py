"""Tables stay whole at 80 columns: no name and no figure is broken."""

from __future__ import annotations

import pytest

from llm_as_judge.views.tables import show_table, turned

NAMES = ("direct *", "program_of_thought", "qwen25-coder-0.5b_untrained", "self_consistency")


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_ten_columns_are_several_tables_with_names_and_figures_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    head = ["", *NAMES, *NAMES, "cot", "random"]
    rows = [[name, *["100 [100, 100]"] * 10] for name in ("gsm8k", "right per 1,000 tokens")]
    show_table("Accuracy", head, rows, markdown=False)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("100 [100, 100]") == 20
    words = out.split()
    for name in NAMES[1:]:
        assert words.count(name) == 2  # whole in each of its two columns
    assert words.count("Accuracy") == 1
    assert words.count("gsm8k") == 5  # each table names its rows


def test_a_name_that_no_table_has_room_for_is_broken_at_its_parts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_table("", ["", "a_long_name_" * 9], [["x", "1"]], markdown=False)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("long_name_") == 9


def test_rows_can_be_shown_as_columns() -> None:
    assert turned(["", "p", "q"], [["x", "1", "2"], ["y", "3", "4"]]) == (
        ["", "x", "y"],
        [["p", "1", "3"], ["q", "2", "4"]],
    )


def test_a_table_that_fits_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("T", ["", "a b", "c"], [["x", "1", "2"], ["[y]", "3", "4"]], markdown=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["T"], ["a", "b", "c"], ["x", "1", "2"], ["[y]", "3", "4"]]


def test_a_document_gets_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("T", ["", "a"], [["x", "1"]], markdown=True)
    assert capsys.readouterr().out == "**T**\n\n|  | a |\n| --- | ---: |\n| x | 1 |\n\n"
