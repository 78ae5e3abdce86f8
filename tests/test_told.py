"""Reasons that are the same for many rows are told once; a text that is not UTF-8 says how to convert it."""

from __future__ import annotations

import pytest

from llm_as_judge.told import invalid_utf8, names, told_once


def test_reasons_that_differ_in_figures_alone_are_told_once_a_file() -> None:
    found = [
        ("a.csv:3", "found 2 cells, wanted 3"),
        ("a.csv:5", "'answer' is empty"),
        ("a.csv:9", "found 4 cells, wanted 3"),
        ("b.json:1 (record 7)", "found 2 cells, wanted 3"),
        ("c.jsonl", "no such file"),
    ]
    assert told_once(found) == [
        "a.csv:3: found 2 cells, wanted 3; the same in 1 more row (9)",
        "a.csv:5: 'answer' is empty",
        "b.json:1 (record 7): found 2 cells, wanted 3",
        "c.jsonl: no such file",
    ]


def test_lines_and_names_are_told_up_to_eight() -> None:
    (line,) = told_once([(f"a:{n}", "bad") for n in range(1, 21)])
    assert line == "a:1: bad; the same in 19 more rows (2, 3, 4, 5, 6, 7, 8, 9 ...)"
    assert names("abcdefghij") == "a, b, c, d, e, f, g, h ..."
    assert names([]) == "none"
    assert names(["a\x1bb\udcfc", 3]) == "a\ufffdb\ufffd, 3"


@pytest.mark.parametrize(
    ("found", "encoding"),
    [
        ("Zürich".encode("latin-1"), "WINDOWS-1252"),
        ("ab".encode("utf-16"), "UTF-16"),
        ("ab".encode("utf-16-le"), "UTF-16"),
        ("ab".encode("utf-16-be"), "UTF-16"),
    ],
)
def test_a_text_that_is_not_utf_8_is_told_with_how_to_convert_its_file(
    found: bytes, encoding: str
) -> None:
    said = invalid_utf8(found, 1)
    assert said.startswith("invalid UTF-8 at byte 1; ")
    assert said.endswith(f"iconv -f {encoding} -t UTF-8 FILE > NEW")
