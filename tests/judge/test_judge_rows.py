import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.rows import GradedRows, grade_file, judge_failure, read_answer, read_rows
from llm_as_judge.types import Problem, Verdict

MATH = {"id": "1", "domain": "math", "question": "6*7?", "reference": "42", "candidate": "42"}
CODE = {
    "id": "1",
    "domain": "code",
    "candidate": "def f(): ...",
    "entry_point": "f",
    "tests": ["assert f"],
}


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
    assert counts == GradedRows(rows=2, correct=1, incorrect=1, not_graded=0)
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
        ({**MATH, "reference": [None]}, "reference"),
        ({**MATH, "reference": ""}, "reference"),
        ({**MATH, "domain": "code"}, "tests"),
        ({**MATH, "domain": "code", "tests": [3]}, "tests"),
        ({**MATH, "domain": "qa", "options": ["a", "b"], "reference": "C"}, "letter, here A-B"),
        ({**MATH, "domain": "hotpotqa", "predicted_facts": [["A"]]}, "sentence number"),
        ({**MATH, "domain": "hotpotqa", "supporting_facts": "A"}, "sentence number"),
        ({**CODE, "tests": ["assert ("]}, "'tests' is not Python"),
        ({**CODE, "setup_code": "import"}, "'setup_code' is not Python"),
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


def test_each_kind_of_bad_row_has_a_line_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [MATH, {**MATH, "id": "2", "domain": "art"}, "text", {**MATH, "candidate": "1"}]
    with pytest.raises(DataError) as raised:
        read_rows(write(tmp_path / "in.jsonl", rows), read_answer)
    lines = str(raised.value).splitlines()
    assert [line.split(": ", 1)[1] for line in lines] == [
        "domain 'art', wanted one of math, qa, code, squad2, hotpotqa",
        "str, wanted an object",
        "id '1' again (first in line 1)",
    ]
    assert [line.partition(": ")[0] for line in lines] == [
        f"{tmp_path}/in.jsonl:{number}" for number in (2, 3, 4)
    ]
    monkeypatch.chdir(tmp_path)  # of a long path not all would be shown
    kinds = [{**MATH, "id": str(n), "domain": "a" * n} for n in range(1, 26)] * 2
    with pytest.raises(DataError, match=r"and 6 more kinds of broken rows$") as raised:
        read_rows(write(Path("other.jsonl"), kinds), read_answer)
    assert len(str(raised.value).splitlines()) == 21
    with pytest.raises(DataError) as raised:
        read_rows(write(Path("same.jsonl"), [{"text": "x"}] * 3), read_answer)
    same = "same.jsonl:1: no 'id' (keys: text); the same in 2 more rows (2, 3)"
    assert str(raised.value) == same


async def test_span_rows_have_the_official_scores(tmp_path: Path) -> None:
    rows = [
        {"id": "s", "domain": "squad2", "reference": "Ada Moss", "candidate": "Moss"},
        {
            "id": "h",
            "domain": "hotpotqa",
            "reference": "Oslo",
            "candidate": "Oslo",
            "supporting_facts": [["A", 0], ["B", 2]],
            "predicted_facts": [["A", 0], ["C", 0]],
        },
        {"id": "u", "domain": "squad2", "reference": "", "candidate": "unanswerable"},
    ]
    out = tmp_path / "out.jsonl"
    await grade_file(write(tmp_path / "in.jsonl", rows), out, Echo())
    span, hotpot, none = (json.loads(line)["metrics"] for line in out.read_text().splitlines())
    assert span == {"em": 0.0, "f1": pytest.approx(2 / 3)}
    # facts: 1 of 2 predicted right, 1 of 2 found; the answer is right: joint is that of the facts
    assert hotpot == {
        **dict.fromkeys(["em", "f1"], 1.0),
        **dict.fromkeys(["sp_em", "joint_em"], 0.0),
        **dict.fromkeys(["sp_f1", "joint_f1"], 0.5),
    }
    assert none == {"em": 1.0, "f1": 1.0}


def test_what_is_no_jsonl_is_named(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    with pytest.raises(DataError, match="cannot be read"):
        read_rows(path, read_answer)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-8"):
        read_rows(path, read_answer)
    path.write_text("{broken\n")
    with pytest.raises(DataError, match=":1: not JSON"):
        read_rows(path, read_answer)
    write(path, [MATH, MATH])
    with pytest.raises(DataError, match="again"):
        read_rows(path, read_answer)


async def test_verdicts_never_replace_their_own_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [MATH])
    before = path.read_bytes()
    for out, words in ((path, "is the input"), (tmp_path, "is a folder")):
        with pytest.raises(OutputError, match=words):
            await grade_file(path, out, Echo())
    assert path.read_bytes() == before


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [MATH])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_rows(path, read_answer)) == 1


