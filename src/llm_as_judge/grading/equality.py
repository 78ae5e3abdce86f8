"""Equivalence classes of the answers to one question, by what the graders hold equal.

No gold answer takes part: the classes say how often each answer was given, not which is right.
Numbers are compared as values, formulas by their normal form and then by algebra, short texts after
the official normalization, choices by their option. Being the same is made an equivalence (two
answers that both equal a third are one class), so the order of the answers changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.grading.choice import choose
from llm_as_judge.grading.comparison import Asked, compare_numbers
from llm_as_judge.grading.extract import clean, declared_answer
from llm_as_judge.grading.final import final_expression, fold, plain_text, quantity
from llm_as_judge.grading.latex import normalize
from llm_as_judge.grading.number import Quantity, count_numbers
from llm_as_judge.grading.options import problem_options
from llm_as_judge.grading.pool import AlgebraPool
from llm_as_judge.grading.shape import parse_shape
from llm_as_judge.grading.text import normal_text
from llm_as_judge.grading.values import bare, compare_values, is_value
from llm_as_judge.thoughts import without_thoughts
from llm_as_judge.types import Problem

MOST_READ = 2000
"""Characters of one answer that are read, from its end: where a long text states its answer."""
MOST_ALGEBRA = 66
"""Pairs compared by algebra for one list of answers: all pairs of 12 formulas."""
_ALGEBRA_WORKERS = 1
_ALGEBRA_CPU_S = 1.0

Algebra = Callable[[str, str], Awaitable[bool | None]]
"""Whether two formulas are equal; None = it was stopped at its deadline."""


@dataclass(frozen=True, slots=True, order=True)
class _Reading:
    """What an answer says. Equal spellings are one answer, others may be."""

    spelling: str
    kind: str
    """``text``: no other comparison; ``value``: of a kind; ``number``; ``formula``."""
    number: Quantity | None = field(default=None, compare=False)
    shown: str = field(default="", compare=False)
    """Of a value, as it is written."""

    @property
    def is_bare(self) -> bool:
        """A number without a unit, known exactly: equal to another one by its value alone."""
        number = self.number
        return number is not None and not (number.unit or number.percent or number.step)


class GradersEquality:
    """``Equality`` of operators; holds the process that does algebra, started when first wanted."""

    def __init__(self) -> None:
        self._pool = AlgebraPool(_ALGEBRA_WORKERS, _ALGEBRA_CPU_S)

    async def __call__(self, problem: Problem, answers: Sequence[str]) -> list[int]:
        """See :func:`answer_classes`."""
        return await answer_classes(problem, answers, self._equal_formulas)

    async def _equal_formulas(self, one: str, other: str) -> bool | None:
        relation = await self._pool.compare(parse_shape(one), parse_shape(other))
        return None if relation is None else relation == "equal"

    async def aclose(self) -> None:
        await self._pool.aclose()


async def answer_classes(
    problem: Problem, answers: Sequence[str], algebra: Algebra | None = None
) -> list[int]:
    """For each answer the number of its class, 0 for the first answer's, then as they appear.

    Args:
        problem: of which the domain, the question and the options are read, nothing else.
        answers: untrusted, of any length.
        algebra: None = formulas are equal in their normal form alone.
    """
    read = _reader(problem)
    readings_A = []
    for answer in answers:
        readings_A.append(read(without_thoughts(answer)))
        await asyncio.sleep(0)  # a list of long answers holds up nobody else
    classes = _Classes(sorted(set(readings_A)))
    asked = Asked(problem.question, problem.domain)
    await _join_numbers(classes, asked)
    await _join_values(classes, asked)
    if algebra is not None:
        await _join_formulas(classes, algebra)
    seen: dict[_Reading, int] = {}
    return [seen.setdefault(classes.of(reading), len(seen)) for reading in readings_A]


def normal_answer(problem: Problem, answer: str) -> str:
    """A text that equal answers share, as far as one answer alone can say it: a number's value, a choice's
    option, a formula or a text in its normal form; of code its text. What takes two answers to tell is
    not told: algebra, rounding, and whether a unit matters, which is left out.

    Args:
        answer: untrusted, of any length.
    """
    answer = without_thoughts(answer)
    if problem.domain == "code":
        return "\n".join(line.rstrip() for line in answer.strip().splitlines())
    reading = _reader(problem)(answer)
    if reading.number is not None:
        value, mark = reading.number.value, "%" * reading.number.percent
        return f"number {value.numerator:x}/{value.denominator:x}{mark}"  # of any length
    return f"{reading.kind} {reading.spelling}"


class _Classes:
    """Answers joined pair by pair."""

    def __init__(self, readings: Sequence[_Reading]) -> None:
        self._above = {reading: reading for reading in readings}

    def of(self, reading: _Reading) -> _Reading:
        """The least answer of the same class."""
        while self._above[reading] != reading:
            self._above[reading] = reading = self._above[self._above[reading]]
        return reading

    @property
    def readings(self) -> list[_Reading]:
        return list(self._above)

    def join(self, one: _Reading, other: _Reading) -> None:
        least, greatest = sorted((self.of(one), self.of(other)))
        self._above[greatest] = least

    def apart(self, wanted: Callable[[_Reading], bool]) -> Iterator[tuple[_Reading, _Reading]]:
        """Pairs of such answers that are in two classes when their turn comes."""
        kept = list(filter(wanted, self._above))
        for i, one in enumerate(kept):
            for other in kept[:i]:
                if self.of(one) != self.of(other):
                    yield other, one


async def _join_numbers(classes: _Classes, asked: Asked) -> None:
    by_value: dict[Fraction, _Reading] = {}
    for reading in classes.readings:
        if reading.number is not None and reading.is_bare:
            classes.join(by_value.setdefault(reading.number.value, reading), reading)
    # Bare ones are compared by one of their class: what equals it equals all of them.
    kept = set(by_value.values())
    compared = classes.apart(lambda r: r.number is not None and (r in kept or not r.is_bare))
    for number, (one, other) in enumerate(compared):
        if not (one.is_bare and other.is_bare) and _same_number(one, other, asked):
            classes.join(one, other)
        if number % 100 == 99:
            await asyncio.sleep(0)


def _same_number(one: _Reading, other: _Reading, asked: Asked) -> bool:
    """Whether the grader of numbers takes one for the other, in either order."""
    a, b = one.number, other.number
    assert a is not None
    assert b is not None
    return compare_numbers(a, b, asked)[0] is True or compare_numbers(b, a, asked)[0] is True


async def _join_values(classes: _Classes, asked: Asked) -> None:
    """Times, dates, bounds and lists, and in texts numbers, too: whether the grader takes one for the other."""
    pairs = classes.apart(lambda r: r.kind == "value")
    for number, (one, other) in enumerate(pairs):
        for gold, candidate in ((one, other), (other, one)):
            compared = compare_values(gold.shown, candidate.shown, asked)
            if compared is not None and compared.correct:
                classes.join(one, other)
                break
        if number % 100 == 99:
            await asyncio.sleep(0)


async def _join_formulas(classes: _Classes, algebra: Algebra) -> None:
    """Formulas among themselves and against numbers. Ends at the first that cannot be told in time:
    the rest of such a list is no better."""
    compared = 0
    for one, other in classes.apart(lambda r: r.kind in ("formula", "number")):
        if "formula" not in (one.kind, other.kind):
            continue
        compared += 1
        if compared > MOST_ALGEBRA:
            return
        equal = await algebra(one.spelling, other.spelling)
        if equal is None:
            return
        if equal:
            classes.join(one, other)


# -------------------------------------------------------------------------------- reading an answer
def _reader(problem: Problem) -> Callable[[str], _Reading]:
    if options := problem_options(problem):
        return lambda text: _read_choice(text, options, problem)
    return _read_other(problem)


def _read_other(problem: Problem) -> Callable[[str], _Reading]:
    if problem.domain == "qa":
        return lambda text: _read_text(text, problem)
    return lambda text: _read_formula(text, problem)


def _read_choice(text: str, options: tuple[str, ...], problem: Problem) -> _Reading:
    index = choose(clean(text)[-MOST_READ:], options, problem.question)
    return _read_other(problem)(text) if index is None else _Reading(f"option {index}", "text")


def _read_text(text: str, problem: Problem) -> _Reading:
    shown = bare(_declared(text, one_sentence=False))
    if is_abstention(shown, problem.question):
        return _Reading("no answer", "text")
    kind = "value" if is_value(shown, Asked(problem.question, problem.domain)) else "text"
    return _Reading(normal_text(shown), kind, shown=shown)


def _declared(text: str, *, one_sentence: bool) -> str:
    return declared_answer(clean(text)[-MOST_READ:], one_sentence=one_sentence).text


def _words(text: str) -> str:
    return normal_text(text) or text.strip()


def _read_formula(text: str, problem: Problem) -> _Reading:
    declared = declared_answer(clean(text)[-MOST_READ:], one_sentence=True)
    if declared.fault is not None:
        return _Reading(_words(declared.shown), "text")
    shown, fault = final_expression(declared, "", None, True, declared.text)
    if fault is not None:
        return _Reading(_words(declared.text), "text")
    latex = normalize(shown)
    number = quantity(latex)
    if number is None and (found := count_numbers(shown)):
        # "She has 72 clips left.", "48 + 24 = 72": read as where a number is wanted.
        last = Quantity(found[-1], "integer")
        stated, fault = final_expression(declared, "", last, False, declared.text)
        stated_number = quantity(normalize(stated)) if fault is None else None
        latex, number = (normalize(stated) if stated_number else latex), stated_number
    if number is not None:
        return _Reading(fold(latex), "number", number)
    if (plain := plain_text(shown)) and is_value(plain, Asked(problem.question, "math")):
        return _Reading(fold(latex), "value", shown=plain)
    if not any(mark in latex for mark in "\\^_=+-*/(){}[],") and len(latex.strip()) != 1:
        return _Reading(_words(shown), "text")
    return _Reading(fold(latex), "formula")
