import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.data.files import (
    ProblemFile,
    decode_problem,
    encode_problem,
    read_problems,
    write_problems,
)
from llm_as_judge.data.rows import MAX_ROW_BYTES, RowError
from llm_as_judge.errors import DataError
from llm_as_judge.types import AnswerSpec, Problem, from_json, to_json

PROBLEM = Problem(
    id="mbpp/full/1",
    dataset="mbpp",
    domain="code",
    question="Schreib “f” → 1\n",
    entry_point="f",
    visible_tests=("assert f() == 1",),
    hidden_tests=("assert f() == 1", "assert f() == '\\u0000'"),
    meta={"a": "b"},
)
QA = Problem(id="q/1", dataset="q", domain="qa", question="Why?", options=("x", "y"))

plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(
    text=plain, answers=st.lists(plain, max_size=3), meta=st.dictionaries(plain, plain, max_size=3)
)
def test_what_is_written_is_read_back(text: str, answers: list[str], meta: dict[str, str]) -> None:
    problem = Problem(
        id="i", dataset="d", domain="math", question=f"?{text}", answers=tuple(answers), meta=meta
    )
    line = encode_problem(problem)
    assert line.count(b"\n") == 1
    assert decode_problem(line, Path("f"), 1) == problem
    assert from_json(Problem, json.loads(line)) == problem
    assert json.loads(line) == to_json(problem)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\0b", "NUL"),
        ("a\udcff", "invalid UTF-8"),
        ("\ud83d", "invalid UTF-8"),
        ("x" * MAX_ROW_BYTES, "longer than"),
    ],
)
def test_text_that_cannot_be_kept_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RowError, match=reason):
        encode_problem(Problem(id="i", dataset="d", domain="qa", question=text))
    with pytest.raises(RowError, match=reason):
        encode_problem(Problem(id="i", dataset="d", domain="qa", question="q", meta={"k": text}))


def test_what_the_owner_says_of_answers_is_kept_and_left_out_where_nothing_is_said() -> None:
    said = replace(QA, answers=("90",), spec=AnswerSpec(tolerance=0.5, unit="km/h"))
    assert decode_problem(encode_problem(said), Path("f"), 1) == said
    assert b"spec" not in encode_problem(PROBLEM)


def test_a_file_is_a_sequence_of_its_problems(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "p.jsonl"
    assert write_problems(path, [PROBLEM, QA, PROBLEM]) == 3
    assert list(read_problems(path)) == [PROBLEM, QA, PROBLEM]
    rows = ProblemFile(path)
    assert (len(rows), rows[1], rows[-1], rows[:2]) == (3, QA, PROBLEM, [PROBLEM, QA])
    assert rows.ids == ["mbpp/full/1", "q/1", "mbpp/full/1"]
    assert rows.domains == ["code", "qa", "code"]
    assert rows.datasets == ["mbpp", "q", "mbpp"]
    with pytest.raises(IndexError):
        rows[3]


def test_a_shown_assert_of_mbpp_grades_also_in_a_file_that_leaves_it_out(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    shown = replace(PROBLEM, visible_tests=("assert f(1)",), hidden_tests=("assert f(2)",))
    own = replace(shown, dataset="own")  # of one's own rows the file says what grades
    write_problems(path, [shown, own])
    assert [problem.hidden_tests for problem in read_problems(path)] == [
        ("assert f(1)", "assert f(2)"),
        ("assert f(2)",),
    ]


def test_a_file_of_ones_own_rows_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [
        {"problem": "1 + 1?", "answer": 2, "type": "math", "id": "a"},
        {"problem": "Who?", "answer": ["Edna", "E."], "type": "qa", "id": "a"},
        {"problem": "Add.", "answer": "assert add(1, 2) == 3", "type": "code"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = ProblemFile(path)
    assert list(found) == list(read_problems(path))
    assert found.ids == ["mine_math/custom/1", "mine_qa/custom/2", "mine_code/custom/3"]
    assert found.datasets == ["mine_math", "mine_qa", "mine_code"]
    assert [p.answers for p in found] == [("2",), ("Edna", "E."), ()]
    assert (found[2].entry_point, found[2].hidden_tests) == ("add", ("assert add(1, 2) == 3",))
    path.write_text("\n" + "\n \n".join(json.dumps(row) for row in rows) + "\n\n")
    assert [p.id for p in ProblemFile(path)] == [p.id for p in read_problems(path)]
    assert ProblemFile(path)[1].id == "mine_qa/custom/4", "by its line; blank ones are none"
    path.write_text(json.dumps({"problem": "1 + 1?", "type": "math"}) + "\n")
    with pytest.raises(DataError, match=r"mine\.jsonl:1: no 'answer'.*own rows: docs/DATA\.md"):
        ProblemFile(path)


GOOD = to_json(QA)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "Expecting"),
        (b"\xff\n", "invalid UTF-8 at byte 0"),
        (b"[1]", "found list, wanted an object"),
        (b"[" * 100_000, "recursion|Expecting"),
        (json.dumps({**GOOD, "id": 3}).encode(), "'id' is int, wanted a text"),
        (json.dumps({**GOOD, "answers": "x"}).encode(), "'answers' is not a list of texts"),
        (json.dumps({**GOOD, "answers": [1]}).encode(), "'answers' is not a list of texts"),
        (json.dumps({**GOOD, "domain": "art"}).encode(), "'domain' is 'art'"),
        (json.dumps({**GOOD, "meta": {"a": 1}}).encode(), "'meta' is not an object of texts"),
        (json.dumps({**GOOD, "extra": 1}).encode(), "unknown field 'extra'"),
        (b'{"domain": "qa"}', "no 'dataset'"),
        (json.dumps({**GOOD, "domain": "code"}).encode(), "without hidden_tests"),
        (json.dumps({**GOOD, "question": " \n"}).encode(), "an empty question"),
        (b'{"id": "a', r":2: not JSON: Invalid control character at character 10\."),
        (b'{"id": "a" "b"}', r":2: not JSON: Expecting ',' delimiter at character 12\."),
    ],
)
def test_broken_rows_are_named_with_file_and_line(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(encode_problem(QA) + line + b"\n")
    for read in (lambda: list(read_problems(path)), lambda: ProblemFile(path)):
        with pytest.raises(DataError, match=reason) as caught:
            read()
        assert str(caught.value).startswith(f"{path}:2: ")


def test_missing_empty_and_overlong_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        ProblemFile(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="a folder, wanted a file"):
        ProblemFile(tmp_path)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(DataError, match="no problems in it"):
        ProblemFile(tmp_path / "empty.jsonl")
    (tmp_path / "long.jsonl").write_bytes(b"x" * (MAX_ROW_BYTES + 2))
    with pytest.raises(DataError, match=r":1: longer than"):
        ProblemFile(tmp_path / "long.jsonl")


def test_nothing_is_left_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text("old")

    def rows() -> list[Problem]:
        return [QA, Problem(id="i", dataset="d", domain="qa", question="\0")]

    with pytest.raises(RowError):
        write_problems(path, rows())
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["p.jsonl"]