async def test_an_unwritable_folder_is_an_output_error(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [MATH])
    with pytest.raises(OutputError):
        await grade_file(path, path / "out.jsonl", Echo())


def test_aliases_between_slashes_only_in_open_rows() -> None:
    row = {"id": "1", "domain": "qa", "question": "?", "reference": "AC/DC", "candidate": "x"}
    assert read_answer(row).problem.answers == ("AC/DC", "AC", "DC")
    assert read_answer({**row, "reference": ["AC/DC"]}).problem.answers == ("AC/DC",)
    assert read_answer({**row, "context": "text"}).problem.answers == ("AC/DC",)
    assert read_answer({**row, "reference": "1/2"}).problem.answers == ("1/2",)


def test_an_empty_reference_means_unanswerable() -> None:
    row = {"id": "1", "domain": "qa", "question": "?", "reference": "", "candidate": "x"}
    assert read_answer(row).problem.answers == ()
    assert read_answer({**row, "reference": []}).problem.answers == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                *(*MATH, "tests", "context", "options", "predicted_facts"),
                *("kind", "tolerance", "unit", "aliases", "grader"),
            ]
        ),
        JSON,
    )
)
def test_any_row_is_a_problem_or_a_data_error(row: dict[str, Any]) -> None:
    try:
        answer = read_answer(row)
    except DataError:
        return
    assert isinstance(answer.problem, Problem)
    assert isinstance(answer.candidate, str)


def test_the_fingerprint_names_what_decides() -> None:
    assert Judge().fingerprint == Judge().fingerprint
    assert Judge().fingerprint != Judge(f1_threshold=0.7).fingerprint


REFUSED = "judge m: http_400: no (1 try)"


@pytest.mark.parametrize(
    ("verdicts", "reason"),
    [
        ([("llm.endpoint", REFUSED, None), ("llm.endpoint", REFUSED, None)], REFUSED),
        (
            [("llm.cut_off", "after 12 words", None), ("llm.cut_off", "after 7 words", None)],
            "after",
        ),
        ([("llm.endpoint", REFUSED, None), ("llm.form", "no object", None)], ""),
        ([("llm.endpoint", REFUSED, None), ("llm.correct", "x", True)], ""),
        ([("score.unsure", "0.5", None)], ""),
        ([], ""),
    ],
    ids=["one reason", "figures aside", "two reasons", "one was graded", "unsure", "not asked"],
)
def test_a_judge_fails_where_it_graded_nothing_for_one_reason(
    verdicts: list[tuple[str, str, bool | None]], reason: str
) -> None:
    by_rules = Verdict(None, "qa", "qa.partial", "undecided")
    asked = [Verdict(correct, "llm", rule, said) for rule, said, correct in verdicts]
    found = judge_failure([by_rules, *asked])
    assert found.startswith(reason)
    assert bool(found) == bool(reason)


def test_a_decimal_comma_in_a_reference_is_refused_with_what_to_write() -> None:
    with pytest.raises(DataError) as refused:
        read_answer(MATH | {"reference": "131,28 EUR"})
    assert str(refused.value) == (
        "'reference' '131,28 EUR' has a decimal comma; write '131.28 EUR', or '131, 28 EUR' if it is a list, or "
        '"kind": "short_text" if it is a text'
    )


@pytest.mark.parametrize("reference", ["5,15", "-5,7", "x=5,7"])
def test_two_numbers_with_a_comma_between_may_be_a_list(reference: str) -> None:
    assert read_answer(MATH | {"reference": reference}).problem.answers == (reference,)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            {"id": "1", "domain": "qa", "question": "Which?", "refrence": "x", "candidate": "x"},
            "unknown field 'refrence'; did you mean 'reference'",
        ),
        (
            {"type": "qa", "problem": "Which?", "answr": "x", "candidate": "x"},
            "unknown field 'answr'; did you mean 'answer'",
        ),
    ],
)
def test_a_misspelled_field_is_named(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_rows(write(tmp_path / "rows.jsonl", [row]), read_answer)
