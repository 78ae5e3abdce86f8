"""Golds as people write them: of a whole solution the answer is read, what can be no answer is refused."""

from __future__ import annotations

from typing import Any

import pytest

from llm_as_judge.data.custom import custom
from llm_as_judge.data.golds import solution_answer
from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.errors import DataError
from llm_as_judge.judge.rows import read_answer

SOLUTIONS = [
    ("So the profit is 200,000-130,000=$<<200000-130000=70000>>70,000\n#### 70000", "70000"),
    ("#### 72", "72"),
    ("It is 7.\n#### 1,234.50 \n", "1,234.50"),
    (r"We add both and obtain $3+4=7$, hence the answer is $\boxed{7}$.", "7"),
    (r"First \boxed{1}, then \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
]


@pytest.mark.parametrize(("solution", "answer"), SOLUTIONS)
@pytest.mark.parametrize("domain", ["math", "qa"])
def test_of_a_whole_solution_the_answer_is_read(solution: str, answer: str, domain: str) -> None:
    own = {"problem": "p", "answer": solution, "type": domain}
    assert custom(RawRow("f:1", 0, own), "custom").answers == (answer,)
    row = {"id": "1", "domain": domain, "reference": [solution], "candidate": "x"}
    assert read_answer(row).problem.answers == (answer,)


@pytest.mark.parametrize("text", ["#1", "a # b", "C##", "## Part\nlong text", "boxed{7}"])
def test_what_only_looks_like_a_solution_stays_as_it_is(text: str) -> None:
    assert solution_answer(text) == (text, None)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (float("nan"), "is nan, wanted a number that answers can equal"),
        (float("inf"), "is inf, wanted a number"),
        ("NaN", "is 'NaN', wanted what an answer can equal"),
        ("-inf", "is '-inf', wanted"),
        ("?", r"is '\?', wanted"),
        ("N/A", "is 'N/A', wanted"),
        ("...", "wanted what an answer"),
        ("\u2014", "wanted what an answer"),
        ("$", "wanted what an answer"),
        ("####", "wanted what an answer"),
        ("#DIV/0!", "wanted what an answer"),
        ("#### ?", r"is '\?', wanted"),
        ("1e999", "'1e999' is a number too large to compare"),
        (["4", "?"], r"is '\?', wanted"),
    ],
)
def test_what_can_be_no_answer_is_refused_in_one_line(answer: Any, reason: str) -> None:
    with pytest.raises(RowError, match=f"^'answer' {reason}|^'answer' .*{reason}") as refused:
        custom(RawRow("f:1", 0, {"problem": "p", "answer": answer, "type": "math"}), "custom")
    assert "\n" not in str(refused.value)
    with pytest.raises(DataError, match=r"^'reference' "):
        read_answer({"id": "1", "domain": "math", "reference": answer, "candidate": "x"})


def test_an_empty_text_is_no_question_without_an_answer() -> None:
    for answer in ("", "  ", ["blue", ""]):
        with pytest.raises(RowError, match=r"'answer' is empty; write \[\] where the question has"):
            custom(RawRow("f:1", 0, {"problem": "p", "answer": answer, "type": "qa"}), "custom")


@pytest.mark.parametrize("answer", ["?", "null", "..."])
def test_a_text_that_the_owner_means_is_taken(answer: str) -> None:
    record = {"problem": "p", "answer": answer, "type": "qa", "kind": "short_text"}
    assert custom(RawRow("f:1", 0, record), "custom").answers == (answer,)


@pytest.mark.parametrize("answer", [r"\infty", "∞", "infinity", "1" * 400, "1e30", "-5", "0"])
def test_numbers_of_any_size_and_infinity_as_an_answer_are_taken(answer: str) -> None:
    record = {"problem": "p", "answer": answer, "type": "math"}
    assert custom(RawRow("f:1", 0, record), "custom").answers == (answer,)
