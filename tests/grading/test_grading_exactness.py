"""Exact values are compared exactly, decimals by the digits written, whatever their size."""

import importlib
from fractions import Fraction

import pytest
from answer_tables import table_rows, verdicts_on

from llm_as_judge.audit.attacks import make_attacks, make_controls
from llm_as_judge.grading.formula import read_formula
from llm_as_judge.grading.identity import is_zero, real_value
from llm_as_judge.grading.latex import normalize
from llm_as_judge.grading.number import is_written_as, parse_number
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")

VALUES = r"""
10^{-30} !> 0 | 10^{-31} | 2\cdot 10^{-30}
1e-12 !> 2e-12
\frac{1}{2^{100}} => 2^{-100} !> 0 | \frac{1}{2^{101}}
e^{-100} !> 0 | e^{-101}
10^{-30}\sqrt{2} !> 10^{-30}\sqrt{3}
\sqrt{2}+10^{-40} !> \sqrt{2}
x+10^{-30} !> x
10^{-30}x !> 2\cdot 10^{-30}x
(10^{-30}, 1) !> (0, 1)
1.25\times 10^{-12} !> \frac{1}{7000} | \frac{\sqrt{2}}{7000}
0.000 !> \frac{1}{3000}
0.001 !> \frac{1}{700}
10^{30} => 1000000000000000000000000000000 !> 10^{30}+1
2^{100} => 1267650600228229401496703205376 | 2^100 | 2\cdot 2^{99} !> 1267650600228229401496703205377
30! => 265252859812191058636308480000000 !> 265252859812191058636308480000001
10^{40}x !> (10^{40}+1)x
y=10^{30}x !> y=10^{30}x+1
\sqrt{10^{60}+1} !> 10^{30}
\frac{10^{30}+1}{10^{30}} !> 1
\sqrt{2} !> 1.41421356237309504880168872421
0.334 !> \frac{1}{3}
0.332 !> \frac{1}{3}
3.143 !> \pi
-0.334 !> -\frac{1}{3}
10^{-9} => 1e-9 | 10^-9 | 10⁻⁹
10^{-12} => 1\times 10^{-12} | \frac{1}{10^{12}} | 1/10^12 | 0.000000000001
2.5\times 10^{-7} => \frac{1}{4000000}
1267650600228229401496703205376 => 1,267,650,600,228,229,401,496,703,205,376
x^{12} => x^12
10^{40}\sqrt{2} => \sqrt{2\cdot 10^{80}}
1+\sqrt{2} => \sqrt{3+2\sqrt{2}}
1 => 0.\overline{9}
0.333 => \frac{1}{3}
0.667 => \frac{2}{3}
0.666 => \frac{2}{3}
-0.667 => -\frac{2}{3}
3.142 => \pi
3.14159265358979 => \pi
"""


async def test_equal_values_are_right_and_unequal_ones_wrong_however_near(rules: Judge) -> None:
    rows = table_rows(VALUES)

    def problem(gold: str) -> Problem:
        return Problem("math/t/1", "math", "math", "What is the value?", (gold,))

    assert await verdicts_on(rules, rows, problem) == rows


async def test_equations_that_nearly_agree_are_not_accepted(rules: Judge) -> None:
    problem = Problem("math/t/1", "math", "math", "Which line?", ("x+y=10^{-30}",))
    assert (await rules.grade(problem, r"x+y=2\cdot 10^{-30}")).correct is not True
    assert (await rules.grade(problem, r"2x+2y=2\cdot 10^{-30}")).correct is True


@pytest.mark.parametrize(
    ("exact", "written", "step", "same"),
    [
        ("2/3", "0.667", "0.001", True),  # rounded
        ("2/3", "0.666", "0.001", True),  # cut
        ("2/3", "0.668", "0.001", False),
        ("2/3", "0.665", "0.001", False),
        ("1/3", "0.334", "0.001", False),
        ("-2/3", "-0.667", "0.001", True),
        ("-2/3", "-0.666", "0.001", True),
        ("1/8", "0.12", "0.01", True),
        ("1/8", "0.13", "0.01", True),
        ("1/3000", "0", "0.001", True),
        ("2/3000", "0", "0.001", False),
    ],
)
async def test_a_decimal_is_its_value_rounded_or_cut(
    exact: str, written: str, step: str, same: bool
) -> None:
    assert is_written_as(Fraction(exact), Fraction(written), Fraction(step)) is same


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("41.494", Fraction(1, 1000)),
        ("6.022e23", Fraction(10**20)),
        ("1.25 x 10^{-12}", Fraction(1, 10**14)),
        ("1.234 million", Fraction(1000)),
        ("0.0125", Fraction(1, 10**4)),
        ("0.012", None),
        ("0.000", None),
        ("18", None),
        ("1/3", None),
    ],
)
async def test_the_last_digit_of_a_decimal_has_its_own_worth(
    text: str, step: Fraction | None
) -> None:
    number = parse_number(text)
    assert number is not None
    assert number.step == step


@pytest.mark.parametrize(
    ("latex", "zero"),
    [
        (r"\sqrt{3+2\sqrt{2}}-1-\sqrt{2}", True),
        (r"5(\sqrt{3+2\sqrt{2}}-1-\sqrt{2})", True),
        (r"5(\sqrt{3+2\sqrt{2}}-1-\sqrt{2})+10^{-60}\cdot 10^{-60}\cdot 10^{-60}", False),
        (r"\sqrt{10^{64}+1}-10^{32}", False),
        (r"\frac{1}{10^{64}}", False),
        ("0", True),
    ],
)
async def test_nothing_is_zero_because_it_is_small(latex: str, zero: bool) -> None:
    assert is_zero(read_formula(normalize(latex)), {}) is zero


@pytest.mark.slow
async def test_numbers_too_long_to_be_told_apart_are_not_called_equal() -> None:
    sympy = importlib.import_module("sympy")

    hidden = sympy.sqrt(3 + 2 * sympy.sqrt(2)) - 1 - sympy.sqrt(2)
    assert is_zero(hidden + sympy.Rational(1, 10**100_000), {}) is None
    assert is_zero(sympy.Rational(1, 10**100_000), {}) is False
    assert real_value(sympy.sqrt(-2), 20) is None


async def test_both_sizes_are_attacked_and_have_controls() -> None:
    for category in ("near_zero", "last_digits"):
        attacks = [case for case in make_attacks(numbers=40) if case.category == category]
        controls = [case for case in make_controls(numbers=40) if case.category == category]
        assert len(attacks) >= 30
        assert len(controls) >= 30
        assert {case.problem.answers for case in attacks} == {c.problem.answers for c in controls}
