"""download, process, grade, models: what goes in and out as files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from called_verbs import Verbs, written

from llm_as_judge.data.files import ProblemFile
from llm_as_judge.grading.graders import GRADERS, GraderFunction
from llm_as_judge.types import Problem

TWO_SETS = ["--set", "data.sets=[gsm8k,squad2]"]


# ----------------------------------------------------------------------------------------- grade
def test_grade_by_rules_writes_a_verdict_a_row(verb: Verbs) -> None:
    rows = [
        {"id": "a", "domain": "math", "question": "?", "reference": "4", "candidate": "4.0"},
        {"id": "b", "domain": "math", "question": "?", "reference": "4", "candidate": "5"},
    ]
    written("in.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = verb("grade", "--in", "in.jsonl", "--out", "out.jsonl", "--rules-only")
    verdicts = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert code == 0
    assert out == "2 rows graded: 1 right, 1 wrong, 0 not graded; verdicts in out.jsonl\n"
    assert [(v["id"], v["correct"]) for v in verdicts] == [("a", True), ("b", False)]


def test_a_grader_that_fails_leaves_its_row_open_and_all_of_them_end_with_3(verb: Verbs) -> None:
    def breaks(problem: Problem, answer: str) -> bool:
        raise KeyError(answer)

    rows = [
        {"id": n, "domain": "math", "question": "?", "reference": "4", "candidate": "4"}
        for n in ("a", "b")
    ]
    written("in.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    grade = ("grade", "--in", "in.jsonl", "--out", "out.jsonl", "--rules-only")
    ended = []
    for failing in ("a", ""):
        only = GraderFunction("mine", breaks, when=lambda one: failing in one.id)  # noqa: B023
        with GRADERS.with_also([only]):
            ended.append(verb(*grade))
    (some, out, err), (every, _, _) = ended
    assert (some, every) == (0, 3)
    assert out.startswith("2 rows graded: 1 right, 0 wrong, 1 not graded;")
    assert 'rows that a grader failed on: 1; they have "rule": "grader.failed"' in err
    verdict = json.loads(Path("out.jsonl").read_text().splitlines()[0])
    assert (verdict["correct"], verdict["rule"]) == (None, "grader.failed")
    assert verdict["explanation"].startswith("grader 'mine': a: KeyError: '4' (")


def test_the_documented_rows_are_graded(verb: Verbs) -> None:
    document = (Path(__file__).parents[2] / "docs" / "grading.md").read_text("utf-8")
    written("in.jsonl", "".join(re.findall(r"```jsonl\n(.*?)```", document, re.DOTALL)))
    verb.done("grade", "--in", "in.jsonl", "--out", "out.jsonl", "--rules-only")
    verdicts = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [v["correct"] for v in verdicts] == [True, False, True, True, True]


def test_rows_of_ones_own_task_are_graded_as_they_are(verb: Verbs) -> None:
    rows = [
        {"type": "math", "problem": "6*7?", "answer": "42", "candidate": "41"},
        {"type": "qa", "problem": "Who?", "answer": ["Ada", "A. Moss"], "candidate": "A. Moss", "id": "q"},
        {"type": "code", "problem": "two()", "answer": "assert two() == 2", "candidate": "def two(): return 2"},
    ]  # fmt: skip
    written("in.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    verb.done("grade", "--in", "in.jsonl", "--out", "out.jsonl", "--rules-only")
    verdicts = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [(v["id"], v["correct"]) for v in verdicts] == [("1", False), ("q", True), ("3", True)]


def test_grade_names_the_bad_row_and_the_missing_file(verb: Verbs) -> None:
    written("in.jsonl", '{"id": "a", "domain": "art", "candidate": ""}\n')
    grade = ("grade", "--rules-only", "--out", "out.jsonl", "--in")
    assert "in.jsonl:1" in verb.refused(*grade, "in.jsonl")
    assert "none.jsonl" in verb.refused(*grade, "none.jsonl")
    written("in.jsonl", "\n")
    assert "in.jsonl: holds no row; wanted one answer a line" in verb.refused(*grade, "in.jsonl")
    os.mkfifo("pipe")
    assert "wanted a file, which can be read twice" in verb.refused(*grade, "pipe")


def test_grade_reads_the_rows_before_it_starts_a_judge(verb: Verbs) -> None:
    away = "judge.model=openai:m@http://127.0.0.1:9/v1"
    grade = ("grade", "--set", away, "--out", "out.jsonl", "--in")
    assert "none.jsonl: cannot be read" in verb.refused(*grade, "none.jsonl")
    row = '{"id": "a", "domain": "qa", "question": "Who?", "reference": "Ada", "candidate": "It is Ada B."}'
    line = verb.refused(*grade, written("in.jsonl", row + "\n"))
    assert "not reachable" in line
    assert "To grade by rules alone: --rules-only" in line


# ------------------------------------------------------------------------------ download, process
def test_the_built_in_sample_becomes_mixes(verb: Verbs, folder: Path) -> None:
    out, _ = verb.done("data", "download", "--offline", *TWO_SETS)
    *rows, note = out.splitlines()
    assert [line.split()[0] for line in rows] == ["gsm8k", "squad2"]
    assert note.startswith("built-in sample (--offline)")
    code, out, _ = verb("data", "process", *TWO_SETS, "--json")
    report = json.loads(out)  # standard output is JSON and nothing else
    assert code == 0
    assert [entry["dataset"] for entry in report["sets"]] == ["gsm8k", "squad2"]
    assert (folder / "data/mixed/train_mixed.jsonl").is_file()
    out, _ = verb.done("data", "process", *TWO_SETS)
    assert out.startswith("gsm8k ")


def test_process_names_the_sets_that_it_replaced(verb: Verbs, folder: Path) -> None:
    assert verb("data", "download", "--offline", *TWO_SETS)[0] == 0
    assert "no longer holds" not in verb("data", "process", *TWO_SETS)[2]
    _, err = verb.done("data", "process", "--set", "data.sets=[squad2]")
    assert "data: no longer holds gsm8k; to have them beside these" in err
    (folder / "data/mixed/info.json").write_text("{")
    line = verb.refused("data", "process", *TWO_SETS)
    assert "info.json: cannot be read, wanted what data process wrote" in line


def test_no_sets_are_told_of_with_what_to_do(verb: Verbs) -> None:
    none = ("--set", "data.sets=[]")
    _, err = verb.done("data", "download", "--offline", *none)
    said = "nothing to download: data.sets is empty. Rows of your own: llm-as-judge init FILE"
    assert said in err
    assert "name one: --custom FILE" in verb.refused("data", "process", *none)
    assert "gsm8k" in verb.refused("data", "process", *TWO_SETS)  # nothing is downloaded


def test_a_file_in_place_of_the_output_folder_is_2(verb: Verbs) -> None:
    written("taken", "")
    verb.refused("data", "download", "--offline", "--data-dir", "taken/data", *TWO_SETS)


OWN_ROWS = [
    row
    for n in range(12)
    for row in (
        {"problem": f"What is {n} + 1?", "answer": n + 1, "type": "math"},
        {"problem": f"Who lit lamp {n}?", "answer": ["Edna", "Edna Pontellier"], "type": "qa"},
        {
            "problem": f"Write plus_{n}(a), which adds {n}.",
            "answer": [f"assert plus_{n}(1) == {n + 1}", f"assert plus_{n}(0) == {n}"],
            "type": "code",
        },
    )
]
WITH = (
    *("--config", "embedded", "--executor", "scripted", "--set", "judge.kind=llm"),
    *("--limit", "all"),
)


@pytest.mark.slow
def test_ones_own_sets_are_evaluated_compared_and_tabulated_by_name(verb: Verbs) -> None:
    written("mine.jsonl", "".join(json.dumps(row) + "\n" for row in OWN_ROWS))
    out, _ = verb.done("data", "process", "--custom", "mine.jsonl", "--set", "data.sets=[]")
    names = ["mine_code", "mine_math", "mine_qa"]
    assert [line.split()[0] for line in out.splitlines()] == ["mine_math", "mine_qa", "mine_code"]
    out, _ = verb.done("evaluate", *WITH, "--policy", "direct", "--json")
    found = json.loads(out)
    assert [row["dataset"] for row in found["datasets"]] == [*names, "mixed"]
    assert {row["metrics"]["graded"] for row in found["datasets"][:3]} == {2.0}
    assert found["overall"]["graded"] == 6
    chosen = ("--set", "evaluation.sets=[mine_math,mine_code]")
    out, _ = verb.done("evaluate", *WITH, "--policy", "cot", *chosen)
    assert all(name in out for name in ("mine_math", "mine_code", "balanced over sets"))
    results = [f"results/evaluation/{name}_results.json" for name in ("cot", "direct")]
    out, _ = verb.done("compare", *results, "--by-domain", "--details")
    shown = ("mine_math", "all math", "balanced over sets", "Against direct, code")
    assert all(text in out for text in shown)
    wrong = verb.refused("evaluate", *WITH, "--policy", "cot", "--set", "evaluation.sets=[min]")
    assert "no set 'min' (known: " in wrong
    assert "mine_code, mine_math, mine_qa, mixed" in wrong


def test_the_documented_own_rows_are_read_as_they_stand_in_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "DATA.md").read_text("utf-8")
    first, compared = re.findall(r"```jsonl\n(.*?)```", page, re.DOTALL)
    rows = ProblemFile(Path(written("mine.jsonl", first)))
    assert rows.datasets == ["mine_math", "mine_qa", "mine_code"]
    assert rows[2].entry_point == "add"
    load, country, _ = ProblemFile(Path(written("mine.jsonl", compared)))
    assert (load.spec.unit, load.spec.tolerance) == ("t", 0.1)
    assert "UK" in country.answers
