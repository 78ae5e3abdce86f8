"""The table of baselines is what compare makes of the figures that are shipped, and neither they nor the
shipped replies hold a row of a data set."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from llm_as_judge.cli import main
from llm_as_judge.llm.pool import POOL, Pool

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "baselines"
PAGE = ROOT / "docs" / "results" / "baselines.md"
SYSTEMS = sorted(path.parent.parent.name for path in FOLDER.glob("*/*/full.json"))


def test_the_tables_of_the_page_are_what_compare_makes_of_the_shipped_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text()
    (given,) = re.findall(r"compare examples/baselines/\{([\w,]+)\}/\* --against cot", page)
    names = given.split(",")
    assert sorted(names) == SYSTEMS
    files = [str(path) for name in names for path in (FOLDER / name).iterdir()]
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit) as caught:
        main(["compare", *files, "--against", "cot", "--by-domain", "--markdown"])
    assert caught.value.code in (0, None)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) > 40
    assert [row for row in rows if row not in page] == []


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_figures_hold_names_and_hashes_in_place_of_texts(name: str) -> None:
    (file,) = (FOLDER / name).glob("*/full.json")
    full = json.loads(file.read_text())
    assert (full["complete"], full["draws"], full["split"]) == (True, 3, "test")
    for row in full["problems"]:
        words = [row["id"], row["content"], *row["rule"], *row["status"], *row["answers"]]
        assert max(map(len, words)) < 40
        assert len(row["correct"]) == 3


def test_the_shipped_replies_are_whole_and_without_what_was_asked() -> None:
    folder = FOLDER / "pool"
    with closing(Pool(folder)) as pool:
        assert len(pool) > 3000
        assert pool.check() == 0
        assert list(pool.asked()) == []
    with closing(sqlite3.connect(f"file:{folder / POOL}?mode=ro", uri=True)) as database:
        assert database.execute("SELECT COUNT(*) FROM prompts WHERE length(asked)").fetchone() == (
            0,
        )
        assert database.execute("SELECT DISTINCT topic FROM notes").fetchall() in (
            [],
            [("filled",)],
        )
