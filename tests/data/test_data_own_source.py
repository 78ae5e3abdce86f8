"""Rows of one's own are a file, or a data set of the hub that becomes one."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest

from llm_as_judge.config import HubRecord
from llm_as_judge.data.files import read_problems
from llm_as_judge.data.hub import DatasetsHub, own_rows
from llm_as_judge.errors import DataError

ROW = b'{"problem": "What is 6 * 7?", "answer": "42", "type": "math"}\n'


class HubOfOneRow(DatasetsHub):
    def __init__(self, reason: str = "", broken: bool = False) -> None:
        self.reason, self.broken = reason, broken
        self.asked: list[HubRecord] = []

    def unreachable(self) -> str:
        return self.reason

    def fetch(self, record: HubRecord, revision: str | None, stream: IO[bytes]) -> str:
        self.asked.append(record)
        stream.write(ROW)
        if self.broken:
            raise DataError("404 not found")
        return "c0ffee"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_set_of_the_hub_becomes_a_file_of_rows_once() -> None:
    hub = HubOfOneRow()
    path = own_rows(Path("some-org/our.rows"), hub)
    assert path == Path("our.rows.jsonl")
    assert [p.answers for p in read_problems(path)] == [("42",)]
    assert [(r.repo, r.splits) for r in hub.asked] == [("some-org/our.rows", ("train",))]
    assert own_rows(Path("some-org/our.rows"), hub) == path
    assert len(hub.asked) == 1


@pytest.mark.parametrize("given", ["mine.jsonl", "a/mine.jsonl", "a/b/c", "/a/b", "mine"])
def test_what_is_no_id_is_a_file_and_asks_nobody(given: str) -> None:
    hub = HubOfOneRow()
    assert own_rows(Path(given), hub) == Path(given)
    assert hub.asked == []


def test_a_file_that_is_there_wins_over_an_id_of_the_same_name() -> None:
    Path("a").mkdir()
    Path("a/b").write_bytes(ROW)
    assert own_rows(Path("a/b"), HubOfOneRow(reason="never asked")) == Path("a/b")


@pytest.mark.parametrize(
    "hub", [HubOfOneRow(reason="404 not found"), HubOfOneRow(broken=True)], ids=["away", "broken"]
)
def test_a_set_that_cannot_be_had_is_one_line_and_leaves_no_file(hub: HubOfOneRow) -> None:
    with pytest.raises(DataError, match=r"a/b: no such file, and not from the hub: 404 not found"):
        own_rows(Path("a/b"), hub)
    assert list(Path().iterdir()) == []
