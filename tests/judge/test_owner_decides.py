"""The owner of a row decides who grades it: the judge without rules, or its tests."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from llm_as_judge.assembly import answers_of_sets
from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.judge.cascade import Judge, SetAnswers, with_set_answers
from llm_as_judge.judge.rows import read_answer
from llm_as_judge.types import AnswerSpec, Problem, Verdict

QA = {"id": "1", "domain": "qa", "question": "Which color?", "reference": "blue", "candidate": "x"}


class Asked:
    """A judge after the rules that calls every answer right, and notes what it was asked."""

    fingerprint = "asked"

    def __init__(self) -> None:
        self.of: list[str] = []

    async def judge(
        self, problem: Problem, candidate: str, score: float | None, *, fresh: bool = False
    ) -> Verdict:
        self.of.append(candidate)
        return Verdict(True, "llm", "asked.right", score=score)


async def graded(row: dict[str, Any], **options: Any) -> Verdict:
    answer = read_answer(row)
    async with aclosing(Judge(workers=1, **options)) as judge:
        return await judge.grade(answer.problem, answer.candidate)


FOR_THE_JUDGE = {**QA, "grader": "judge"}


@pytest.mark.parametrize("candidate", ["blue", "red", "I do not know."])
async def test_a_row_for_the_judge_meets_no_rule(candidate: str) -> None:
    last = Asked()
    verdict = await graded({**FOR_THE_JUDGE, "candidate": candidate}, last=last)
    assert (verdict.stage, last.of) == ("llm", [candidate])
    assert verdict.score is not None


async def test_a_row_for_the_judge_is_open_where_there_is_none() -> None:
    verdict = await graded({**FOR_THE_JUDGE, "candidate": "blue"}, f1_threshold=0.1)
    assert (verdict.correct, verdict.rule) == (None, "owner.judge")
    assert "no judge" in verdict.explanation


async def test_an_empty_answer_is_wrong_before_any_judge_is_asked() -> None:
    last = Asked()
    assert (await graded({**FOR_THE_JUDGE, "candidate": "  "}, last=last)).correct is False
    assert not last.of


def test_a_row_to_grade_says_how_its_answers_are_compared() -> None:
    said: dict[str, Any] = {"kind": "money", "tolerance": 0.5, "unit": "EUR", "grader": "typed"}
    row = {**QA, "domain": "math", "reference": 12, **said, "aliases": "a dozen"}
    problem = read_answer(row).problem
    assert problem.spec == AnswerSpec("money", 0.5, "EUR", "typed")
    assert problem.answers == ("12", "a dozen")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"kind": "colour"}, "'kind' is 'colour', wanted one of number"),
        ({"grader": "tests"}, "'tests', which a qa row has not"),
        ({"tolerance": -1}, "'tolerance' is -1, wanted a number from 0 on"),
        ({"aliases": [2]}, "'aliases' is not a list of texts"),
    ],
)
def test_a_row_to_grade_with_a_field_that_does_not_fit_is_refused(
    more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(DataError, match=reason):
        read_answer({**QA, **more})


def test_the_reference_of_a_multiple_choice_may_be_the_text_of_an_option() -> None:
    row = {**QA, "options": ["red", "blue"]}
    assert read_answer(row).problem.answers == ("blue",)
    with pytest.raises(DataError, match="a letter, here A-B, or the text of an option"):
        read_answer({**row, "reference": "green"})


OF_SET = AnswerSpec("money", 0.5, "EUR", "typed")


def of(dataset: str, spec: AnswerSpec = AnswerSpec(), *answers: str) -> Problem:  # noqa: B008
    return Problem("i", dataset, "math", "q", answers or ("12",), spec=spec)


def test_what_a_row_says_goes_before_what_its_set_says() -> None:
    sets = {"mine": SetAnswers(OF_SET)}
    assert with_set_answers(of("mine"), sets).spec == OF_SET
    row = AnswerSpec("number", 0.0, "USD", "exact")
    assert with_set_answers(of("mine", row), sets).spec == row
    assert with_set_answers(of("mine", AnswerSpec(unit="USD")), sets).spec == AnswerSpec(
        "money", 0.5, "USD", "typed"
    )


def test_the_name_of_a_file_stands_for_the_sets_of_its_types() -> None:
    sets = {"mine": SetAnswers(OF_SET), "mine_qa": SetAnswers()}
    assert with_set_answers(of("mine_math"), sets).spec == OF_SET
    assert with_set_answers(of("mine_qa"), sets).spec == AnswerSpec()
    assert with_set_answers(of("other"), sets).spec == AnswerSpec()


def test_aliases_of_a_set_are_accepted_where_their_answer_is() -> None:
    sets = {"mine": SetAnswers(aliases={"united kingdom": ("UK", "Britain")})}
    changed = with_set_answers(of("mine", AnswerSpec(), "United  Kingdom", "GB"), sets)
    assert changed.answers == ("United  Kingdom", "GB", "UK", "Britain")
    assert with_set_answers(of("mine"), sets).answers == ("12",)


def test_no_set_says_how_code_is_graded() -> None:
    code = Problem("i", "mine", "code", "q", hidden_tests=("assert f()",))
    assert with_set_answers(code, {"mine": SetAnswers(OF_SET)}) is code


async def test_the_judge_grades_a_row_as_its_set_says() -> None:
    config = load_config("embedded", overrides=["data.answers={mine: {grader: judge}}"])
    last = Asked()
    row = {**QA, "dataset": "mine_qa", "candidate": "blue"}
    of_set = {"last": last, "sets": answers_of_sets(config)}
    assert (await graded(row, **of_set)).stage == "llm"
    assert (await graded({**row, "grader": "exact"}, **of_set)).stage == "qa"
    assert last.of == ["blue"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("{kind: monie}", "data.answers.mine.kind: found 'monie'"),
        ("{grader: tests}", "data.answers.mine.grader: found 'tests'"),
        ("{tolerance: -1}", "data.answers.mine.tolerance: found -1"),
        ("{kind: yes_no, tolerance: 1}", "but a yes_no is no number; leave it out"),
        ("{grader: exact, unit: m}", "'grader' is 'exact', which compares no numbers"),
        ("{tolerence: 1}", "unknown key 'data.answers.mine.tolerence'"),
    ],
)
def test_a_set_with_a_key_that_does_not_fit_is_refused_in_one_line(given: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refused:
        load_config("embedded", overrides=[f"data.answers={{mine: {given}}}"])
    assert "\n" not in str(refused.value)


LOAD = {"id": "1", "domain": "math", "question": "How heavy?", "reference": 12.5, "unit": "t"}
COUNTRY = {**QA, "reference": "United Kingdom", "aliases": ["UK"]}


@pytest.mark.parametrize(
    ("row", "candidate", "correct", "rule"),
    [
        ({**QA, "reference": "12.5", "grader": "exact"}, "12.5", True, "qa.exact"),
        ({**QA, "reference": "12.5", "grader": "exact"}, "12.50", False, "exact_match"),
        ({**QA, "reference": "12.5", "grader": "typed"}, "12.50", True, "number.equal"),
        ({**QA, "reference": "12.5", "kind": "short_text"}, "12.50", False, "exact_match"),
        ({**COUNTRY, "grader": "exact"}, "the UK", True, "qa.exact"),
        ({**COUNTRY, "grader": "typed"}, "Great Britain", False, "exact_match"),
        ({**LOAD, "grader": "typed"}, "12500 kg", True, "number.converted"),
        (LOAD, "12.5 kg", False, "number.different"),
        ({**LOAD, "tolerance": 0.1}, "12.45", True, "number.equal"),
        ({**LOAD, "tolerance": 0.1}, "12.7 t", False, "number.different"),
        ({**LOAD, "unit": "EUR"}, "$12.5", False, "number.unit_mismatch"),
        ({**LOAD, "unit": "EUR"}, "$12.5$", True, "number.equal"),
        ({**LOAD, "unit": "EUR", "reference": "x+1"}, "$x+1$", True, "math.equal"),
        ({**LOAD, "unit": "", "grader": "exact"}, "25/2", False, "exact_match"),
    ],
)
async def test_rules_compare_as_the_row_says(
    row: dict[str, Any], candidate: str, correct: bool, rule: str
) -> None:
    verdict = await graded({**row, "candidate": candidate})
    assert (verdict.correct, verdict.rule) == (correct, rule)


async def test_the_tests_of_a_code_row_may_be_named_as_its_grader() -> None:
    row = {"id": "1", "domain": "code", "tests": ["assert f() == 1"], "grader": "tests"}
    verdict = await graded({**row, "candidate": "def f(): return 1"})
    assert verdict.rule == "code.no_sandbox"
