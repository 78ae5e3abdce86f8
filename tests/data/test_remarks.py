"""Own rows that are taken are remarked on: read solutions, copies, contradictions, unused columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from llm_as_judge.data.custom import FIELDS, custom
from llm_as_judge.data.process import process
from llm_as_judge.data.remarks import RowRemarks, unused_columns
from llm_as_judge.data.rows import RawRow


def remarks(*records: dict[str, Any]) -> RowRemarks:
    found = RowRemarks()
    for number, record in enumerate(records):
        row = RawRow(f"f.jsonl:{number + 1}", number, {"problem": "p", "type": "math"} | record)
        found.add(row, custom(row, "custom"))
    return found


def test_a_read_solution_is_said_with_its_line_and_its_answer() -> None:
    lines = remarks(
        {"answer": "It is 2.\n#### 2"}, {"problem": "q", "answer": r"\boxed{3}"}
    ).lines()
    assert lines == (
        "1 answer is a whole solution, of which what follows #### is read: f.jsonl:1 gives '2'",
        "1 answer is a whole solution, of which the last \\boxed{} is read: f.jsonl:2 gives '3'",
    )


def test_of_many_the_first_three_are_told_and_the_others_counted() -> None:
    rows = ({"problem": str(n), "answer": f"#### {n}"} for n in range(5))
    (line,) = remarks(*rows).lines()
    assert line.startswith("5 answers are whole solutions, of which")
    assert line.endswith("f.jsonl:3 gives '2', and 2 more")


def test_a_copy_and_a_contradiction_name_both_lines() -> None:
    lines = remarks(
        {"problem": "A  b?", "answer": "12"},
        {"problem": "a b?", "answer": "12.0", "id": "x"},
        {"problem": "a b?", "answer": ["13", "14"]},
    ).lines()
    assert lines == (
        "1 row is a copy: f.jsonl:2 of f.jsonl:1",
        "1 row contradicts an earlier one: f.jsonl:3 says '13', f.jsonl:1 says '12'",
    )


def test_another_passage_or_other_options_make_another_question() -> None:
    options = [["x", "y"], ["y", "x"]]
    choices = [{"type": "qa", "answer": "A", "options": one} for one in options]
    passages = [{"type": "qa", "answer": one, "context": one} for one in ("x", "y")]
    assert not remarks(*choices, *passages).lines()


def test_a_question_with_and_without_an_answer_contradicts_itself() -> None:
    (line,) = remarks({"type": "qa", "answer": "x"}, {"type": "qa", "answer": []}).lines()
    assert "f.jsonl:2 says that there is no answer, f.jsonl:1 says 'x'" in line


def test_columns_that_nothing_reads_are_named_once() -> None:
    found = remarks({"answer": "1", "source": "s"}, {"answer": "2", "source": "s", "split": 1})
    assert found.unused == ("source", "split")
    assert unused_columns([("a", ("source", "split"))]) == "columns not used: source, split"
    two = [("a", ("source",)), ("b", ("source", "aa"))]
    assert unused_columns(two) == "columns not used: source, aa (b)"
    assert unused_columns([("a", ())]) == ""


def test_every_field_that_is_read_counts_as_used() -> None:
    said = dict.fromkeys(FIELDS["math"]) | {"problem": "p", "answer": "1", "type": "math"}
    given = {name: value for name, value in said.items() if value is not None}
    assert not remarks(given | {"kind": "number", "grader": "typed"}).unused


def test_remarks_go_with_the_report_and_no_path_into_its_file(tmp_path: Path) -> None:
    rows = [{"problem": f"{n}?", "answer": f"#### {n}", "type": "math", "by": 1} for n in range(12)]
    own = tmp_path / "mine.jsonl"
    own.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (report,) = process(tmp_path, tmp_path / "out", sets=(), custom=[own]).sets
    assert f"{own}:1 gives '0'" in report.remarks[0]
    assert report.unused == ("by",)
    info = (tmp_path / "out" / "mixed" / "info.json").read_text()
    assert str(tmp_path) not in info
    assert '"by"' in info
