"""A page's table is what compare makes of the figures that are shipped, and neither they nor the shipped
replies hold a row of a data set."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from llm_as_judge.cli import main
from llm_as_judge.config import Config
from llm_as_judge.llm.pool import POOL, Pool
from llm_as_judge.llm.rounds import NOTES
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.program import form_of, parse_program

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PAGES = ("baselines", "adaptive")
FIGURES = sorted(
    file
    for folder in ("baselines", "adaptive/held_out")
    for file in (EXAMPLES / folder).glob("*/*/full.json")
)
DRAWS = 5
"""Runs of each program."""


def shown(page: str) -> list[Path]:
    """Files of the command that makes the page's table: compare examples/FOLDER/{a,b}/* ... --against cot."""
    text = (ROOT / "docs" / "results" / f"{page}.md").read_text()
    (command,) = re.findall(
        r"llm-as-judge compare (examples/.+) --against cot --by-domain --markdown", text
    )
    files = []
    for given in command.split():
        folder, names = re.fullmatch(r"examples/(.+)/\{([\w,]+)\}/\*", given).groups()  # type: ignore[union-attr]
        files += [
            path for name in names.split(",") for path in (EXAMPLES / folder / name).iterdir()
        ]
    return files


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_of_the_page_are_what_compare_makes_of_the_shipped_figures(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "results" / f"{name}.md").read_text()
    monkeypatch.setenv("COLUMNS", "400")
    files = map(str, shown(name))
    with pytest.raises(SystemExit) as caught:
        main(["compare", *files, "--against", "cot", "--by-domain", "--markdown"])
    assert caught.value.code in (0, None)
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) > 40
    assert [row for row in rows if row not in page] == []


def test_no_figures_are_shipped_that_no_page_shows() -> None:
    assert {file.parent for file in FIGURES} == {path for page in PAGES for path in shown(page)}


@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.parent.parent.name)
def test_the_figures_hold_names_and_hashes_in_place_of_texts(file: Path) -> None:
    full = json.loads(file.read_text())
    assert (full["complete"], full["draws"], full["split"]) == (True, DRAWS, "test")
    for row in full["problems"]:
        words = [row["id"], row["content"], *row["rule"], *row["status"], *row["answers"]]
        assert max(map(len, words)) < 40
        assert len(row["correct"]) == DRAWS


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_programs_that_the_wide_search_chose_are_valid(domain: Domain) -> None:
    text = (EXAMPLES / "adaptive" / "programs" / f"{domain}.py").read_text()
    most = Config().workflow.max_worst_case_calls
    assert parse_program(text, domain, form_of(text), max_calls=most).strictly_valid


def test_the_shipped_replies_are_whole_and_without_what_was_asked() -> None:
    folder = EXAMPLES / "pool"
    with closing(Pool(folder)) as pool:
        assert len(pool) > 3000
        assert pool.check() == 0
        assert list(pool.asked()) == []
    with closing(sqlite3.connect(f"file:{folder / POOL}?mode=ro", uri=True)) as database:
        assert database.execute("SELECT COUNT(*) FROM prompts WHERE length(asked)").fetchone() == (
            0,
        )
        topics = {topic for (topic,) in database.execute("SELECT DISTINCT topic FROM notes")}
        assert topics <= set(NOTES)
