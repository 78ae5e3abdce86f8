"""headroom as a person calls it; the executor is scripted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import ClassVar

import pytest
from called_verbs import OPTIONS, Verbs

from llm_as_judge.cli import searching
from llm_as_judge.views.progress import Progress

pytestmark = pytest.mark.usefixtures("held_out_rows")

PLAIN = OPTIONS[:6]


def own_rows(count: int) -> str:
    rows = [
        {"problem": f"{n} + 1?", "answer": str(n + 1), "type": "math" if n % 2 else "qa"}
        for n in range(count)
    ]
    Path("mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "mine.jsonl"


class Listed(Progress):
    """Its line after each run that is made."""

    told: ClassVar[list[str]]

    @classmethod
    def in_place(cls, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        cls.told = []
        monkeypatch.setattr(searching, "Progress", cls)
        return cls.told

    def did(self, count: int = 1) -> None:
        super().did(count)
        self.told.append(self.line())


@pytest.mark.slow
def test_headroom_of_own_rows_ends_with_an_answer(verb: Verbs, folder: Path) -> None:
    out, err = verb.done("headroom", own_rows(8), *PLAIN, "--limit", "6", "--draws", "2")
    assert "6 of 8 rows, a seeded sample; every row: --limit all" in err
    assert "estimate: " in err
    assert "its sentence model is not here (llm-as-judge models pull all-minilm-l6-v2)" in err
    assert out.startswith("too few rows to say: ")
    assert "6 rows; 30 or more are wanted" in out.splitlines()[0]
    assert (
        "Hardly a row is right under the best fixed program" in out
    )  # the scripted executor is never right
    assert "next   no program was right on any row. Read some replies" in out
    assert "training.warm_start" not in out
    assert "There is nothing to learn for each problem" in out
    assert verb("headroom", "results/headroom/bank", *PLAIN)[0] == 0
    cells = (folder / "results" / "headroom" / "bank" / "runs.jsonl").read_text()
    assert verb("headroom", "mine.jsonl", *PLAIN, "--limit", "6", "--draws", "2")[0] == 0
    assert (folder / "results" / "headroom" / "bank" / "runs.jsonl").read_text() == cells


def test_a_dry_run_of_headroom_says_what_it_would_ask_and_writes_nothing(
    verb: Verbs, folder: Path
) -> None:
    out, err = verb.done("headroom", own_rows(8), *PLAIN, "--limit", "6", "--dry-run")
    assert "6 of 8 rows, a seeded sample" in err
    assert re.search(r"^estimate: \d+ programs", err, re.MULTILINE)
    assert out == ""
    assert not (folder / "results").exists()
    code, _, err = verb("headroom", "data", *PLAIN, "--dry-run")
    assert code == 2
    assert "--dry-run data: a folder's audit asks nobody; leave --dry-run out" in err


@pytest.mark.slow
def test_with_a_sentence_model_headroom_says_what_a_problem_s_text_gives(
    verb: Verbs, tiny_encoder: Path
) -> None:
    model = ("--set", f"experience.embedder={tiny_encoder}")
    out, err = verb.done("headroom", own_rows(8), *PLAIN, *model, "--limit", "6", "--draws", "2")
    assert "sentence model" not in err
    assert "by the problem's text" in " ".join(out.split())


@pytest.mark.slow
def test_headroom_says_how_many_runs_are_left_and_reckons_with_those_that_are_kept(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a domain that is filled later are no work to come while an earlier one is filled."""
    told = Listed.in_place(monkeypatch)
    one_draw, two_draws = (("headroom", own_rows(4), *PLAIN, "--draws", n) for n in "12")
    _, err = verb.done(*one_draw)
    (runs,) = re.findall(r"^estimate: (\d+) programs", err, re.MULTILINE)
    assert "kept" not in err
    first = int(runs)
    pattern = rf"fixed programs: (\d+) of {runs} runs(, about \d+ s left)?"
    made = [found for line in told if (found := re.fullmatch(pattern, line))]
    assert [int(found[1]) for found in made] == list(range(1, first + 1))
    assert any(found[2] for found in made)
    _, _, err = verb(*one_draw)
    assert f"{runs} runs are kept in results/headroom/bank and are not made again" in err
    assert "estimate" not in err
    told.clear()
    _, _, err = verb(*two_draws)
    assert re.findall(r"^estimate: (\d+) programs", err, re.MULTILINE) == [runs]
    counts = [line.partition(",")[0] for line in told]
    assert counts == [
        f"fixed programs: {first + n} of {2 * first} runs ({runs} from before)"
        for n in range(1, first + 1)
    ]


