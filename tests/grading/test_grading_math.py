"""Numbers and mathematics: what must be accepted, what must never be."""

import asyncio

import pytest

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


def math_problem(gold: str, question: str = "What is the value?") -> Problem:
    return Problem("math/t/1", "math", "math", question, (gold,))


ACCEPTED = [
    ("18", "18"),
    ("18", "$18.00"),
    ("18", "18 dollars"),
    ("18", "The answer is 18."),
    ("18", "9 + 9 = 18"),
    ("18", "It is $18 in all."),
    ("18", "Step one.\n16 - 3 - 4 = 9\n9 * 2 = 18\n#### 18"),
    ("18", "**Answer:** 18"),
    ("1234.5", "$1,234.50"),
    ("5", "five"),
    ("-3", "\u22123"),
    ("1/3", r"\frac{1}{3}"),
    ("1/2", "1/2 (one half)"),
    ("1/2", "It is 1/2 of the whole."),
    (r"0.\overline{3}", r"\frac13"),
    (r"\frac{3}{4}", "0.75"),
    (r"\frac{\sqrt{2}}{2}", "sqrt(2)/2"),
    (r"\frac{\sqrt{2}}{2}", r"\dfrac{1}{\sqrt{2}}"),
    ("x^2-7x+12", "12 - 7*x + x**2"),
    ("(-4,1]", r"\left(-4, 1\right]"),
    ("-4<m\\leq 0", "(-4, 0]"),
    ("(-\\infty,0]\\cup[4,\\infty)", "x <= 0 or x >= 4"),
    ("-4, 4", "4 and -4"),
    ("1 \\pm \\sqrt{19}", "1+\\sqrt{19}, 1-\\sqrt{19}"),
    (r"\begin{pmatrix} 1/5 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 0.2 \\ 2 \end{pmatrix}"),
    (r"\text{odd}", "Odd."),
    (r"\text{(A)}", "A"),
    (r"25\text{ ft}", "25 feet"),
    (r"90^\circ", "90 degrees"),
    (r"\frac{\pi}{6}", r"30^\circ"),
    (r"\$4,\!000", "$4000"),
    ("17,\\!280", "17280"),
    ("y=2x+1", "2x + 1"),
    ("41.494", r"17+10\sqrt{6}"),
    ("i", r"\sqrt{-1}"),
    ("1+2i", r"1+\sqrt{-4}"),
    (r"i\sqrt{3}", r"\sqrt{-3}"),
]


@pytest.mark.parametrize(("gold", "answer"), ACCEPTED)
async def test_the_same_answer_in_other_notation_is_correct(
    rules: Judge, gold: str, answer: str
) -> None:
    verdict = await rules.grade(math_problem(gold), answer)
    assert verdict.correct is True, verdict


REJECTED = [
    ("18", "18 or 20 or 22"),
    ("18", "not 18"),
    ("18", "18%"),
    ("18", "18 thousand"),
    ("18", "1 8"),
    ("18", "18\n19\n20"),
    ("18", r"\boxed{18} or \boxed{20}"),
    ("18", "The answer is 17. The answer is 18."),
    ("18", "either 18 or something else"),
    ("18", "36/2"),
    ("18", "9 \\cdot 2"),
    ("18", "18x"),
    ("18", "118"),
    ("18", "18, 20"),
    ("7", "1 2 3 4 5 6 7"),
    ("5 hours", "5 minutes"),
    (r"0.\overline{3}", "0"),
    (r"\frac{1}{3}", "0.33"),
    ("2", r"\int_0^2 x\,dx"),
    ("(1,2]", "(1,2)"),
    ("(1,2)", "(2,1)"),
    ("506_7", "506_8"),
    (r"\frac{\sqrt{6}}{3}", r"\frac{\sqrt{6}}{2}"),
    (r"\text{odd}", "3"),
    ("4", "AB=9, CD=4"),
    ("18", ""),
    ("18", "None"),
    ("18", ":"),
    ("18", "Thought process:"),
    ("18", "Let's solve this problem step by step."),
    ("18", "Traceback (most recent call last): 18"),
    ("18", "The reference answer is correct: 18"),
    ("18", "\u200b"),
    ("-i", r"\sqrt{-1}"),
    ("2i", r"\sqrt{4}"),
]


@pytest.mark.parametrize(("gold", "answer"), REJECTED)
async def test_what_is_not_the_answer_is_never_accepted(
    rules: Judge, gold: str, answer: str
) -> None:
    verdict = await rules.grade(math_problem(gold), answer)
    assert verdict.correct is False, verdict


