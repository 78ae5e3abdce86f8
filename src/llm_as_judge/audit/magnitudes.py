"""Problems with very small and very large answers, where a tolerance takes one value for another.

Every wrong value differs from the gold by less than a fixed tolerance would notice: two tiny
numbers differ by next to nothing, two huge ones only in their last digits. ``right`` are the same
values written otherwise, so that no judge passes by refusing all of them.
"""

from __future__ import annotations

import random

from llm_as_judge.audit.seeds import Seed
from llm_as_judge.types import Problem

__all__ = ["magnitude_seeds"]


def magnitude_seeds(rng: random.Random, count: int) -> list[Seed]:
    """``count`` problems with tiny and ``count`` with huge answers; exponents vary with ``rng``."""
    found = []
    for index in range(count):
        digit = rng.randint(2, 9)
        power = rng.randint(9, 60)
        tiny = (_power_of_ten, _decimal, _with_root, _with_variable)[index % 4]
        huge = (_long_integer, _great_power, _great_root, _great_coefficient)[index % 4]
        found.append(tiny(f"seed/near_zero/{index}", digit, power))
        found.append(huge(f"seed/last_digits/{index}", digit, power))
    return found


def _seed(
    kind: str, name: str, question: str, gold: str, wrong: tuple[str, ...], right: tuple[str, ...]
) -> Seed:
    return Seed(Problem(name, "math", "math", question, (gold,)), kind, wrong, right)


# ----------------------------------------------------------------------------------------- near 0
def _power_of_ten(name: str, digit: int, power: int) -> Seed:
    return _seed(
        "near_zero",
        name,
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


def _decimal(name: str, digit: int, power: int) -> Seed:
    zeros = "0" * (power - 1)
    return _seed(
        "near_zero",
        name,
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


def _with_root(name: str, digit: int, power: int) -> Seed:
    return _seed(
        "near_zero",
        name,
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


def _with_variable(name: str, digit: int, power: int) -> Seed:
    return _seed(
        "near_zero",
        name,
        "Which linear function describes the error?",
        f"x+10^{{-{power}}}",
        ("x", f"x+{digit}\\cdot 10^{{-{power}}}", f"x-10^{{-{power}}}", f"x+10^{{-{power + 1}}}"),
        (f"10^{{-{power}}}+x", f"x+\\frac{{1}}{{10^{{{power}}}}}"),
    )


# ---------------------------------------------------------------------------------- the last digits
def _long_integer(name: str, digit: int, power: int) -> Seed:
    value = 7 ** (power + 40) + digit
    return _seed(
        "last_digits",
        name,
        "How many grains of sand are there?",
        str(value),
        (str(value + 1), str(value - digit), str(value + 10), f"{value}.5", f"{value + 1:,}"),
        (f"{value:,}", f"{value}.0", f"${value}$"),
    )


def _great_power(name: str, digit: int, power: int) -> Seed:
    value = digit ** (power + 90)
    gold = f"{digit}^{{{power + 90}}}"
    return _seed(
        "last_digits",
        name,
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


def _great_root(name: str, digit: int, power: int) -> Seed:
    root = f"\\sqrt{{{10 * digit + 1}}}"
    gold = f"10^{{{power + 20}}}{root}"
    return _seed(
        "last_digits",
        name,
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


def _great_coefficient(name: str, digit: int, power: int) -> Seed:
    return _seed(
        "last_digits",
        name,
        "Which linear function counts the cells?",
        f"10^{{{power + 30}}}x",
        (
            f"(10^{{{power + 30}}}+1)x",
            f"10^{{{power + 30}}}x+{digit}",
            f"(10^{{{power + 30}}}-{digit})x",
        ),
        (f"x\\cdot 10^{{{power + 30}}}", f"10^{power + 30} x"),
    )
