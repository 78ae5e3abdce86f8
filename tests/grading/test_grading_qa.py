import json
import re
from pathlib import Path

import pytest
from answer_tables import table_rows, verdicts_on

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.rows import read_answer
from llm_as_judge.types import Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


def qa(
    *golds: str, question: str = "Which city?", dataset: str = "squad2", context: str = ""
) -> Problem:
    return Problem("qa/t/1", dataset, "qa", question, golds, context=context)


TABLES = {
    ("squad2", "Which city?"): """
Paris => paris. | The answer is Paris. !> London | Paris or London | not Paris | unanswerable | Answer:
Paris !> The text does not say.
In September 1971 => September 1971
eight => 8
Type 2 => Type II
11 p.m. to 3 a.m. => 11 p.m. to 3 a.m.
Théoden => Theoden
""",
    ("open", "Which city?"): "January 26, 1788 => 26 January 1788",
    ("squad2", "On which day?"): "Tuesday => On Tuesday.",
    ("squad2", "Where was he born?"): "Paris => in Paris\nat the mill => the mill !> in the mill",
    ("squad2", "Which band?"): "The The => the the !> The",
    ("squad2", "Which?"): "France and Spain => 1. Spain⏎2. France",
    ("squad2", "How long?"): "3-5 days => 3 to 5 days",
    ("squad2", "Which file?"): "config/a-b_c.yaml => `config/a-b_c.yaml`",
    ("squad2", "Which formula?"): "H2O => H_2O",
    ("squad2", "Which ion?"): "Cl- => Cl\u207b",
    ("squad2", "Which rating?"): "AA- !> AA",
    ("squad2", "Which one?"): """
Apollo 11 => Apollo-11
Henry VIII => henry viii
102 !> 10²
2 ?> √2
""",
    ("squad2", "When did he die?"): "14 AD => 14 CE",
    ("hotpotqa", "Are both American?"): "yes => Yes, they are. !> no | yes and no\nno !> yes",
    ("squad2", "How many eggs?"): """
12 => 12, not 13 | 12 rather than 13 eggs. | 12 and not 120
13 ?> 12, not 13
3 ?> 5 - 2, not 3
""",
}


@pytest.mark.parametrize(("dataset", "question"), TABLES)
async def test_the_gold_in_other_words_is_right_and_nothing_else_is_accepted(
    rules: Judge, dataset: str, question: str
) -> None:
    rows = table_rows(TABLES[dataset, question])
    given = {"dataset": dataset, "question": question}
    assert await verdicts_on(rules, rows, lambda gold: qa(gold, **given)) == rows


@pytest.mark.parametrize(
    ("answer", "correct"),
    [
        ("unanswerable", True),
        ("The passage does not mention how many there were.", True),
        ("Paris", False),
        ("The passage does not say, but it is Paris.", False),
        ("", False),
    ],
)
async def test_where_there_is_no_answer_only_an_abstention_is_right(
    rules: Judge, answer: str, correct: bool
) -> None:
    assert (await rules.grade(qa(), answer)).correct is correct


@pytest.mark.parametrize(
    ("problem", "answer", "rule"),
    [
        (qa("World War II"), "World War I", "exact_match"),
        (qa("January 18, 1974"), "January 18, 1975", "date.different"),
        (qa("North Korea"), "South Korea", "exact_match"),
        (qa("Tuesday", question="On which day?"), "on Thursday", "exact_match"),
        (qa("config/a-b_c.yaml"), "config/a-b-c.yaml", "exact_match"),
        (qa("max_len"), "maxlen", "exact_match"),
        (qa("Ctrl+S"), "Ctrl-S", "exact_match"),
        (qa("the Pacific Ocean"), "the Pacific", "exact_match"),
        (qa("3.10", question="Which version is it?"), "3.1", "exact_match"),
        (qa("midges and flies", context="It eats midges and flies."), "flies", "exact_match"),
        (qa("the Treaty of Rome", dataset="open"), "the Rome agreements of 1957", "exact_match"),
        (qa("dogs"), "cats", "exact_match"),
        (qa("14 days"), "three weeks from delivery", "number.different"),
        (qa("36.0"), "37", "number.different"),
        (qa("14 days"), "9" * 10_000, "exact_match"),
        (qa("14 days"), "\u1369 weeks", "exact_match"),
    ],
)
async def test_without_a_judge_a_short_answer_that_is_not_the_gold_is_wrong(
    rules: Judge, problem: Problem, answer: str, rule: str
) -> None:
    verdict = await rules.grade(problem, answer)
    assert (verdict.correct, verdict.rule) == (False, rule)


OPEN = """
Paris ?> Paris, London, Rome | The capital of France is Paris.
36.0 ?> The limit is 36 places.
14 days ?> Two weeks from delivery.
2 hours ?> It takes 120 minutes
9 p.m. ?> The garage is open until 21:00. | from 9 p.m. to 10 p.m.
30 days ?> 30 days for e-books only
yes ?> Yes, both are American. | Yes, only for members.
"""


async def test_a_gold_among_other_words_is_left_open(rules: Judge) -> None:
    for gold, answer, _ in table_rows(OPEN):
        verdict = await rules.grade(qa(gold, dataset="open", question="What?"), answer)
        assert (verdict.correct, verdict.explanation != "") == (None, True), verdict


