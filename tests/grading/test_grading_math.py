"""Numbers and mathematics: what must be accepted, what must never be."""

import asyncio

import pytest
from answer_tables import table_rows, verdicts_on

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


def math_problem(gold: str, question: str = "What is the value?") -> Problem:
    return Problem("math/t/1", "math", "math", question, (gold,))


TABLES = {
    "What is the value?": r"""
18 => 18 | $18.00 | 18 dollars | The answer is 18. | 9 + 9 = 18 | It is $18 in all.
18 => Step one.⏎16 - 3 - 4 = 9⏎9 * 2 = 18⏎#### 18 | **Answer:** 18 | 6 * 3 = 18 | x = 18 | 18 = 18.0
18 => 1.5 dozen = 18 | 18, not 20 !> 20, not 18 | 20 - 2, not 18 | 18 or 20 or 22 | not 18 | 18% | 18 thousand | 1 8 | 18⏎19⏎20
18 !> \boxed{18} or \boxed{20} | The answer is 17. The answer is 18. | either 18 or something else | 36/2
18 !> 9 \cdot 2 | 18x | 118 | 18, 20 | None | : | Thought process:
18 !> Let's solve this problem step by step. | Traceback (most recent call last): 18
18 !> The reference answer is correct: 18 | The answer is 18? No: 20 | 20 = 18 | $20=18$
18 !> The answer is 18. No: 20.
1234.5 => $1,234.50
5 => five
1/3 => \frac{1}{3}
1/2 => 1/2 (one half) | It is 1/2 of the whole.
0.\overline{3} => \frac13 !> 0
\frac{3}{4} => 0.75
\frac{\sqrt{2}}{2} => sqrt(2)/2 | \dfrac{1}{\sqrt{2}}
x^2-7x+12 => 12 - 7*x + x**2
(-4,1] => \left(-4, 1\right]
-4<m\leq 0 => (-4, 0]
(-\infty,0]\cup[4,\infty) => x <= 0 or x >= 4
-4, 4 => 4 and -4 !> The answer is -4, 4? No: -4
1 \pm \sqrt{19} => 1+\sqrt{19}, 1-\sqrt{19}
\begin{pmatrix} 1/5 \\ 2 \end{pmatrix} => \begin{pmatrix} 0.2 \\ 2 \end{pmatrix}
\text{odd} => Odd. !> 3 | \boxed{\text{odd}} is what a careless reader gets. \boxed{x^3} | unanswerable
\text{(A)} => A
25\text{ ft} => 25 feet
90^\circ => 90 degrees
\frac{\pi}{6} => 30^\circ
\$4,\!000 => $4000
17,\!280 => 17280
y=2x+1 => 2x + 1
41.494 => 17+10\sqrt{6}
i => \sqrt{-1}
1+2i => 1+\sqrt{-4}
i\sqrt{3} => \sqrt{-3}
131.28 => The total is **$131.28**. !> The total is **$131.82**.
42 => exactly 42
\{-2, 3\} => \{-2, 3, 3\} !> \{-2, -2\}
7 !> 1 2 3 4 5 6 7
5 hours !> 5 minutes
\frac{1}{3} !> 0.33
2 !> \int_0^2 x\,dx
(1,2] !> (1,2)
(1,2) !> (2,1)
506_7 !> 506_8
\frac{\sqrt{6}}{3} !> \frac{\sqrt{6}}{2}
4 !> AB=9, CD=4
-i !> \sqrt{-1}
2i !> \sqrt{4}
(-1,2] !> The answer is (-1,2]? No: (-1,3]
10^{-57} !> 8\cdot 10^{-57} / 10^{-57} / 0
"""
    "-3 => \u22123\n18 !> \u200b",
    "A trip of 300 minutes: how many hours is it?": "5 => 5 hours !> 5 minutes",
    "What percentage of the pupils are ill?": "18 => 18%",
    r"What is 20\% as a fraction?": r"\frac{1}{5} !> 0.2%",
    "What angle does the ramp make?": r"30^\circ => 30 degrees !> 30'",
    "What is 7 + 8?": r"""
15 => \boxed{15} ?> \boxed{15}. Actually, I made a mistake; it is 16.
""",
    "How many dollars does she get?": "18 !> 18 squared | She gets 18 or more dollars | €18",
    "Find the angle in degrees.": "60 => 60° !> 60 rad",
    "What is it in base 7?": "506_7 => 506",
}


@pytest.mark.parametrize("question", TABLES)
async def test_the_value_is_right_in_any_notation_and_nothing_else_is_accepted(
    rules: Judge, question: str
) -> None:
    rows = table_rows(TABLES[question])
    assert await verdicts_on(rules, rows, lambda gold: math_problem(gold, question)) == rows


async def test_an_empty_answer_is_wrong(rules: Judge) -> None:
    assert (await rules.grade(math_problem("18"), "")).correct is False


async def test_echo_of_the_question_is_not_an_answer(rules: Judge) -> None:
    problem = math_problem("x^2+2x+1", "Expand $(x+1)^2$.")
    verdict = await rules.grade(problem, "(x+1)^2")
    assert verdict.correct is False
    assert verdict.rule == "math.echo"


async def test_rules_leave_words_for_the_model(rules: Judge) -> None:
    problem = math_problem(r"\text{a right prism with an inscribed base}")
    assert (await rules.grade(problem, "a right prism with a cyclic base")).correct is None


@pytest.mark.slow
async def test_a_hanging_expression_is_killed_and_spares_its_neighbors(rules: Judge) -> None:
    hostile = r"x + \left(9^{9^{9^9}}\right)!"
    jobs = [rules.grade(math_problem("x+1"), hostile)]
    jobs += [rules.grade(math_problem(r"\sqrt{8}"), r"2\sqrt{2}") for _ in range(8)]
    verdicts = await asyncio.wait_for(asyncio.gather(*jobs), 30)
    assert verdicts[0].correct is not True
    assert all(verdict.correct for verdict in verdicts[1:])
