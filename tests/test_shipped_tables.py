"""The tables of docs/results/learning.md are what its commands make of the figures that are shipped, and neither
these nor the shipped replies hold a row of a data set."""

from __future__ import annotations

import gzip
import importlib
import json
import lzma
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import logprobs
import pack_figures
import pytest

from llm_as_judge.config import Config
from llm_as_judge.llm.pool import POOL, Pool
from llm_as_judge.llm.recording import row_digest
from llm_as_judge.llm.rounds import NOTES
from llm_as_judge.runs.results import FullResults, read_results_file
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.program import form_of, parse_program
from typed_place import ended

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "results" / "learning.md"
FIGURES = sorted(EXAMPLES.rglob("full.json.gz"))


def draws(file: Path) -> int:
    """Runs of each program."""
    return {"held_out_05": 3, "held_out_form": 2, "grpo_alone": 1}.get(file.parents[2].name, 5)


def tables() -> list[tuple[str, list[str]]]:
    """Each command of the page that makes a table, with the rows shown below it, up to the next heading or command:
    llm-as-judge compare examples/FOLDER/{a,b}/* ... --markdown, python recipes/NAME.py examples/... --markdown"""
    found: list[tuple[str, list[str]]] = []
    rows: list[str] = []
    for line in PAGE.read_text().splitlines():
        if re.match(
            r"    (llm-as-judge compare|python recipes/\w+\.py) examples/.+ --markdown$", line
        ):
            rows = []
            found.append((line.strip(), rows))
        elif line.startswith(("#", "    ")):
            rows = []
        elif line.startswith("|"):
            rows.append(line)
    return found


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


TABLES = tables()
FIELDS = {"sets", "id", "dataset", "domain", "content", "correct", "status", "calls", "tokens"}
FIELDS |= {"cost", "policy_tokens"}
"""Of a problem's row."""


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if words[0] == "python":
        recipe = importlib.import_module(Path(words[1]).stem)
        monkeypatch.setattr(sys, "argv", words[1:])
        recipe.main()
        return
    ended(words[1:])


@pytest.mark.slow
@pytest.mark.parametrize(("command", "shown"), TABLES, ids=lambda value: str(value)[:60])
def test_each_table_of_the_page_is_what_its_command_makes_of_the_shipped_figures(
    command: str,
    shown: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A table shows some of the rows that the command makes."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(ROOT)
    run([word for pattern in command.split() for word in expanded(pattern)], monkeypatch)
    made = capsys.readouterr().out.splitlines()
    assert len(shown) >= 3
    assert [row for row in shown if row not in made] == []


@pytest.mark.slow
def test_the_room_of_the_baselines_is_what_the_page_on_evaluation_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    run(["llm-as-judge", "headroom", "examples/baselines"], monkeypatch)
    made, page = capsys.readouterr().out, (ROOT / "docs" / "evaluation.md").read_text()
    (once,) = re.findall(r"(\+\S+ points \[[^]]+\]) by the draws of programs that ask once", made)
    (most,) = re.findall(r"(\+\S+) points \[.+?\] as an upper bound", made)
    (oracle,) = re.findall(r"did best on each problem: (\S+)%", made)
    (best,) = re.findall(r"Use the best fixed program, (\w+)\.", made)
    for figure in (f"has {once} by", f"{most} as an upper bound", f"({oracle} % in", f"`{best}`."):
        assert figure in page


def test_the_page_has_a_table_of_each_part() -> None:
    shown = {
        Path(word).parts[1]
        for command, _ in TABLES
        for word in command.split()
        if "examples/" in word
    }
    assert {one.partition("{")[0] for one in shown} >= {"baselines", "adaptive"}


def test_the_pages_of_results_are_short() -> None:
    """At most 6,000 words in all; longer accounts are in git's history."""
    pages = (ROOT / "docs" / "results").glob("*.md")
    assert sum(len(page.read_text().split()) for page in pages) <= 6000


@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.parent.parent.name)
def test_the_figures_hold_names_and_hashes_in_place_of_texts(file: Path) -> None:
    full = read_results_file(FullResults, file)
    assert (full.complete, full.draws, full.split) == (True, draws(file), "test")
    for row in full.problems:
        assert max(map(len, (row.id, row.content or "", *row.status))) < 40
        assert len(row.correct) == draws(file)
        assert row.model_fields_set <= FIELDS


def test_the_training_problems_are_named_by_their_ids_alone() -> None:
    named = {}
    for name in ("train_ids", "search_ids", "form_search_ids", "form_ids"):
        lines = (EXAMPLES / "adaptive" / f"{name}.txt").read_text().splitlines()
        assert all(re.fullmatch(r'"[a-z0-9]+/(train|all|sanitized)/\w+"', line) for line in lines)
        named[name] = set(lines)
    assert (len(named["train_ids"]), len(named["search_ids"])) == (501, 432)
    assert named["search_ids"] < named["train_ids"]
    assert (len(named["form_search_ids"]), len(named["form_ids"])) == (378, 192)
    assert named["form_ids"] < named["form_search_ids"] < named["train_ids"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_programs_that_the_wide_search_chose_are_valid(domain: Domain) -> None:
    text = (EXAMPLES / "adaptive" / "programs" / f"{domain}.py").read_text()
    most = Config().workflow.max_worst_case_calls
    assert parse_program(text, domain, form_of(text), max_calls=most).strictly_valid


def test_the_shipped_replies_are_whole_and_without_what_was_asked(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / POOL).write_bytes(lzma.decompress((EXAMPLES / "pool.xz").read_bytes()))
    with closing(Pool(folder)) as pool:
        assert len(pool) > 3000
        assert list(pool.asked()) == []
    with closing(sqlite3.connect(f"file:{folder / POOL}?mode=ro", uri=True)) as database:
        for key, digest, packed in database.execute("SELECT key, digest, outcome FROM replies"):
            assert row_digest(key.hex(), packed) == digest
        assert database.execute("SELECT COUNT(*) FROM prompts WHERE length(asked)").fetchone() == (
            0,
        )
        topics = {topic for (topic,) in database.execute("SELECT DISTINCT topic FROM notes")}
        assert topics <= set(NOTES)


def test_figures_are_packed_without_answers(tmp_path: Path) -> None:
    (file,) = (EXAMPLES / "baselines" / "cot").glob("*/full.json.gz")
    data = json.loads(gzip.decompress(file.read_bytes()))
    for row in data["problems"]:
        row["answers"] = ["what was said"]
    whole = tmp_path / "full.json"
    whole.write_text(json.dumps(data))
    found = pack_figures.packed(read_results_file(FullResults, whole))
    assert gzip.decompress(found) == gzip.decompress(file.read_bytes())


def cell(table: int, row: str, column: str) -> str:
    """Of a table of the page: in the first row that begins so."""
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in TABLES[table][1]]
    heads = next(cells for cells in rows if column in cells[1:])
    found = next(cells for cells in rows if cells[0] == row and len(cells) == len(heads))
    return found[heads.index(column)]


