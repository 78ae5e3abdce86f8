"""Problems with very small and very large answers, where a tolerance takes one value for another.

Every wrong value differs from the gold by less than a fixed tolerance would notice: two tiny
numbers differ by next to nothing, two huge ones only in their last digits. ``right`` are the same
values written otherwise, so that no judge passes by refusing all of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from llm_as_judge.audit.seeds import Seed
from llm_as_judge.types import Problem

_Values = tuple[str, str, tuple[str, ...], tuple[str, ...]]
"""Question, gold, wrong values, right ones."""


def magnitude_seeds(rng: random.Random, count: int) -> list[Seed]:
    """``count`` problems with tiny and ``count`` with huge answers; exponents vary with ``rng``."""
    found = []
    for index in range(count):
        digit, power = rng.randint(2, 9), rng.randint(9, 60)
        for kind, write in (("near_zero", _near_zero), ("last_digits", _last_digits)):
            values = write(digit, power)
            question, gold, wrong, right = values[index % len(values)]
            problem = Problem(f"seed/{kind}/{index}", "math", "math", question, (gold,))
            found.append(Seed(problem, kind, wrong, right))
    return found


def _near_zero(digit: int, power: int) -> Sequence[_Values]:
    tiny, smaller = f"10^{{-{power}}}", f"10^{{-{power + 1}}}"
    zeros = "0." + "0" * (power - 1)
    fraction = f"\\frac{{1}}{{10^{{{power}}}}}"
    root = f"{digit}^{{{4 * power}}}"
    return (
        (
            f"Nine tenths of a litre leak out, {power} times over. How many litres are left?",
            tiny,
            (
                "0",
                f"{digit}\\cdot {tiny}",
                f"{digit}e-{power}",
                smaller,
                f"-{tiny}",
                f"{zeros}{digit}",
            ),
            (f"1e-{power}", f"10^-{power}", f"1 \\times {tiny}", fraction, f"{zeros}1"),
        ),
        (
            "What part of the sample is gold?",
            f"{zeros}{digit}25",
            (
                *("0", "0.0", f"{zeros}{digit}26", f"{zeros}0{digit}25"),
                f"\\frac{{{digit}25}}{{{10 ** (power + 1)}}}",
                f"{digit}.25e-{power + 1}",
            ),
            (
                *(f"{digit}.25e-{power}", f"{digit}.25\\times {tiny}", f"{zeros}{digit}250"),
                f"\\frac{{{digit}25}}{{{10 ** (power + 2)}}}",
            ),
        ),
        (
            "How far apart are the two points?",
            f"\\frac{{\\sqrt{{2}}}}{{{root}}}",
            (
                *("0", f"\\frac{{\\sqrt{{3}}}}{{{root}}}"),
                f"\\frac{{\\sqrt{{2}}}}{{{digit}^{{{4 * power + 1}}}}}",
                f"-\\frac{{\\sqrt{{2}}}}{{{root}}}",
            ),
            (
                f"\\frac{{2}}{{\\sqrt{{2}}\\cdot {root}}}",
                f"\\sqrt{{2}}\\cdot {digit}^{{-{4 * power}}}",
            ),
        ),
        (
            "Which linear function describes the error?",
            f"x+{tiny}",
            ("x", f"x+{digit}\\cdot {tiny}", f"x-{tiny}", f"x+{smaller}"),
            (f"{tiny}+x", f"x+{fraction}"),
        ),
    )


def _last_digits(digit: int, power: int) -> Sequence[_Values]:
    whole, raised = 7 ** (power + 40) + digit, digit ** (power + 90)
    great = f"{digit}^{{{power + 90}}}"
    under = f"{10 * digit + 1}"
    square = f"{under}\\cdot 10^{{{2 * power + 40}}}"
    ten, many = f"10^{{{power + 20}}}", f"10^{{{power + 30}}}"
    diagonal = f"{ten}\\sqrt{{{under}}}"
    return (
        (
            "How many grains of sand are there?",
            str(whole),
            (*map(str, (whole + 1, whole - digit, whole + 10)), f"{whole}.5", f"{whole + 1:,}"),
            (f"{whole:,}", f"{whole}.0", f"${whole}$"),
        ),
        (
            "How many words of this length are there?",
            great,
            (
                *(f"{great}+1", f"{great}-{digit}", str(raised + 1), str(raised - 10)),
                f"{great}+\\frac{{1}}{{2}}",
            ),
            (str(raised), f"{digit}^{power + 90}", f"{digit}\\cdot {digit}^{{{power + 89}}}"),
        ),
        (
            "How long is the diagonal?",
            diagonal,
            (f"{diagonal}+1", f"{diagonal}-\\frac{{1}}{{{digit}}}", f"\\sqrt{{{square}+1}}"),
            (f"\\sqrt{{{under}}}\\cdot {ten}", f"\\sqrt{{{square}}}"),
        ),
        (
            "Which linear function counts the cells?",
            f"{many}x",
            (f"({many}+1)x", f"{many}x+{digit}", f"({many}-{digit})x"),
            (f"x\\cdot {many}", f"10^{power + 30} x"),
        ),
    )