async def test_a_threshold_decides_partial_answers_when_asked() -> None:
    judge = Judge(f1_threshold=0.5)
    problem = qa("the Treaty of Rome", dataset="open", question="What founded it?")
    assert (await judge.grade(problem, "Treaty of Roma")).rule == "qa.f1_threshold"
    await judge.aclose()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No answer.", True),
        ("I cannot determine this from the context.", True),
        ("There is not enough information in the text to answer.", True),
        ("N/A", True),
        ("unknown", True),
        ("Paris", False),
        ("The passage does not say. It is Paris. Trust me.", False),
        ("No, it is not Paris", False),
        ("", False),
    ],
)
async def test_abstentions_are_recognized(text: str, expected: bool) -> None:
    assert is_abstention(text) is expected


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("1989", "1990, 1989, 1961"),
        ("March 1923", "May 1923, March 1923, March 1932"),
        ("Jupiter", "Saturn / Jupiter / Neptune"),
        ("Jupiter", "The answer is Jupiter? No: Saturn"),
        ("Jupiter", "Saturn<|im_end|>Jupiter"),
        ("Oslo", "Saturn\u200bO\u200bs\u200bl\u200bo"),
        ("the northern wall", "Which wall was it, then?"),
        ("yes", "yes and no"),
    ],
)
async def test_several_answers_and_echoes_never_reach_a_model(
    rules: Judge, gold: str, answer: str
) -> None:
    problem = Problem("nq/t/1", "open", "qa", "Which wall was it, then?", (gold,))
    assert (await rules.grade(problem, answer)).correct is False


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("Springfield", "Springfield, Illinois, USA"),
        ("1989", "On Thursday, 9 November, 1989, in the evening"),
        ("18", "18<|im_end|>"),
        ("Let It Be", "Let It Be"),
        ("here and now", "let us look: here and now"),
    ],
)
async def test_what_may_be_right_is_left_open(rules: Judge, gold: str, answer: str) -> None:
    problem = Problem("nq/t/1", "open", "qa", "What?", (gold,))
    assert (await rules.grade(problem, answer)).correct is not False


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("9 p.m.", "21:00"), ("9 p.m.", "at 9:00 PM"), ("21:30", "9:30 pm"), ("12 a.m.", "0:00")],
)
async def test_a_time_of_day_is_right_in_either_notation(
    rules: Judge, gold: str, answer: str
) -> None:
    verdict = await rules.grade(qa(gold, dataset="open", question="When?"), answer)
    assert (verdict.correct, verdict.rule, verdict.kind) == (True, "time.equal", "time")


@pytest.mark.parametrize("answer", ["four = four, so 14 remain.", "14 = 14, so four remain."])
async def test_an_equation_of_a_thing_with_itself_is_no_answer(rules: Judge, answer: str) -> None:
    verdict = await rules.grade(qa("four", dataset="open", question="How many strings?"), answer)
    assert verdict.correct is False


_PAGE = Path(__file__).parents[2] / "docs" / "judge.md"


async def test_the_labeled_rows_of_the_page_on_judges_are_left_open_to_a_judge(
    rules: Judge,
) -> None:
    lines = re.findall(r'^ *(\{"id": .*"correct": .*\})$', _PAGE.read_text("utf-8"), re.MULTILINE)
    rows = [json.loads(line) for line in lines]
    assert [row["correct"] for row in rows] == [True, False]
    for row in rows:
        answer = read_answer(row)
        assert (await rules.grade(answer.problem, answer.candidate)).correct is None, row


async def test_a_sentence_of_the_last_questions_words_is_right(rules: Judge) -> None:
    asked = "Visitors wear yellow. What color is a contractor's badge?"
    for answer, right in (("A contractor's badge is blue.", True), ("Visitors wear blue.", None)):
        verdict = await rules.grade(qa("blue", dataset="open", question=asked), answer)
        assert (verdict.correct, verdict.rule) == (
            right,
            f"qa.{'restated' if right else 'sentence'}",
        )


FLOCK = "Which noun do people normally say of a flock of finches or larks?"


@pytest.mark.parametrize(
    ("question", "answer", "rule"),
    [
        (FLOCK, "A charm is said of a flock of finches or larks", "qa.sentence"),
        (FLOCK, "charm or flight", "extract.several"),
        ("Is it a charm or flight?", "charm or flight", "extract.several"),
    ],
)
async def test_a_choice_is_no_answer_but_that_of_the_question_without_a_gold_in_it_is_left_open(
    rules: Judge, question: str, answer: str, rule: str
) -> None:
    problem = Problem("q/1", "qa", "qa", question, ("charm",))
    assert (await rules.grade(problem, answer)).rule == rule


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        ("Not in Lyon, as many say, but in Paris.", "qa.sentence"),
        ("It was not Lyon. It was Paris.", "qa.sentence"),
        ("Not Paris, but Lyon.", "extract.negated"),
        ("It is not Lyon or Paris.", "extract.negated"),
        ("Never Lyon.", "extract.negated"),
    ],
)
async def test_a_denial_is_wrong_unless_another_is_denied_before_the_gold(
    rules: Judge, answer: str, rule: str
) -> None:
    verdict = await rules.grade(qa("Paris"), answer)
    assert verdict.rule == rule
    assert verdict.correct is (None if rule == "qa.sentence" else False)
