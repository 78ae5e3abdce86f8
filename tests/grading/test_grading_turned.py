"""Right values that something is done to, in whatever notation: each is another value, and never accepted."""

import itertools

import pytest
from answer_tables import items, table_rows, verdicts_on

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")

GOLDS = ("7", r"\frac{3}{4}", r"2\sqrt{5}", "x^2+1", r"12\text{ units}")
TURNED = items(r"""
-({0}) | 1/({0}) | ({0})^2 | \sqrt{{{0}}} | y^2 = {0} | 2y = {0} | 2a = {0} | |y| = {0} | -y = {0}
answer^2 = {0} | x + y = {0} | \pm {0} | {0} thousand | {0}\text{{ dozen}} | {0}\text{{ squared}}
twice the answer is {0} | One less than the answer is {0} | The square of the answer is {0}.
the square root of {0} | {0} + c | {0}_8 | {0} \mod 5 | {0}, {0}1 | The answer is not {0}. | {0} (wrong)
""")


def problem(gold: str, question: str = "What is it?") -> Problem:
    return Problem("math/t/1", "math", "math", question, (gold,))


@pytest.mark.parametrize("turned", TURNED)
async def test_a_value_that_something_is_done_to_is_not_accepted(rules: Judge, turned: str) -> None:
    verdicts = {gold: await rules.grade(problem(gold), turned.format(gold)) for gold in GOLDS}
    assert not [gold for gold, verdict in verdicts.items() if verdict.correct]


OTHERS = table_rows(r"""
\frac{R}{r} !> \frac{r}{R}
R - r !> 0
\pi (R^2 - r^2) !> \pi (r^2 - R^2)
R=2, r=1 !> r=2, R=1
4.5\text{ units} !> 4/5 units
4\text{ units} !> -4 units
x + y = 6 !> 6
xy = 6 !> 6
x=3 !> x^2=3
k=3 !> -k=3
""")


async def test_another_value_is_not_accepted(rules: Judge) -> None:
    for gold, answer, _ in OTHERS:
        assert not (await rules.grade(problem(gold), answer)).correct, answer


TABLES = {
    "What is x + y?": "7 => x + y = 7",
    "Compute $2x$.": "6 => 2x = 6",
    "What is the area?": "12 => A = lw = 12",
    "How many meters?": "7 => 3 m + 4 m = 7 m",
    "What is the angle?": r"30 => m\angle A = 30",
    "What is it?": """
3 => y-intercept = 3
9 => So x = 3^2 = 9
5 => So the answer is 5. | a total of 2 + 3 = 5
""",
    "Which grade?": r"12 => 12^{\mathrm{th}}",
    "Solve.": r"""
x = y = z = 3 => (3, 3, 3)
(2, 0, 2), (2, 0, -2), (-2, 0, 2), (-2, 0, -2) ?> (\pm 2, 0, \pm 2)
x = y = z = \frac{1}{2} ?> \frac{1}{2}
""",
    "How long are they?": "AB = CD = 5 => CD = 5, AB = 5",
    "Find both.": "(P(x), Q(x)) = (2x, x+1) => (2x, x+1)",
    "What is X?": "X = 4 => x = 4",
    "These stand in increasing order. Find all values of m.": "1,-1,7,-7 ?> -7, -1, 1, 7",
    "Which curve?": r"xy = 6 ?> \frac{6}{x}",
    "Find f.": "2Cx^2 + 1 ?> 2cx^2 + 1",
    "Find it.": r"a_k + \ldots + a_0 ?> a_0 + \cdots + a_k",
    "What is x?": "9 ?> x^2 = 81, so x = 9",
}


@pytest.mark.parametrize("question", TABLES)
async def test_what_was_asked_for_is_right_and_what_may_be_the_same_in_another_form_open(
    rules: Judge, question: str
) -> None:
    rows = table_rows(TABLES[question])
    assert await verdicts_on(rules, rows, lambda gold: problem(gold, question)) == rows


CHOICE = r"How far? (A) \sqrt{13} (B) 23 (C) 30 (D) 31 (E) \sqrt{17}"


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("23", "\u221223"),
        ("23", "(23, 0)"),
        ("23", "23, 231"),
        (r"\sqrt{17}", r"\sqrt{17} i"),
        (r"\sqrt{13}", r"-(\sqrt{13})"),
        (r"\sqrt{13}", r"\sqrt{13} (wrong)"),
    ],
)
async def test_an_option_that_something_is_done_to_is_not_chosen(
    rules: Judge, gold: str, answer: str
) -> None:
    assert not (await rules.grade(problem(gold, CHOICE), answer)).correct
    assert (await rules.grade(problem(gold, CHOICE), gold)).correct


async def test_the_order_that_the_last_sentence_asks_for_counts(rules: Judge) -> None:
    question = "Write them in increasing order."
    for order in itertools.permutations(("1", "2", "3")):
        verdict = await rules.grade(problem("1, 2, 3", question), ", ".join(order))
        assert verdict.correct is (order == ("1", "2", "3"))


@pytest.mark.parametrize("sign", ["<", "> ", ">=", "\u2264", "~", "\u2248", "\u00b1", "-"])
@pytest.mark.parametrize("gold", ["42", "1912", "$45"])
async def test_a_sign_before_a_short_answer_makes_it_another_one(
    rules: Judge, gold: str, sign: str
) -> None:
    asked = Problem("qa/t/1", "mine", "qa", "How many?", (gold,))
    assert not (await rules.grade(asked, f"{sign}{gold}")).correct
