"""Properties of shapes on drawn lists, sets and equations, and on hostile texts."""

import asyncio
import itertools
import random
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.grading.expressions import Given
from llm_as_judge.grading.latex import normalize
from llm_as_judge.grading.pool import AlgebraPool
from llm_as_judge.grading.shape import parse_shape
from llm_as_judge.grading.symbolic import compare_shapes
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem


def relation(gold: str, answer: str) -> str:
    return compare_shapes(parse_shape(normalize(gold)), parse_shape(normalize(answer)), Given())


WHOLE = st.integers(-50, 50)
FACTOR = st.fractions(Fraction(-9), Fraction(9), max_denominator=9).filter(bool)
DRAWN = settings(max_examples=8)


@DRAWN
@given(st.lists(WHOLE, min_size=2, max_size=4, unique=True), st.randoms(use_true_random=False))
def test_names_keep_their_values(values: list[int], draw: random.Random) -> None:
    named = [f"{name}={value}" for name, value in zip("abcd", values, strict=False)]
    gold = ", ".join(named)
    turned = [
        f"{name}={value}" for name, value in zip("abcd", [*values[1:], values[0]], strict=False)
    ]
    assert relation(gold, ", ".join(turned)) == "different"
    draw.shuffle(named)
    assert relation(gold, " and ".join(named)) == "equal"
    point = ",".join(map(str, values))
    names = ",".join("abcd"[: len(values)])
    assert relation(f"({point})", ", ".join(named)) == "equal"
    assert relation(f"({names})=({point})", ", ".join(named)) == "equal"


@DRAWN
@given(st.lists(WHOLE.filter(bool), min_size=3, max_size=4), FACTOR)
def test_a_line_or_plane_is_the_same_up_to_a_factor(numbers: list[int], factor: Fraction) -> None:
    def equation(numbers: list[Fraction]) -> str:
        *slopes, constant = (f"{n.numerator}/{n.denominator}" for n in numbers)
        terms = [rf"({slope})\cdot {name}" for slope, name in zip(slopes, "xyz", strict=False)]
        return "+".join([*terms, f"({constant})"]) + "=0"

    gold = equation([Fraction(n) for n in numbers])
    assert relation(gold, equation([n * factor for n in numbers])) == "equal"
    *slopes, constant = numbers
    assert (
        relation(gold, equation([*(n * factor for n in slopes), (constant + 1) * factor]))
        == "different"
    )
    *others, last = slopes
    solved = "".join(rf"-({slope})\cdot {name}" for slope, name in zip(others, "xyz", strict=False))
    name = "xyz"[len(others)]
    assert relation(gold, rf"{name}=\frac{{{solved}-({constant})}}{{{last}}}") == "equal"
    assert relation(gold, rf"{name}=\frac{{{solved}-({constant})+1}}{{{last}}}") == "different"


@DRAWN
@given(st.lists(WHOLE, min_size=2, max_size=5, unique=True), st.integers(1, 4))
def test_sets_are_their_members(members: list[int], at: int) -> None:
    def written(values: list[int]) -> str:
        return r"\{" + ",".join(map(str, values)) + r"\}"

    one, other = members[:at], members[at - 1 :]
    assert relation(written(members), rf"{written(one)}\cup{written(other)}") == "equal"
    assert relation(written(members), rf"{written(one)}\cup{written([*other, 51])}") == "different"
    without = rf"\mathbb{{R}}\setminus{written(members)}"
    ends = [r"-\infty", *map(str, sorted(members)), r"\infty"]
    pieces = [f"({low},{high})" for low, high in itertools.pairwise(ends)]
    assert relation(without, r"\cup ".join(pieces)) == "equal"
    assert relation(without, r"\cup ".join(pieces[1:])) == "different"
    assert relation(without, rf"x \ne {', '.join(map(str, members))}") == "equal"


@settings(DRAWN, max_examples=4)
@given(WHOLE, st.integers(1, 30), st.sampled_from(["<", r"\le "]))
def test_an_inequality_is_its_interval(middle: int, width: int, sign: str) -> None:
    low, high = middle - width, middle + width
    brackets = "()" if sign == "<" else "[]"
    gold = f"{brackets[0]}{low},{high}{brackets[1]}"
    for answer in (
        f"|x-({middle})|{sign}{width}",
        f"{low}{sign}x{sign}{high}",
        f"|2x-({2 * middle})|{sign}{2 * width}",
    ):
        assert relation(gold, answer) == "equal"
    assert relation(gold, f"|x-({middle})|{sign}{width + 1}") == "different"
    assert (
        relation(gold, f"|x-({middle})|{sign.replace('<', '>').replace('le', 'ge')}{width}")
        == "different"
    )


