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
    for folder in ("baselines", "adaptive/held_out", "adaptive/held_out_05")
    for file in (EXAMPLES / folder).glob("*/*/full.json")
)


def draws(file: Path) -> int:
    """Runs of each program."""
    return 3 if "held_out_05" in file.parts else 5


def shown(page: str) -> list[tuple[list[Path], list[str]]]:
    """Files and options of the commands that make the page's tables:
    compare examples/FOLDER/{a,b}/* ... --against cot ..."""
    text = (ROOT / "docs" / "results" / f"{page}.md").read_text()
    commands = re.findall(
        r"llm-as-judge compare (examples/.+?) (--against cot(?: --by-domain)? --markdown)", text
    )
    found = []
    for given, options in commands:
        files = []
        for one in given.split():
            folder, names = re.fullmatch(r"examples/(.+)/\{([\w,]+)\}/\*", one).groups()  # type: ignore[union-attr]
            files += [
                path for name in names.split(",") for path in (EXAMPLES / folder / name).iterdir()
            ]
        found.append((files, options.split()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_tables_of_the_page_are_what_compare_makes_of_the_shipped_figures(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "results" / f"{name}.md").read_text()
    monkeypatch.setenv("COLUMNS", "400")
    tables = shown(name)
    assert tables
    for files, options in tables:
        with pytest.raises(SystemExit) as caught:
            main(["compare", *map(str, files), *options])
        assert caught.value.code in (0, None)
        rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
        assert len(rows) > 20
        assert [row for row in rows if row not in page] == []


def test_no_figures_are_shipped_that_no_page_shows() -> None:
    tables = [table for page in PAGES for table in shown(page)]
    assert {file.parent for file in FIGURES} == {path for files, _ in tables for path in files}


@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.parent.parent.name)
def test_the_figures_hold_names_and_hashes_in_place_of_texts(file: Path) -> None:
    full = json.loads(file.read_text())
    assert (full["complete"], full["draws"], full["split"]) == (True, draws(file), "test")
    for row in full["problems"]:
        words = [row["id"], row["content"], *row["rule"], *row["status"], *row["answers"]]
        assert max(map(len, words)) < 40
        assert len(row["correct"]) == draws(file)


def test_the_training_problems_are_named_by_their_ids_alone() -> None:
    named = {}
    for name in ("train_ids", "search_ids"):
        lines = (EXAMPLES / "adaptive" / f"{name}.txt").read_text().splitlines()
        assert all(re.fullmatch(r'"[a-z0-9]+/(train|all|sanitized)/\w+"', line) for line in lines)
        named[name] = set(lines)
    assert (len(named["train_ids"]), len(named["search_ids"])) == (501, 432)
    assert named["search_ids"] < named["train_ids"]


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
