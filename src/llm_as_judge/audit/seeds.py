"""Problems of our own that attacks and controls are made from; their texts stand in seeds.yaml."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict

from llm_as_judge.types import Problem
from llm_as_judge.types.datasets import GSM8K, HOTPOTQA, MMLU, SQUAD2


@dataclass(frozen=True, slots=True)
class Seed:
    """A problem with what is needed to write right and wrong answers to it."""

    problem: Problem
    kind: str
    """number, math, span, yes_no, unanswerable, choice, near_zero or last_digits."""
    wrong: tuple[str, ...]
    right: tuple[str, ...] = ()
    """Other notations of the gold that must be accepted."""
    unit: str = ""
    expression: str = ""
    """The question's own expression: worth the gold, but not worked out."""

    @property
    def gold(self) -> str:
        return self.problem.answers[0] if self.problem.answers else ""


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Story(_Row):
    text: str
    unit: str
    operation: Literal["*", "+", "-"]


class _Question(_Row):
    question: str
    gold: str = ""
    golds: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    expression: str = ""


class _File(_Row):
    stories: tuple[_Story, ...]
    math: tuple[_Question, ...]
    passage: str
    spans: tuple[_Question, ...]
    open: tuple[_Question, ...]
    yes_no: tuple[_Question, ...]
    unanswerable: tuple[_Question, ...]
    choices: tuple[_Question, ...]


@functools.cache
def _written() -> _File:
    file = resources.files("llm_as_judge.audit") / "seeds.yaml"
    return _File.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def _number_seeds(rng: random.Random, count: int) -> list[Seed]:
    stories = _written().stories
    return [_number_seed(rng, index, stories[index % len(stories)]) for index in range(count)]


def _number_seed(rng: random.Random, index: int, story: _Story) -> Seed:
    b = rng.randint(3, 19)
    a = rng.randint(b + 4, 60)
    gold = {"*": a * b, "+": a + b, "-": a - b}[story.operation]
    wrong = (gold + 1, gold * 10, -gold, gold + 7, a, int(f"1{gold}"))
    question = story.text.format(a=a, b=b)
    return Seed(
        Problem(f"seed/number/{index}", GSM8K.name, "math", question, (str(gold),)),
        "number",
        tuple(str(value) for value in wrong if value != gold),
        (f"{gold}.0", f"{gold} {story.unit}", f"${gold}$", f"{gold:,}"),
        story.unit,
        f"{a} {story.operation} {b}",
    )


def _math_seed(index: int, row: _Question) -> Seed:
    problem = Problem(f"seed/math/{index}", "math", "math", row.question, (row.gold,))
    return Seed(problem, "math", row.wrong, row.right, expression=row.expression)


def _span_seed(index: int, row: _Question) -> Seed:
    passage = _written().passage
    name = f"seed/span/{index}"
    problem = Problem(name, SQUAD2.name, "qa", row.question, (row.gold,), context=passage)
    return Seed(problem, "span", row.wrong, row.right)


def _open_seed(index: int, row: _Question) -> Seed:
    problem = Problem(f"seed/open/{index}", "open", "qa", row.question, row.golds)
    return Seed(problem, "span", row.wrong, row.right)


def _yes_no_seed(index: int, row: _Question) -> Seed:
    gold, other = row.gold, "no" if row.gold == "yes" else "yes"
    problem = Problem(f"seed/yes_no/{index}", HOTPOTQA.name, "qa", row.question, (gold,))
    right = (gold.title() + ".", f"The answer is {gold}.", f"{gold.title()}, that is so.")
    return Seed(problem, "yes_no", (other, f"{other.title()}."), right)


def _unanswerable_seed(index: int, row: _Question) -> Seed:
    passage = _written().passage
    problem = Problem(f"seed/silent/{index}", SQUAD2.name, "qa", row.question, (), context=passage)
    return Seed(problem, "unanswerable", row.wrong)


def _choice_seed(index: int, row: _Question) -> Seed:
    letter, options = row.gold, row.options
    name = f"seed/choice/{index}"
    problem = Problem(name, MMLU.name, "qa", row.question, (letter,), options=options)
    others = tuple(chr(65 + i) for i in range(4) if chr(65 + i) != letter)
    text = options[ord(letter) - 65]
    right = (f"({letter})", f"{letter}.", f"The answer is {letter}.", text, f"{letter}. {text}")
    return Seed(problem, "choice", others, right)


def seeds(seed: int = 0, numbers: int = 40) -> list[Seed]:
    """All seeds; the numbers of the word problems depend on ``seed``."""
    file = _written()
    made: Sequence[tuple[Callable[[int, _Question], Seed], tuple[_Question, ...]]] = (
        (_math_seed, file.math),
        (_span_seed, file.spans),
        (_open_seed, file.open),
        (_yes_no_seed, file.yes_no),
        (_unanswerable_seed, file.unanswerable),
        (_choice_seed, file.choices),
    )
    fixed = [make(index, row) for make, rows in made for index, row in enumerate(rows)]
    return [*_number_seeds(random.Random(seed), numbers), *fixed]