@DRAWN
@given(WHOLE, WHOLE.filter(bool), st.integers(3, 5), st.integers(3, 5))
def test_a_sequence_goes_on_as_it_began(start: int, step: int, shown: int, also: int) -> None:
    members = [str(start + n * step) for n in range(12)]
    gold = ",".join(members[:shown]) + r",\ldots,n"
    assert relation(gold, ",".join(members[:also]) + r",\dots,n") == "equal"
    assert relation(gold, ",".join(members[:also]) + r",\dots,m") != "equal"
    members[1] = str(start + step + 1)
    assert relation(gold, ",".join(members[:also]) + r",\dots,n") == "different"


@DRAWN
@given(st.integers(1, 11), st.integers(1, 4), st.integers(-3, 3), st.sampled_from([1, -1]))
def test_values_for_each_integer_may_begin_anywhere(
    twelfths: int, period: int, shift: int, sign: int
) -> None:
    gold = rf"\frac{{{twelfths}\pi}}{{12}}+{period}k\pi, k\in\mathbb{{Z}}"
    begin = twelfths + 12 * period * shift
    answer = rf"x=\frac{{{begin}\pi}}{{12}}{'+' if sign > 0 else '-'}{period}\pi n"
    assert relation(gold, answer) == "equal"
    assert relation(gold, answer.replace("n", f"n+{period}\\pi/5")) == "different"


# ---------------------------------------------------------------------------------- hostile texts
WRITTEN = (
    r"\frac{ } { ( ) [ ] \{ \} , ; = < > \le \ne \in \mathbb{Z} \mathbb{R} \cup \setminus \ldots \sqrt \sqrt[3]{ \exp( | ! ^ ^{ _ _{"
    r" + - * / \cdot \pm \text{ \text{or} and or x y k e i 0 1 2 9 99999 1/0 \infty \pi \begin{pmatrix} \end{pmatrix} & \\ \circ"
    r" \binom{ \log_ \sin \int \sum integer no solution all real numbers cm ( ) { } , = ^{9^{9}}"
)
TOKENS = WRITTEN.split()
SPOILED = st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join)


def test_no_text_raises_or_runs_on() -> None:
    pool = AlgebraPool(1, 0.5)

    async def pairs() -> None:
        draw = random.Random(7)
        for _ in range(20):
            texts = [" ".join(draw.choices(TOKENS, k=draw.randint(1, 25))) for _ in range(2)]
            shapes = [parse_shape(normalize(text)) for text in texts]
            found = await pool.compare(shapes[0], shapes[1])
            assert found in {"equal", "different", "unknown", None}, texts
        await pool.aclose()

    asyncio.run(pairs())


@settings(max_examples=300)
@given(SPOILED)
def test_every_text_has_a_shape(text: str) -> None:
    parse_shape(normalize(text))


@pytest.mark.parametrize(
    "part",
    [
        "x=",
        "1,",
        r"\frac{",
        r"\frac\pi",
        r"\sqrt(",
        "(",
        "((x),",
        r"\{x|",
        "a or ",
        r"\text{ and ",
        r"\ne ",
        "k integer, ",
        "no ",
        ".",
    ],
)
def test_a_long_text_is_read_within_seconds_of_the_processor(part: str) -> None:
    started = time.process_time()
    parse_shape(normalize(part * (60_000 // len(part)) + "x"))
    assert time.process_time() - started < 20


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "answer",
    [
        "9" * 1400,
        "x=" + "9" * 1400,
        r"\sqrt{" + "7" * 1300 + "}",
        "10^{10^{10}}",
        "(" * 700 + "x" + ")" * 700,
        "{" * 1400,
    ],
)
async def test_long_numbers_and_deep_nesting_are_never_right(rules: Judge, answer: str) -> None:
    for gold in (r"\sqrt{2}", "7", r"\{1,2\}"):
        assert (
            await rules.grade(Problem("math/t/1", "math", "math", "What is it?", (gold,)), answer)
        ).correct is not True
