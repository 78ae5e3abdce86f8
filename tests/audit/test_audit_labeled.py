"""The shipped labeled rows: right, balanced, without a short cut; a good judge passes on them."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from judge_oracle import Oracle, audited_cases
from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.audit import AuditReport, run_audit
from llm_as_judge.audit.drift import case_key
from llm_as_judge.audit.labeled import cases_sha256, shipped_labeled
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.llm_judge import LlmJudge
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import ChatRequest, Problem, Verdict

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (resources.files("llm_as_judge.audit") / "labeled.jsonl")
    .read_text("utf-8")
    .splitlines()
]
CASES = shipped_labeled()
WRONG_IN_MANY_WAYS = {
    "near_number": 20,
    "near_name": 10,
    "swapped": 60,
    "sign": 10,
    "magnitude": 5,
    "unit": 8,
    "partial": 8,
    "candidates": 5,
    "hedge": 3,
    "negation": 6,
    "other_question": 5,
    "other_step": 10,
    "invented": 8,
}
RIGHT_IN_MANY_WAYS = {
    "restated": 60,
    "longer": 25,
    "notation": 50,
    "alias": 15,
    "order": 12,
    "spelled": 8,
    "unit_said": 15,
    "unit_converted": 2,
    "worked": 8,
    "abstained": 8,
}


def by_source(cases: list[Case] = CASES) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        found[case.source].append(case)
    return found


def question(case: Case) -> tuple[str, str]:
    return case.problem.context, case.problem.question


# --------------------------------------------------------------------------------------- the rows
def test_every_domain_has_rows() -> None:
    assert len(CASES) >= 300
    kinds = Counter("choice" if c.problem.options else c.problem.domain for c in CASES)
    assert kinds.keys() == {"math", "qa", "choice", "code"}
    assert min(kinds["math"], kinds["qa"]) >= 200


def test_no_row_is_there_twice() -> None:
    assert len({(*question(case), case.candidate) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("source", by_source())
def test_half_of_each_source_is_right(source: str) -> None:
    cases = by_source()[source]
    assert sum(case.correct for case in cases) == len(cases) / 2


def test_every_question_has_as_many_right_as_wrong_answers() -> None:
    labels: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for case in CASES:
        labels[question(case)][case.correct] += 1
    assert all(seen[True] == seen[False] >= 1 for seen in labels.values())


@pytest.mark.parametrize(
    ("correct", "wanted"), [(False, WRONG_IN_MANY_WAYS), (True, RIGHT_IN_MANY_WAYS)]
)
def test_answers_are_right_and_wrong_in_many_ways(correct: bool, wanted: dict[str, int]) -> None:
    found = Counter(row["category"] for row in ROWS if row["correct"] is correct)
    assert {name: found[name] for name in wanted if found[name] < wanted[name]} == {}


def test_the_page_on_grading_counts_the_rows() -> None:
    page = (Path(__file__).parents[2] / "docs" / "grading.md").read_text("utf-8")
    told = re.findall(r"^\| (shipped [a-z ]+?)(?: \([^|]*)? \| (\d+) \| (\d+) \|", page, re.M)
    assert {name: (int(questions), int(rows)) for name, questions, rows in told} == {
        source: (len(set(map(question, cases))), len(cases))
        for source, cases in by_source().items()
    }
    assert f"The package has {len(CASES)} of its own" in page


# -------------------------------------------------------------------------------- no short cut
def _holds_a_reference(case: Case) -> float:
    said = case.candidate.casefold()
    return any(answer.casefold() in said for answer in case.problem.answers)


def _share_of_words_of_the_question(case: Case) -> float:
    words = case.candidate.casefold().split()
    asked = set(case.problem.question.casefold().split())
    return sum(word in asked for word in words) / len(words)


FEATURES: dict[str, Callable[[Case], float]] = {
    "characters": lambda case: len(case.candidate),
    "words": lambda case: len(case.candidate.split()),
    "longer than the reference": lambda case: (
        len(case.candidate) - max(map(len, case.problem.answers), default=0)
    ),
    "ends with a period": lambda case: case.candidate.endswith("."),
    "begins with a capital": lambda case: case.candidate[:1].isupper(),
    "digits": lambda case: sum(map(str.isdigit, case.candidate)),
    "commas": lambda case: case.candidate.count(","),
    "words of the question": _share_of_words_of_the_question,
}


def best_threshold(feature: Callable[[Case], float], cases: list[Case]) -> float:
    """Share of the labels that the best threshold on ``feature`` gets, in either direction."""
    values = [(feature(case), case.correct) for case in cases]
    shares = [
        sum((value >= least) is correct for value, correct in values) / len(values)
        for least in {value for value, _ in values}
    ]
    return max(max(shares), 1 - min(shares))


@pytest.mark.parametrize("feature", FEATURES)
def test_no_mark_of_the_text_gives_the_label_away(feature: str) -> None:
    assert best_threshold(FEATURES[feature], CASES) < 0.6
    for source, cases in by_source().items():
        if len(cases) >= 100:
            assert best_threshold(FEATURES[feature], cases) < 0.65, source


def test_looking_for_the_reference_in_the_answer_is_no_judge() -> None:
    told = [case for case in CASES if case.problem.answers]
    assert best_threshold(_holds_a_reference, told) < 0.75
    for source in ("shipped open questions", "shipped passages"):
        cases = [case for case in by_source()[source] if case.problem.answers]
        assert best_threshold(_holds_a_reference, cases) < 0.75


# ------------------------------------------------------------------------------------ the verdicts
@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def verdicts() -> AsyncIterator[list[tuple[Case, Verdict]]]:
    """By the rules, and by a model that knows every label for what they leave open."""
    oracle = Oracle(CASES)

    def answer(request: ChatRequest) -> str:
        return oracle.reply(request.messages[-1].content)

    sandbox = await open_sandbox("subprocess")
    judge = Judge(sandbox, LlmJudge(ScriptedChat(answer)))
    yield [(case, await judge.grade(case.problem, case.candidate)) for case in CASES]
    await judge.aclose()
    await sandbox.aclose()


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_no_rule_contradicts_a_label(verdicts: list[tuple[Case, Verdict]]) -> None:
    contradicted = [
        (case.problem.id, case.candidate, verdict.rule)
        for case, verdict in verdicts
        if verdict.correct is not case.correct
    ]
    assert contradicted == []


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_a_third_of_the_rows_can_only_be_decided_by_a_model(
    verdicts: list[tuple[Case, Verdict]],
) -> None:
    asked = Counter(case.correct for case, verdict in verdicts if verdict.stage == "llm")
    assert asked.total() >= len(CASES) / 3
    assert min(asked.values()) >= 0.4 * asked.total()
    domains = {c.problem.domain for c, verdict in verdicts if verdict.stage == "llm"}
    assert domains == {"math", "qa"}  # code is never judged by a model


# ---------------------------------------------------------------------------------- the bars
LABELS: Mapping[str, bool] = {case_key(case): case.correct for case in audited_cases()}
OPEN = {case.problem.id for case in by_source()["shipped open questions"]}


class Knowing:
    """A judge that knows every label, and makes of it what ``says`` says."""

    def __init__(self, says: Callable[[Problem, str, bool], bool]) -> None:
        self._says = says

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        label = LABELS[case_key(Case(problem, answer, True, ""))]
        return Verdict(self._says(problem, answer, label), "llm", "test")


async def audited(says: Callable[[Problem, str, bool], bool]) -> AuditReport:
    return await run_audit(Knowing(says), "f", "model", CASES)


def seldom_wrong(problem: Problem, answer: str, label: bool) -> bool:
    """Errs on five in a hundred answers to open questions, always on the same."""
    wrong = problem.id in OPEN and random.Random(problem.id + answer).random() < 0.05
    return label is not wrong


@pytest.mark.slow
async def test_a_judge_without_a_fault_passes_on_the_shipped_rows() -> None:
    report = await audited(lambda problem, answer, label: label)
    assert report.failures == ()
    assert report.precision.n == len(CASES) / 2
    assert report.data_sha256["labeled"] == cases_sha256(CASES)


async def test_a_judge_that_seldom_errs_passes_on_the_shipped_rows() -> None:
    report = await audited(seldom_wrong)
    assert report.precision.value is not None
    assert report.precision.value < 1
    assert report.recall.value is not None
    assert report.recall.value < 1
    assert report.failures == ()


@pytest.mark.parametrize(
    ("says", "missed"),
    [
        (lambda problem, answer, label: label or problem.id in OPEN, "precision"),
        (lambda problem, answer, label: label and problem.id not in OPEN, "right answers rejected"),
        (
            lambda problem, answer, label: (
                any(gold in answer for gold in problem.answers) if problem.id in OPEN else label
            ),
            "precision: shipped open questions",
        ),
    ],
    ids=["accepts what it cannot tell", "rejects what it cannot tell", "looks for the reference"],
)
async def test_a_poor_judge_of_open_questions_fails_on_the_shipped_rows(
    says: Callable[[Problem, str, bool], bool], missed: str
) -> None:
    assert missed in (await audited(says)).failures
