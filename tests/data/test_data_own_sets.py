"""A data set of one's own: processed, trained on and evaluated by its name; refused in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from llm_as_judge.data.catalog import CATALOG, dataset
from llm_as_judge.data.process import process
from llm_as_judge.data.rows import RawRow
from llm_as_judge.data.selection import problem_file
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.grading.fingerprint import rules_fingerprint
from llm_as_judge.types import Problem, dataset_info
from restored import restored

pytestmark = pytest.mark.usefixtures("no_new_sets")
MODULE = """
from llm_as_judge.data.catalog import dataset
from llm_as_judge.types import Problem

@dataset("colors", domain="qa", files=["*.jsonl"], stratum="tone")
def colors(row, split):
    tone = "dark" if row.number % 3 else "light"
    said = row.record
    return Problem(f"colors/{split}/{row.number}", "colors", "qa", said["q"], (said["a"],),
                   meta={"tone": tone})
"""
USED = """
from llm_as_judge.cli import app
from llm_as_judge.config import load_config
from llm_as_judge.data.selection import evaluated_sets, problem_file
from llm_as_judge.assembly import row_options

chosen = ["--set", "plugins=[my_sets]", "--set", "data.sets=[colors, gsm8k]"]
for verb in (["data", "download", "--offline"], ["data", "process", "--workers", "2"]):
    app([*verb, *chosen], standalone_mode=False)
config = load_config(overrides=[*chosen[1::2], "evaluation.limit_per_set=6"])
rows = problem_file(config.data.train_file)
print(sorted(set(rows.datasets)))
for one in evaluated_sets(row_options(config)):
    print(one.name, one.sample)
"""


def colors(row: RawRow, split: str) -> Problem:
    return Problem(f"colors/{split}/{row.number}", "colors", "qa", row.record["q"], ("blue",))


def rows_in(folder: Path, count: int = 12) -> None:
    (folder / "colors").mkdir(parents=True)
    lines = (json.dumps({"q": f"Which color has thing {n}?", "a": f"c{n}"}) for n in range(count))
    (folder / "colors" / "mine.jsonl").write_text("\n".join(lines))


@pytest.mark.slow
def test_a_set_of_a_plugin_is_processed_trained_on_and_evaluated_by_name(tmp_path: Path) -> None:
    (tmp_path / "my_sets.py").write_text(MODULE)
    rows_in(tmp_path / "data" / "raw", 48)
    done = subprocess.run(
        [sys.executable, "-c", USED], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "['colors', 'gsm8k']" in done.stdout
    assert "colors 6 of 8 rows: a seeded sample stratified by tone" in done.stdout


def test_a_set_for_training_alone_reaches_no_validation_or_test_file(tmp_path: Path) -> None:
    dataset("colors", domain="qa", files=["*.jsonl"], train_only=True)(colors)
    rows_in(tmp_path / "raw", 48)
    report = process(tmp_path / "raw", tmp_path / "out", sets=("colors",), val_fraction=0.2)
    (entry,) = report.sets
    assert (entry.train, entry.val, entry.test, entry.test_wanted) == (48, 0, 0, 0)
    assert [mix.rows for mix in report.mixes] == [48, 0, 0]


def test_rows_of_a_set_whose_plugin_is_not_loaded_are_refused_in_one_line(tmp_path: Path) -> None:
    rows_in(tmp_path / "raw")
    own = tmp_path / "mine.jsonl"
    own.write_text(
        "".join(
            f'{{"problem": "{n}+1?", "answer": "{n + 1}", "type": "math"}}\n' for n in range(12)
        )
    )
    with restored(CATALOG):
        dataset("colors", domain="qa", files=["*.jsonl"])(colors)
        process(tmp_path / "raw", tmp_path, sets=["colors"], custom=[own])
        file = tmp_path / "mixed" / "train_mixed.jsonl"
        assert set(problem_file(file).datasets) == {"colors", "mine"}
    with pytest.raises(
        DataError, match=r"a row of 'colors', .* --set 'plugins=\[test_data_own_sets\]'$"
    ):
        problem_file(file)
    with pytest.raises(DataError, match=r"colors_test\.jsonl:1: a row of 'colors'"):
        problem_file(tmp_path / "test" / "colors_test.jsonl")
    assert set(problem_file(tmp_path / "test" / "mine_test.jsonl").datasets) == {"mine"}


def test_its_problems_behave_as_its_fields_say() -> None:
    dataset("colors", domain="qa", files=["*.jsonl"], metric="squad", also_called=["hues"])(colors)
    assert dataset_info("colors", "qa").has_text_scores
    assert dataset_info("hues", "qa").name == "colors"
    assert CATALOG["colors"].info.mixed == "on_request"


def test_the_fingerprint_of_the_rules_follows_its_fields() -> None:
    prints = [rules_fingerprint()]
    for metric in ("accuracy", "squad"):
        dataset("colors", domain="qa", files=["*.jsonl"], metric=metric)(colors)
        prints.append(rules_fingerprint())
    assert len(set(prints)) == 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"domain": "poetry"},
            "option 'domain' of data set 'colors': found 'poetry', wanted",
        ),
        ({"metric": "bleu"}, "option 'metric' of data set 'colors': found 'bleu', wanted"),
        ({"strata": "x"}, "no option 'strata' of data set 'colors'; did you mean 'stratum'?"),
        ({"name": "open"}, "data set 'open' is a shipped one; give yours another name"),
        ({"also_called": ["squad_v2"]}, "data set 'squad_v2' is a shipped one"),
    ],
)
def test_a_wrong_declaration_is_one_line(changed: dict[str, object], said: str) -> None:
    given = {"name": "colors", "domain": "qa", "files": ["*.jsonl"], **changed}
    with pytest.raises(ConfigError) as refused:
        dataset(**given)(colors)  # type: ignore[arg-type]
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("convert", "said"),
    [
        (lambda row, split: row.record["color"], "KeyError: 'color' ("),
        (lambda row, split: {"problem": "q"}, "{'problem': 'q'} is no Problem"),
        (
            lambda row, split: Problem("x/1", "shades", "qa", "q", ("a",)),
            "a problem of 'shades' in qa, wanted 'colors' in qa",
        ),
    ],
)
def test_a_function_that_fails_is_one_line_with_the_row(
    tmp_path: Path, convert: object, said: str
) -> None:
    rows_in(tmp_path / "raw")
    dataset("colors", domain="qa", files=["*.jsonl"])(convert)  # type: ignore[type-var]
    with pytest.raises(DataError) as refused:
        process(tmp_path / "raw", tmp_path / "data", sets=["colors"])
    assert str(refused.value).startswith("data set 'colors': ")
    assert "mine.jsonl:1: " in str(refused.value)
    assert said in str(refused.value)
    assert not (tmp_path / "data" / "mixed").exists()