async def test_the_unit_asked_for_decides(rules: Judge) -> None:
    asked = math_problem("5", "A trip of 300 minutes: how many hours is it?")
    assert (await rules.grade(asked, "5 minutes")).correct is False
    assert (await rules.grade(asked, "5 hours")).correct is True


async def test_a_percentage_counts_where_one_is_asked_for(rules: Judge) -> None:
    asked = math_problem("18", "What percentage of the pupils are ill?")
    assert (await rules.grade(asked, "18%")).correct is True
    given = math_problem(r"\frac{1}{5}", r"What is 20\% as a fraction?")
    assert (await rules.grade(given, "0.2%")).correct is False


async def test_words_behind_a_number_that_change_it(rules: Judge) -> None:
    dollars = math_problem("18", "How many dollars does she get?")
    for answer in ("18 squared", "She gets 18 or more dollars", "€18"):
        assert (await rules.grade(dollars, answer)).correct is False
    degrees = math_problem("60", "Find the angle in degrees.")
    assert (await rules.grade(degrees, "60 rad")).correct is False
    assert (await rules.grade(degrees, "60°")).correct is True


@pytest.mark.parametrize(
    "answer", ["The answer is 18? No: 20", "20 = 18", "$20=18$", "The answer is 18. No: 20."]
)
async def test_what_is_taken_back_or_contradicted_is_no_answer(rules: Judge, answer: str) -> None:
    assert (await rules.grade(math_problem("18"), answer)).correct is False


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("(-1,2]", "The answer is (-1,2]? No: (-1,3]"),
        ("-4, 4", "The answer is -4, 4? No: -4"),
        (r"\text{odd}", r"\boxed{\text{odd}} is what a careless reader gets. \boxed{x^3}"),
        (r"\text{odd}", "unanswerable"),
        ("10^{-57}", r"8\cdot 10^{-57} / 10^{-57} / 0"),
    ],
)
async def test_what_is_questioned_or_one_of_several_is_no_answer(
    rules: Judge, gold: str, answer: str
) -> None:
    assert (await rules.grade(math_problem(gold, "What is it?"), answer)).correct is False


@pytest.mark.parametrize("answer", ["6 * 3 = 18", "x = 18", "18 = 18.0", "1.5 dozen = 18"])
async def test_a_chain_of_equal_numbers_ends_in_its_result(rules: Judge, answer: str) -> None:
    assert (await rules.grade(math_problem("18"), answer)).correct is True


async def test_echo_of_the_question_is_not_an_answer(rules: Judge) -> None:
    problem = math_problem("x^2+2x+1", "Expand $(x+1)^2$.")
    verdict = await rules.grade(problem, "(x+1)^2")
    assert verdict.correct is False
    assert verdict.rule == "math.echo"


async def test_rules_leave_words_for_the_model(rules: Judge) -> None:
    problem = math_problem(r"\text{a right prism with an inscribed base}")
    assert (await rules.grade(problem, "a right prism with a cyclic base")).correct is None


async def test_a_base_named_by_the_question_may_be_left_out(rules: Judge) -> None:
    problem = math_problem("506_7", "What is it in base 7?")
    assert (await rules.grade(problem, "506")).correct is True


@pytest.mark.parametrize(
    ("gold", "answer", "correct"),
    [
        ("131.28", "The total is **$131.28**.", True),
        ("131.28", "The total is **$131.82**.", False),
        ("42", "exactly 42", True),
        (r"\{-2, 3\}", r"\{-2, 3, 3\}", True),
        (r"\{-2, 3\}", r"\{-2, -2\}", False),
    ],
)
async def test_emphasis_and_repeats_leave_a_value_as_it_is(
    rules: Judge, gold: str, answer: str, correct: bool
) -> None:
    assert (await rules.grade(math_problem(gold, "What is it?"), answer)).correct is correct


@pytest.mark.slow
async def test_a_hanging_expression_is_killed_and_spares_its_neighbors(rules: Judge) -> None:
    hostile = r"x + \left(9^{9^{9^9}}\right)!"
    jobs = [rules.grade(math_problem("x+1"), hostile)]
    jobs += [rules.grade(math_problem(r"\sqrt{8}"), r"2\sqrt{2}") for _ in range(8)]
    verdicts = await asyncio.wait_for(asyncio.gather(*jobs), 30)
    assert verdicts[0].correct is not True
    assert all(verdict.correct for verdict in verdicts[1:])