def share(table: int, column: str) -> str:
    return cell(table, "overall", column).partition(" [")[0].replace(" to ", "-")


def cost(table: int, column: str) -> float:
    """In chains of thought."""
    row = "cost, written tokens"
    return int(cell(table, row, column)) / int(cell(table, row, "cot"))


def gain(table: int, against: str) -> str:
    return cell(table, against, "mean of the seeds, points")


def compared(
    of: str, against: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Cells of the row that `compare` prints of one result after the form against another."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(ROOT)
    held = "examples/adaptive/held_out_form"
    words = ["llm-as-judge", "compare", *expanded(f"{held}/{{{against},{of}}}/*")]
    run([*words, "--against", against, "--markdown"], monkeypatch)
    (row,) = re.findall(rf"\| {of} \| 415 \| (.*) \|", capsys.readouterr().out)
    cells: list[str] = row.split(" | ")
    return [cells[0].replace(" [", " points ["), *cells[1:]]


def test_seed_1_of_the_form_is_what_the_page_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    difference, _, p, *_ = compared("grpo_drawn_s1", "form_drawn_s1", capsys, monkeypatch)
    said = f"gained {difference.lstrip('+')} to its own start (p = {p.lstrip('0')})"
    assert said in PAGE.read_text()


def test_imitation_of_the_best_is_compared_as_the_page_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    difference, *_, cost_ratio = compared("grpo_middle", "best_middle", capsys, monkeypatch)
    assert f"is level: GRPO {difference}, cost {cost_ratio}." in PAGE.read_text()


def test_the_figures_of_the_readme_are_those_of_the_tables() -> None:
    """Which :func:`test_each_table_of_the_page_is_what_its_command_makes_of_the_shipped_figures` makes again."""
    fixed, middle, low, grpo = 0, 1, 2, 3

    def figures(*systems: str) -> str:
        shares = ", ".join(share(fixed, system) for system in systems)
        return f"| {shares} | {', '.join(f'{cost(fixed, system):.1f}' for system in systems)} |"

    _, form = TABLES[4]
    (shown,) = (row for row in form if row.startswith("| grpo_drawn | 415 |"))
    seed_0 = shown.split("|")[3].split()[0].lstrip("+")
    p_0 = shown.split("|")[5].strip().lstrip("0")
    ((seed_1, p_1),) = re.findall(
        r"\*\*Seed 1\*\* .* gained ([\d.]+) points .*? \(p = ([.\d]+)\)", PAGE.read_text()
    )
    wanted = (
        f"it adds {seed_0} and {seed_1} points (two seeds, p = {p_0} and {p_1}, open answers not right)",
        f"| chain of thought | {share(fixed, 'cot')} | 1 |",
        f"| vote of three, four, five {figures(*(f'vote_of_{count}' for count in (3, 4, 5)))}",
        f"found {figures('searched_wide')}",
        f"seed 0 {figures('warm_low_s0', 'warm_middle_s0')}",
        f"has {gain(low, 'cot').replace(' [', ' points [')} at `low`, {gain(middle, 'cot')} at `middle`.",
        f"Over a vote of its cost `middle` has {gain(middle, 'vote_of_4')}: not shown.",
        f"GRPO after imitation is not shown to add anything: {gain(grpo, 'before').replace(' [', ' points [')}.",
    )
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert [sentence for sentence in wanted if sentence not in readme] == []


@pytest.mark.parametrize(("folder", "executor"), [("15", "1.5B"), ("05", "0.5B")])
def test_the_table_of_log_probs_is_what_its_replies_give(folder: str, executor: str) -> None:
    replies = (EXAMPLES / "logprobs" / folder / "replies.jsonl").read_text()
    lines = [json.loads(line) for line in replies.splitlines()]
    cells, gains = [], []
    for draws in range(1, 5):
        plain, tied = zip(*(logprobs.votes_of(line, draws) for line in lines), strict=True)
        means = [f"{100 * sum(one) / len(lines):.1f}" for one in (plain, tied)]
        cells.append(" -> ".join(dict.fromkeys(means)))
        differences = [b - a for a, b in zip(plain, tied, strict=True)]
        mean, low, high = re.findall(r"[-+][\d.e-]+", logprobs.interval(differences, 100))
        gains.append(f"{float(mean):+.1f} [{float(low):+.1f}, {float(high):+.1f}]")
    row = f"| {executor}, {len(lines)} | {' | '.join(cells)} | {gains[1]}, {gains[3]} |"
    assert row in PAGE.read_text()
