"""The algebra that runs in the pool, here in this process (without its processor limit)."""

from fractions import Fraction

import pytest
from answer_tables import items, table_rows

from llm_as_judge.grading.expressions import Given, sample_points
from llm_as_judge.grading.formula import read_formula
from llm_as_judge.grading.identity import is_zero
from llm_as_judge.grading.latex import normalize
from llm_as_judge.grading.shape import parse_shape
from llm_as_judge.grading.symbolic import compare_shapes


def relation(
    gold: str, candidate: str, step: Fraction | None = None, positive: frozenset[str] = frozenset()
) -> str:
    shapes = parse_shape(normalize(gold)), parse_shape(normalize(candidate))
    return compare_shapes(*shapes, Given(step, positive))


RELATIONS = {True: "equal", False: "different", None: "unknown"}
THINGS = r"""
\frac{\sqrt{2}}{2} => \frac{1}{\sqrt{2}}
2x+2 => 2(x+1)
\sin(2x) => 2\sin x\cos x
1, 2 => 2, 1 !> 1, 3 | 1, 2, 3
\{1, 2\} => 2, 1
2 \pm \sqrt{3} => 2-\sqrt{3}, 2+\sqrt{3}
x+y=1 => 2x+2y=2 !> x+2y=1
(1, x+1] => (1, 1+x]
(-\infty, 2)\cup(3, 4] => (3, 4]\cup(-\infty, 2)
\begin{pmatrix} 1 \\ 2 \end{pmatrix} => \begin{pmatrix} 1.0 \\ 2 \end{pmatrix}
\begin{pmatrix} 1 \\ 2 \end{pmatrix} !> \begin{pmatrix} 1 & 2 \end{pmatrix}
\infty => inf !> -\infty
\frac{\pi}{6} => 30^\circ
n! => n(n-1)! ?> (n+1)!
1.5+5.5(-1)^n => \frac{3+11(-1)^n}{2}
\sqrt{2} !> \sqrt{3}
x+1 !> x-1 | 7
(1, 2) !> (2, 1)
(1, 2] !> (1, 2)
(1, 2, 3) !> (1, 2)
3 !> (1, 2)
x ?> y | \sqrt{x^2}
some words here ?> other words here
\unknowncommand{x}{ ?> x
"""


def test_equal_things_are_equal_and_what_cannot_be_told_is_unknown() -> None:
    rows = [(gold, other, RELATIONS[equal]) for gold, other, equal in table_rows(THINGS)]
    assert [(gold, other, relation(gold, other)) for gold, other, _ in rows] == rows


def test_a_rounded_gold_accepts_a_closed_form_within_its_last_digit() -> None:
    # 17 + 10 sqrt 6 = 41.49489...
    assert relation("41.494", r"17+10\sqrt{6}", step=Fraction(1, 1000)) == "equal"
    assert relation("41.48", r"17+10\sqrt{6}", step=Fraction(1, 100)) == "different"


QUICK = r"""
x^{2}+35x-166 | -166 + x^{2} + 35\cdot x | \frac{a+\sqrt{3}}{2} | 2(x+1)(x-1) | \sin(47x)+175 | -x^{2}
3/4\cdot x | 2^{-1} | \frac{1}{2}\pi r^{2}
"""
SLOW = r"""
2 3 | 3/4x | x2 | 6\frac{1}{2} | f(x) | e^{x} | 1/0 | x^{2 | \sin x | 9^{9^{9}} | 2^{999} | x! | i
"""


@pytest.mark.parametrize("latex", items(QUICK))
def test_the_quick_reader_agrees_with_the_general_parser(latex: str) -> None:
    from latex2sympy2_extended import latex2sympy

    quick = read_formula(latex)
    assert quick is not None
    assert all(
        is_zero(latex2sympy(latex) - quick, point) for point in sample_points([*quick.free_symbols])
    )


@pytest.mark.parametrize("latex", ["", *items(SLOW)])
def test_the_quick_reader_leaves_the_rest_alone(latex: str) -> None:
    assert read_formula(latex) is None
