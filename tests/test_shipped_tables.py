"""A page's tables are what its commands make of the figures that are shipped, and neither they nor the shipped
replies hold a row of a data set."""

from __future__ import annotations

import importlib
import json
import re
import sqlite3
import sys
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


def commands(page: str) -> list[list[str]]:
    """The page's commands that make a table, words expanded as a shell does:
    llm-as-judge compare examples/FOLDER/{a,b}/* ... --markdown, python recipes/NAME.py examples/... --markdown"""
    text = (ROOT / "docs" / "results" / f"{page}.md").read_text()
    lines = re.findall(
        r"^    ((?:llm-as-judge compare|python recipes/\w+\.py) examples/.+ --markdown)$",
        text,
        re.M,
    )
    return [[word for pattern in line.split() for word in expanded(pattern)] for line in lines]


def expanded(pattern: str) -> list[str]:
    """Braces, then stars; the files of a star in order."""
    head, brace, rest = pattern.partition("{")
    if brace:
        names, _, tail = rest.partition("}")
        return [word for name in names.split(",") for word in expanded(head + name + tail)]
    if "*" not in pattern:
        return [pattern]
    found = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))
    assert found, f"{pattern}: no such figures"
    return found


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if words[0] == "python":
        recipe = importlib.import_module(Path(words[1]).stem)
        monkeypatch.setattr(sys, "argv", words[1:])
        recipe.main()
        return
    with pytest.raises(SystemExit) as caught:
        main(words[1:])
    assert caught.value.code in (0, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_tables_of_the_page_are_what_its_commands_make_of_the_shipped_figures(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "results" / f"{name}.md").read_text().splitlines()
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(ROOT)
    made = commands(name)
    assert made
    for words in made:
        run(words, monkeypatch)
        rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
        assert len(rows) > 3
        assert [row for row in rows if row not in page] == []


def test_no_figures_are_shipped_that_no_page_shows() -> None:
    named = {word for page in PAGES for words in commands(page) for word in words}
    assert {str(file.parent.relative_to(ROOT)) for file in FIGURES} <= named
    runs = (EXAMPLES / "adaptive" / "runs").iterdir()
    assert {str(folder.relative_to(ROOT)) for folder in runs} <= named


@pytest.mark.parametrize(
    "file", sorted((EXAMPLES / "adaptive" / "runs").glob("*/*")), ids=lambda file: file.parent.name
)
def test_of_a_run_figures_and_warnings_alone_are_shipped(file: Path) -> None:
    assert file.name == "metrics.jsonl"
    for line in file.read_text().splitlines():
        step = json.loads(line)
        assert all(len(text) < 300 for text in step.pop("warnings", {}).values())
        assert all(isinstance(value, int | float | None) for value in step.values())


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
