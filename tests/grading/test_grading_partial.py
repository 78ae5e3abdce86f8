"""Answers that share something with the gold and no more: decided where it is safe, else open."""

import pytest

from llm_as_judge.grading.extract import declared_answer
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Domain, Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


def asked(domain: str, gold: str, question: str = "What is it?", dataset: str = "") -> Problem:
    kind: Domain = "math" if domain == "math" else "qa"
    return Problem(f"{domain}/t/1", dataset or domain, kind, question, (gold,))


OPEN_WITHOUT_A_MODEL = [
    (asked("squad2", "Danube"), "Danube river"),
    (asked("hotpotqa", "Danube"), "Danube river"),
    (asked("qa", "Danube"), "Danube river"),
    (asked("squad2", "Danube"), '{"river": "Danube"}'),
    (asked("squad2", "Danube"), '{\n  "river": "Danube",\n  "length": 2850\n}'),
    (asked("squad2", "1932"), "before 1932"),
    (asked("math", "1932"), "before 1932"),
    (asked("math", "18"), "72-54=18; 18 remain"),
    (asked("math", "18"), '{"result": 20, "answer": 18}'),
    (asked("math", "18"), "We have 18 apples and -18 pears"),
    (asked("math", "18"), '{\n  "left": 18,\n  "taken": 54\n}'),
]


@pytest.mark.parametrize(("problem", "answer"), OPEN_WITHOUT_A_MODEL)
async def test_a_partial_match_is_open_and_says_so(
    rules: Judge, problem: Problem, answer: str
) -> None:
    verdict = await rules.grade(problem, answer)
    assert verdict.correct is None, verdict
    assert verdict.explanation.endswith(
        "undecided by the rules, and there is no judge model to ask"
    )


ACCEPTED = [
    (asked("math", "1932", "When was it built?"), "in 1932"),
    (asked("math", "1932", "When was it built?"), "in the year 1932"),
    (asked("math", "18"), "72 - 54 = 18, so 18 remain."),
    (
        asked("math", "18", "How many apples are left?"),
        "72 - 54 = 18. So there are 18 apples left.",
    ),
    (asked("math", "18"), '{"answer": 18}'),
    (asked("math", "18"), '{"final_answer": "18", "unit": "apples", "work": "72-54=18"}'),
    (asked("math", "18"), "Total: 18"),
    (asked("math", "18"), "It's 18"),
    (asked("math", "5", "How long?"), "in 5 days"),
    (asked("math", r"\frac{1}{2}"), "Therefore, 1/2"),
    (asked("math", r"\sqrt{2}"), r"so \sqrt{2}"),
    (asked("squad2", "1932"), "in the year 1932"),
    (asked("squad2", "1932"), "It was during 1932"),
    (asked("squad2", "1932"), "1932 AD"),
    (asked("squad2", "2 hours"), "120 minutes"),
    (asked("qa", "six weeks"), "42 days"),
    (asked("squad2", "Danube"), '{"answer": "Danube"}'),
    (asked("squad2", "Danube"), '{"answer": "Danube", "answer": "Danube"}'),
    (asked("squad2", "Danube"), '```json\n{"thought": "not the Rhine", "answer": "Danube"}\n```'),
]


@pytest.mark.parametrize(("problem", "answer"), ACCEPTED)
async def test_lead_ins_times_and_objects_are_read(
    rules: Judge, problem: Problem, answer: str
) -> None:
    verdict = await rules.grade(problem, answer)
    assert verdict.correct is True, verdict


REJECTED = [
    (asked("math", "18"), '{"answer": 20, "answer": 18}'),
    (asked("squad2", "Danube"), '{"answer": "Danube", "answer": "Rhine"}'),
    (asked("squad2", "Danube"), '{"answer": "Danube", "answer": ["Rhine"]}'),
    (asked("math", "18"), "72 - 54 = 18, so 20 remain."),
    (asked("math", "18"), "72 - 54 = 20, so 20 remain."),
    (asked("math", "18"), "20 = 18, so 18"),
    (asked("math", "18"), "72 - 54 = 18, so 18% remain."),
    (asked("math", "18"), "72 - 54 = 18, so 18 thousand remain."),
    (asked("math", "18"), "so not 18"),
    (asked("math", "18"), "18 squared"),
    (asked("math", "18"), "18, 20"),
    (asked("math", "4"), "AB=9, CD=4"),
    (asked("math", "1932"), "in 1933"),
    (asked("math", "18"), '{"answer": 20}'),
    (asked("math", "18"), '{"answer": "18 or 20"}'),
    (asked("squad2", "2 hours"), "119 minutes"),
    (asked("squad2", "Danube"), '{"answer": "Rhine"}'),
    (asked("squad2", "Danube"), '{"answer": "Danube or Rhine"}'),
    (asked("squad2", "Danube"), '{"answer": "not Danube"}'),
]


@pytest.mark.parametrize(("problem", "answer"), REJECTED)
async def test_what_says_something_else_is_incorrect(
    rules: Judge, problem: Problem, answer: str
) -> None:
    verdict = await rules.grade(problem, answer)
    assert verdict.correct is False, verdict


@pytest.mark.parametrize(
    "answer",
    [
        '{"answer": "Rhine", "answer": "Danube"}',
        '{"not": "Danube"}',
        '{"answer": ["Danube"]}',
        '{"answer": ""}',
        '{"answer": "Rhine\\nDanube"}',
        '{"answer": "Danube"} is wrong',
        "{" * 2000,
    ],
)
async def test_only_one_plain_answer_of_an_object_is_declared(rules: Judge, answer: str) -> None:
    assert declared_answer(answer, one_sentence=False).text == answer
    assert (await rules.grade(asked("qa", "Danube"), answer)).correct is not True


async def test_a_threshold_decides_what_is_open() -> None:
    judge = Judge(f1_threshold=0.5)
    verdict = await judge.grade(asked("squad2", "Danube"), "Danube river")
    await judge.aclose()
    assert (verdict.correct, verdict.rule) == (True, "qa.f1_threshold")
