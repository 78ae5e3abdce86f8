import pytest

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


def qa(
    *golds: str, question: str = "Which city?", dataset: str = "squad2", context: str = ""
) -> Problem:
    return Problem("qa/t/1", dataset, "qa", question, golds, context=context)


@pytest.mark.parametrize(
    ("problem", "answer"),
    [
        (qa("Paris"), "paris."),
        (qa("Paris"), "The answer is Paris."),
        (qa("Paris", question="What is the capital of France?"), "The capital of France is Paris."),
        (qa("In September 1971"), "September 1971"),
        (qa("eight"), "8"),
        (qa("Type II hypersensitivity", question="What class of hypersensitivity?"), "Type II"),
        (qa("January 26, 1788", dataset="open"), "26 January 1788"),
        (qa("Théoden"), "Theoden"),
        (qa("yes", dataset="hotpotqa"), "Yes, both are American."),
        (qa("mills", context="The gunpowder mills of Delaware."), "gunpowder mills"),
        (qa(), "unanswerable"),
        (qa(), "The passage does not mention how many there were."),
    ],
)
async def test_the_same_answer_in_other_words_is_correct(
    rules: Judge, problem: Problem, answer: str
) -> None:
    verdict = await rules.grade(problem, answer)
    assert verdict.correct is True, verdict


@pytest.mark.parametrize(
    ("problem", "answer"),
    [
        (qa("Paris"), "London"),
        (qa("Paris"), "Paris or London"),
        (qa("Paris"), "not Paris"),
        (qa("Paris"), "unanswerable"),
        (qa("Paris"), "The text does not say."),
        (qa("no", dataset="hotpotqa"), "yes"),
        (qa("yes", dataset="hotpotqa"), "no"),
        (qa("yes", dataset="hotpotqa"), "yes and no"),
        (qa(), "Paris"),
        (qa(), "The passage does not say, but it is Paris."),
        (qa(), ""),
        (qa("Paris"), "Answer:"),
    ],
)
async def test_what_is_not_the_answer_is_never_accepted(
    rules: Judge, problem: Problem, answer: str
) -> None:
    verdict = await rules.grade(problem, answer)
    assert verdict.correct is False, verdict


@pytest.mark.parametrize(
    ("problem", "answer"),
    [
        (qa("Paris"), "Paris, London, Rome"),
        (qa("World War II"), "World War I"),
        (qa("January 18, 1974"), "January 18, 1975"),
        (qa("North Korea"), "South Korea"),
        (qa("midges and flies", context="It eats midges and flies."), "flies"),
        (qa("tin with lead and zinc", context="It is tin with lead and zinc."), "tin"),
        (qa("oxide of iron and tin", context="Oxide of iron and tin."), "oxide of iron"),
    ],
)
async def test_another_answer_that_shares_words_is_left_open(
    rules: Judge, problem: Problem, answer: str
) -> None:
    verdict = await rules.grade(problem, answer)
    assert (verdict.correct, verdict.rule) == (None, "qa.partial")


async def test_an_open_question_half_answered_is_left_ungraded(rules: Judge) -> None:
    problem = qa("the Treaty of Rome", dataset="open", question="What founded it?")
    verdict = await rules.grade(problem, "the Rome agreements of 1957")
    assert verdict.correct is None
    assert 0 < (verdict.score or 0) < 1


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
    ("problem", "answer"),
    [
        (qa("midges and flies", context="It eats midges and flies."), "flies"),
        (qa("tin with lead and zinc", context="It is tin with lead and zinc."), "tin"),
        (qa("oxide of iron and tin", context="Oxide of iron and tin."), "oxide of iron"),
    ],
)
async def test_a_part_of_a_list_is_not_accepted_as_a_span_of_the_passage(
    rules: Judge, problem: Problem, answer: str
) -> None:
    assert (await rules.grade(problem, answer)).correct is not True
