"""Answers that share something with the gold and no more: decided where it is safe, else open."""

import pytest
from answer_tables import table_rows, verdicts_on

from llm_as_judge.grading.extract import declared_answer
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Domain, Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


def asked(dataset: str, gold: str, question: str = "What is it?") -> Problem:
    kind: Domain = "math" if dataset == "math" else "qa"
    return Problem(f"{dataset}/t/1", dataset, kind, question, (gold,))


TABLES = {
    ("math", "What is it?"): r"""
18 => 72 - 54 = 18, so 18 remain. | {"answer": 18}
18 => {"final_answer": "18", "unit": "apples", "work": "72-54=18"} | Total: 18 | It's 18
18 !> {"answer": 20, "answer": 18} | 72 - 54 = 18, so 20 remain. | 72 - 54 = 20, so 20 remain.
18 !> 20 = 18, so 18 | 72 - 54 = 18, so 18% remain. | 72 - 54 = 18, so 18 thousand remain. | so not 18
18 !> 18 squared | 18, 20 | {"answer": 20} | {"answer": "18 or 20"}
\frac{1}{2} => Therefore, 1/2
\sqrt{2} => so \sqrt{2}
4 !> AB=9, CD=4
1932 !> in 1933
1932 ?> before 1932
18 ?> 72-54=18; 18 remain | {"result": 20, "answer": 18} | We have 18 apples and -18 pears
18 ?> {⏎  "left": 18,⏎  "taken": 54⏎}
""",
    ("squad2", "What is it?"): r"""
1932 => in the year 1932 | It was during 1932 | 1932 AD
2 hours => 120 minutes !> 119 minutes
Danube => {"answer": "Danube"} | {"answer": "Danube", "answer": "Danube"}
Danube => ```json⏎{"thought": "not the Rhine", "answer": "Danube"}⏎```
Danube !> {"answer": "Danube", "answer": "Rhine"} | {"answer": "Danube", "answer": ["Rhine"]}
Danube !> {"answer": "Rhine"} | {"answer": "Danube or Rhine"} | {"answer": "not Danube"}
Danube ?> Danube river | {"river": "Danube"} | {⏎  "river": "Danube",⏎  "length": 2850⏎}
1932 ?> before 1932
""",
    ("hotpotqa", "What is it?"): "Danube ?> Danube river",
    ("qa", "What is it?"): "Danube ?> Danube river\nsix weeks => 42 days",
    ("math", "When was it built?"): "1932 => in 1932 | in the year 1932",
    ("math", "How long?"): "5 => in 5 days",
    ("math", "How many apples are left?"): "18 => 72 - 54 = 18. So there are 18 apples left.",
}
NOBODY = "undecided by the rules, and there is no judge model to ask"


@pytest.mark.parametrize(("dataset", "question"), TABLES)
async def test_what_shares_something_with_the_gold_is_decided_where_it_is_safe(
    rules: Judge, dataset: str, question: str
) -> None:
    rows = table_rows(TABLES[dataset, question])
    assert await verdicts_on(rules, rows, lambda gold: asked(dataset, gold, question)) == rows
    for gold, answer, correct in rows:
        if correct is None:
            verdict = await rules.grade(asked(dataset, gold, question), answer)
            assert verdict.explanation.endswith(NOBODY)


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