@pytest.mark.slow
def test_headroom_leaves_out_the_rows_that_init_keeps_for_the_test(
    verb: Verbs, folder: Path
) -> None:
    verb.done("init", own_rows(24), "--executor", "scripted", "--data-dir", "own")
    tested = [
        json.loads(line)["question"]
        for path in (folder / "own" / "test").glob("mine_*.jsonl")
        for line in path.read_text().splitlines()
    ]
    own = ("--set", "data.data_dir=own")
    whole = ("--limit", "all", "--draws", "1", *PLAIN[2:])
    _, err = verb.done("headroom", "mine.jsonl", *whole, *own)
    assert f"{len(tested)} of 24 rows are left out: they are the test rows" in " ".join(err.split())
    asked = (folder / "results" / "headroom" / "bank" / "problems.jsonl").read_text()
    assert tested
    assert not any(f'"{question}"' in asked for question in tested)
    taught = {row["id"] for row in map(json.loads, asked.splitlines())}
    trained = (folder / "own" / "mixed" / "train_mixed.jsonl").read_text().splitlines()
    assert taught >= {json.loads(line)["id"] for line in trained}, "else its bank could not teach"
    line = verb.refused("headroom", "own/test/mine_math_test.jsonl", *own)
    assert "is a test row of own; wanted rows that no evaluation is made on" in line


def test_a_type_of_one_row_is_left_out_and_one_row_alone_is_too_few_to_say(verb: Verbs) -> None:
    lone = {"problem": "Who?", "answer": "Ada", "type": "qa"}
    with Path(own_rows(0)).open("w") as stream:
        for n in range(3):
            stream.write(json.dumps({"problem": f"{n}?", "answer": str(n), "type": "math"}) + "\n")
        stream.write(json.dumps(lone) + "\n")
    _, err = verb.done("headroom", "mine.jsonl", *PLAIN, "--limit", "all", "--dry-run")
    assert "left out: qa has 1 row, wanted 2 or more of a type" in err
    Path("mine.jsonl").write_text(json.dumps(lone) + "\n")
    line = verb.refused("headroom", "mine.jsonl", *PLAIN, "--dry-run")
    assert (
        "mine.jsonl: too few rows to say: qa has 1 row, wanted 2 or more of a type, and 30" in line
    )


@pytest.mark.usefixtures("direct")
def test_headroom_of_results_asks_nobody(verb: Verbs, folder: Path) -> None:
    out, _ = verb.done("headroom", "results/evaluation", *PLAIN)
    assert "too few rows to say: 5, wanted 30 or more" in out
    assert "5 problems, 2 programs, 1 draw" in out
    assert "One draw cannot tell luck from talent" in out
    assert "Choosing a program for each problem" not in out
    for path in (folder / "results" / "evaluation").glob("*_results.json"):
        path.unlink()  # kept evaluations alone, as examples/baselines ships them
    assert verb("headroom", "results/evaluation", *PLAIN)[1] == out


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ("none.jsonl", (), "none.jsonl: no such file"),
        ("empty", (), "neither a bank nor results of evaluate"),
        ("mine.jsonl", ("--limit", "1"), "--limit 1: wanted how many rows, at least 2, or all"),
    ],
    ids=["no file", "no bank", "limit"],
)
def test_headroom_without_rows_is_one_line(
    verb: Verbs, source: str, options: tuple[str, ...], said: str
) -> None:
    own_rows(4)
    Path("empty").mkdir()
    assert said in verb.refused("headroom", source, *PLAIN, *options)
