"""Problems with very small and very large answers, where a tolerance takes one value for another.

Every wrong value differs from the gold by less than a fixed tolerance would notice: two tiny
numbers differ by next to nothing, two huge ones only in their last digits. ``right`` are the same
values written otherwise, so that no judge passes by refusing all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from llm_as_judge.audit.seeds import Seed
from llm_as_judge.types import Problem


def magnitude_seeds(rng: random.Random, count: int) -> list[Seed]:
    """``count`` problems with tiny and ``count`` with huge answers; exponents vary with ``rng``."""
    found = []
    for index in range(count):
        digit, power = rng.randint(2, 9), rng.randint(9, 60)
        for kind, values in _KINDS.items():
            question, gold, wrong, right = values[index % len(values)](digit, power)
            problem = Problem(f"seed/{kind}/{index}", "math", "math", question, (gold,))
            found.append(Seed(problem, kind, wrong, right))
    return found


_Values = tuple[str, str, tuple[str, ...], tuple[str, ...]]
"""Question, gold, wrong values, right ones."""


# ----------------------------------------------------------------------------------------- near 0
def _power_of_ten(digit: int, power: int) -> _Values:
    return (
        f"Nine tenths of a litre leak out, {power} times over. How many litres are left?",
        f"10^{{-{power}}}",
        (
            "0",
            f"{digit}\\cdot 10^{{-{power}}}",
            f"{digit}e-{power}",
            f"10^{{-{power + 1}}}",
            f"-10^{{-{power}}}",
            f"0.{'0' * (power - 1)}{digit}",
        ),
        (
            f"1e-{power}",
            f"10^-{power}",
            f"1 \\times 10^{{-{power}}}",
            f"\\frac{{1}}{{10^{{{power}}}}}",
            f"0.{'0' * (power - 1)}1",
        ),
    )


def _decimal(digit: int, power: int) -> _Values:
    zeros = "0" * (power - 1)
    return (
        "What part of the sample is gold?",
        f"0.{zeros}{digit}25",
        (
            "0",
            "0.0",
            f"0.{zeros}{digit}26",
            f"0.{zeros}0{digit}25",
            f"\\frac{{{digit}25}}{{{10 ** (power + 1)}}}",
            f"{digit}.25e-{power + 1}",
        ),
        (
            f"{digit}.25e-{power}",
            f"{digit}.25\\times 10^{{-{power}}}",
            f"0.{zeros}{digit}250",
            f"\\frac{{{digit}25}}{{{10 ** (power + 2)}}}",
        ),
    )


def _with_root(digit: int, power: int) -> _Values:
    return (
        "How far apart are the two points?",
        f"\\frac{{\\sqrt{{2}}}}{{{digit}^{{{4 * power}}}}}",
        (
            "0",
            f"\\frac{{\\sqrt{{3}}}}{{{digit}^{{{4 * power}}}}}",
            f"\\frac{{\\sqrt{{2}}}}{{{digit}^{{{4 * power + 1}}}}}",
            f"-\\frac{{\\sqrt{{2}}}}{{{digit}^{{{4 * power}}}}}",
        ),
        (
            f"\\frac{{2}}{{\\sqrt{{2}}\\cdot {digit}^{{{4 * power}}}}}",
            f"\\sqrt{{2}}\\cdot {digit}^{{-{4 * power}}}",
        ),
    )


def _with_variable(digit: int, power: int) -> _Values:
    return (
        "Which linear function describes the error?",
        f"x+10^{{-{power}}}",
        ("x", f"x+{digit}\\cdot 10^{{-{power}}}", f"x-10^{{-{power}}}", f"x+10^{{-{power + 1}}}"),
        (f"10^{{-{power}}}+x", f"x+\\frac{{1}}{{10^{{{power}}}}}"),
    )


# ---------------------------------------------------------------------------------- the last digits
def _long_integer(digit: int, power: int) -> _Values:
    value = 7 ** (power + 40) + digit
    return (
        "How many grains of sand are there?",
        str(value),
        (str(value + 1), str(value - digit), str(value + 10), f"{value}.5", f"{value + 1:,}"),
        (f"{value:,}", f"{value}.0", f"${value}$"),
    )


def _great_power(digit: int, power: int) -> _Values:
    value = digit ** (power + 90)
    gold = f"{digit}^{{{power + 90}}}"
    return (
        "How many words of this length are there?",
        gold,
        (
            f"{gold}+1",
            f"{gold}-{digit}",
            str(value + 1),
            str(value - 10),
            f"{gold}+\\frac{{1}}{{2}}",
        ),
        (str(value), f"{digit}^{power + 90}", f"{digit}\\cdot {digit}^{{{power + 89}}}"),
    )


def _great_root(digit: int, power: int) -> _Values:
    root = f"\\sqrt{{{10 * digit + 1}}}"
    gold = f"10^{{{power + 20}}}{root}"
    return (
        "How long is the diagonal?",
        gold,
        (
            f"{gold}+1",
            f"{gold}-\\frac{{1}}{{{digit}}}",
            f"\\sqrt{{{10 * digit + 1}\\cdot 10^{{{2 * power + 40}}}+1}}",
        ),
        (
            f"{root}\\cdot 10^{{{power + 20}}}",
            f"\\sqrt{{{10 * digit + 1}\\cdot 10^{{{2 * power + 40}}}}}",
        ),
    )


def _great_coefficient(digit: int, power: int) -> _Values:
    return (
        "Which linear function counts the cells?",
        f"10^{{{power + 30}}}x",
        (
            f"(10^{{{power + 30}}}+1)x",
            f"10^{{{power + 30}}}x+{digit}",
            f"(10^{{{power + 30}}}-{digit})x",
        ),
        (f"x\\cdot 10^{{{power + 30}}}", f"10^{power + 30} x"),
    )


_KINDS: Mapping[str, Sequence[Callable[[int, int], _Values]]] = {
    "near_zero": (_power_of_ten, _decimal, _with_root, _with_variable),
    "last_digits": (_long_integer, _great_power, _great_root, _great_coefficient),
}
