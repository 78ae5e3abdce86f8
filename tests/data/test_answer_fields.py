"""Fields by which the owner of a row says how its answers are compared: read, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.data.answer_fields import require_fitting
from llm_as_judge.data.custom import custom
from llm_as_judge.data.files import decode_problem, encode_problem
from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.errors import DataError
from llm_as_judge.types import AnswerKind, AnswerSpec, Domain, Problem

MATH = {"problem": "p", "answer": "12.50", "type": "math"}
QA = {"problem": "p", "answer": "blue", "type": "qa"}
CODE = {"problem": "p", "answer": "assert f(1) == 2", "type": "code"}


def read(**record: Any) -> Problem:
    return custom(RawRow("mine.jsonl:1", 0, record), "custom", dataset="mine")


def test_what_a_row_says_of_its_answers_goes_with_its_problem() -> None:
    said = {"kind": "money", "tolerance": 0.01, "unit": " EUR ", "grader": "typed"}
    problem = read(**MATH, **said, aliases=["12.5 euros", " 12.50 "])
    assert problem.spec == AnswerSpec("money", 0.01, "EUR", "typed")
    assert problem.answers == ("12.50", "12.5 euros")
    assert read(**CODE, grader="tests").spec == AnswerSpec(grader="tests")
    assert read(**QA, aliases="navy").answers == ("blue", "navy")


def test_what_a_row_does_not_say_is_left_to_its_answers() -> None:
    assert read(**MATH).spec == AnswerSpec()
    assert read(**QA, kind=None, grader=None, tolerance=None).spec == AnswerSpec()


def test_cells_of_a_table_are_texts_and_may_be_empty() -> None:
    empty = dict.fromkeys(("kind", "tolerance", "unit", "aliases", "grader", "options"), "")
    assert read(**MATH, **empty).spec == AnswerSpec()
    assert read(**CODE, **dict.fromkeys(empty)).spec == AnswerSpec()
    assert read(**MATH, tolerance="0.1", unit=None).spec == AnswerSpec(tolerance=0.1)


def test_a_problem_keeps_what_its_row_said_through_its_file(tmp_path: Path) -> None:
    problem = read(**MATH, tolerance=1, grader="typed")
    line = encode_problem(problem)
    assert decode_problem(line, tmp_path / "mine.jsonl", 1) == problem


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**MATH, "kind": "monie"}, r"'kind' is 'monie', wanted one of .*; did you mean 'money'\?"),
        ({**MATH, "kind": ["money"]}, "'kind' is .*, wanted one of number"),
        ({**MATH, "grader": "tests"}, "'tests', which a math row has not; wanted exact, typed or"),
        ({**CODE, "grader": "judge"}, "'grader' is 'judge'; a code row is graded by its tests"),
        ({**CODE, "unit": "m"}, "'unit' of a code row, which its tests grade; leave it out"),
        ({**CODE, "aliases": ["x"]}, "'aliases' of a code row"),
        ({**MATH, "tolerance": -0.1}, "'tolerance' is -0.1, wanted a number from 0 on"),
        ({**MATH, "tolerance": float("nan")}, "'tolerance' is nan, wanted a number from 0 on"),
        ({**MATH, "tolerance": 10**400}, "'tolerance' is 1000.*, wanted a number from 0 on"),
        ({**MATH, "tolerance": "a bit"}, "'tolerance' is a bit, wanted a number from 0 on"),
        ({**MATH, "tolerance": [1]}, r"'tolerance' is \[1\], wanted a number from 0 on"),
        ({**MATH, "tolerance": True}, "'tolerance' is True, wanted a number"),
        ({**QA, "tolerance": 1}, "'tolerance' is 1, but 'answer' 'blue' has no digit"),
        (
            {**QA, "answer": "5", "kind": "short_text", "tolerance": 1},
            "'tolerance' is 1.0, but a short_text is no number; leave it out",
        ),
        (
            {**MATH, "grader": "exact", "tolerance": 1},
            "'grader' is 'exact', which compares no numbers; leave one of them out",
        ),
        ({**MATH, "unit": 3}, "'unit' is 3, wanted a text such as 'km/h'"),
        ({**QA, "aliases": ["a", " "]}, "'aliases' holds an empty text"),
        ({**QA, "aliases": [1]}, "'aliases' is not a list of texts"),
        ({**QA, "answer": [], "aliases": ["a"]}, "'aliases' of an answer that is not there"),
        ({**QA, "tolerence": 1}, "unknown field 'tolerence'; did you mean 'tolerance'"),
    ],
)
def test_a_field_that_does_not_fit_is_refused_in_one_line(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(RowError, match=reason) as refused:
        read(**row)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("answer", ["B", " b", "(b)", "neon", "NEON ", "B. neon"])
def test_the_gold_of_a_multiple_choice_is_a_letter_or_the_text_of_an_option(answer: str) -> None:
    problem = read(problem="Which glows?", options=["argon", "neon"], answer=answer, type="qa")
    assert (problem.options, problem.answers) == (("argon", "neon"), ("B",))


@pytest.mark.parametrize(
    ("options", "answer", "reason"),
    [
        (["argon", "neon"], "C", "a letter, here A-B, or the text of one; found 'C'"),
        (["argon", "neon"], "A. neon", "found 'A. neon'"),
        (["argon", "neon"], 1, "a letter, here A-B, or the text of one; found '1'"),
        (["B", "A"], "A", "found 'A', and names two of them"),
        (["argon"], "A", "'options' holds 1 texts, wanted 2 to 26"),
        (["argon", " Argon"], "A", "'options' holds the same text twice"),
        ("argon, neon", "A", "'options' is not a list of texts"),
    ],
)
def test_options_that_do_not_hold_the_answer_once_are_refused(
    options: Any, answer: Any, reason: str
) -> None:
    with pytest.raises(RowError, match=reason):
        read(problem="Which?", options=options, answer=answer, type="qa")


def test_a_problem_file_with_a_contradiction_is_refused_with_its_line(tmp_path: Path) -> None:
    record = json.loads(encode_problem(read(**QA)))
    line = json.dumps({**record, "spec": {"grader": "tests"}}).encode()
    with pytest.raises(DataError, match=r"mine\.jsonl:7: 'grader' is 'tests', which a qa row"):
        decode_problem(line, tmp_path / "mine.jsonl", 7)


@pytest.mark.parametrize(
    ("domain", "kind", "answer", "told"),
    [
        ("qa", "date", "red", "'answer' 'red' is no date"),
        ("math", "date", "red", "'answer' 'red' is no date"),
        ("qa", "date", "31.02.2020", "'answer' '31.02.2020' is no date"),
        ("qa", "date", "29 February 2019", "is no date"),
        ("qa", "time", "25:70", "'answer' '25:70' is no time of day"),
        ("qa", "number", "two or three", "'answer' 'two or three' is no number"),
        ("qa", "yes_no", "maybe", "is neither yes nor no"),
    ],
)
def test_an_answer_that_is_no_value_of_its_kind_is_refused(
    domain: Domain, kind: AnswerKind, answer: str, told: str
) -> None:
    with pytest.raises(RowError, match=told):
        require_fitting(AnswerSpec(kind=kind), domain, [answer])


@pytest.mark.parametrize(
    ("domain", "kind", "answer"),
    [
        ("qa", "date", "29 February 2020"),
        ("qa", "date", "44 BC"),
        ("qa", "date", "Spring 1990"),
        ("qa", "date", "02/28/2019"),
        ("qa", "time", "noon"),
        ("qa", "time", "06:00, 11:00"),
        ("qa", "number", "a dozen"),
        ("math", "number", "\\sqrt{2}"),
        ("qa", "yes_no", "Yes, they do"),
        ("qa", "short_text", "31.02.2020"),
    ],
)
def test_an_answer_of_its_kind_passes(domain: Domain, kind: AnswerKind, answer: str) -> None:
    require_fitting(AnswerSpec(kind=kind), domain, [answer])


def test_an_answer_in_a_unit_of_something_else_is_refused() -> None:
    with pytest.raises(RowError, match="'unit' is 's', but 'answer' '4 kg' is in 'kg'"):
        require_fitting(AnswerSpec(unit="s"), "math", ["4 kg"])
    for unit, answer in (("g", "4 kg"), ("kg", "4"), ("boxes", "4"), ("EUR", "5 €")):
        require_fitting(AnswerSpec(unit=unit), "math", [answer])
