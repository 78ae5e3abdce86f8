import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.rows import grade_file, read_rows, row_problem
from llm_as_judge.types import Problem, Verdict

MATH = {"id": "1", "domain": "math", "question": "6*7?", "reference": "42", "candidate": "42"}


class Echo:
    """Accepts exactly the gold."""

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        return Verdict(answer in problem.answers, "exact", "test", "")


def names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


async def test_rows_are_graded_in_order_and_counted(tmp_path: Path) -> None:
    rows = [MATH, {**MATH, "id": "2", "candidate": "41"}]
    seen: list[tuple[int, int]] = []
    out = tmp_path / "out.jsonl"
    counts = await grade_file(
        write(tmp_path / "in.jsonl", rows),
        out,
        Echo(),
        lambda done, total: seen.append((done, total)),
    )
    assert counts == {"rows": 2, "correct": 1, "incorrect": 1, "not_graded": 0}
    assert seen == [(1, 2), (2, 2)]
    verdicts = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(v["id"], v["correct"]) for v in verdicts] == [("1", True), ("2", False)]
    assert set(verdicts[0]) == {"id", "correct", "stage", "rule", "explanation", "score"}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": "1", "domain": "math"}, "candidate"),
        ({**MATH, "domain": "poetry"}, "poetry"),
        ({**MATH, "candidate": None}, "NoneType"),
        ({**MATH, "reference": [1]}, "reference"),
        ({**MATH, "reference": ""}, "reference"),
        ({**MATH, "domain": "code"}, "tests"),
        ({**MATH, "domain": "code", "tests": [3]}, "tests"),
        ([1], "object"),
    ],
)
async def test_a_broken_row_is_named_and_nothing_is_written(
    tmp_path: Path, row: Any, words: str
) -> None:
    path = write(tmp_path / "in.jsonl", [MATH | {"id": "0"}, row])
    with pytest.raises(DataError, match=r"in\.jsonl:2: ") as raised:
        await grade_file(path, tmp_path / "out.jsonl", Echo())
    assert words in str(raised.value)
    assert names(tmp_path) == ["in.jsonl"]


def test_what_is_no_jsonl_is_named(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    with pytest.raises(DataError, match="cannot be read"):
        read_rows(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-8"):
        read_rows(path)
    path.write_text("{broken\n")
    with pytest.raises(DataError, match=":1: not JSON"):
        read_rows(path)
    write(path, [MATH, MATH])
    with pytest.raises(DataError, match="again"):
        read_rows(path)


async def test_an_unwritable_folder_is_an_output_error(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [MATH])
    with pytest.raises(OutputError):
        await grade_file(path, path / "out.jsonl", Echo())


def test_aliases_between_slashes_only_in_open_rows() -> None:
    row = {"id": "1", "domain": "qa", "question": "?", "reference": "AC/DC", "candidate": "x"}
    assert row_problem(row, "f:1")[0].answers == ("AC/DC", "AC", "DC")
    assert row_problem({**row, "reference": ["AC/DC"]}, "f:1")[0].answers == ("AC/DC",)
    assert row_problem({**row, "context": "text"}, "f:1")[0].answers == ("AC/DC",)
    assert row_problem({**row, "reference": "1/2"}, "f:1")[0].answers == ("1/2",)


def test_an_empty_reference_means_unanswerable() -> None:
    row = {"id": "1", "domain": "qa", "question": "?", "reference": "", "candidate": "x"}
    assert row_problem(row, "f:1")[0].answers == ()
    assert row_problem({**row, "reference": []}, "f:1")[0].answers == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*MATH, "tests", "context", "options"]), JSON))
def test_any_row_is_a_problem_or_a_data_error(row: dict[str, Any]) -> None:
    try:
        problem, candidate = row_problem(row, "f:1")
    except DataError:
        return
    assert isinstance(problem, Problem)
    assert isinstance(candidate, str)


def test_the_fingerprint_names_what_decides() -> None:
    assert Judge().fingerprint == Judge().fingerprint
    assert Judge().fingerprint != Judge(f1_threshold=0.7).fingerprint
