"""Problems of our own that attacks and controls are made from; their texts stand in seeds.yaml."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
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


def _wrong_and_right(kind: str, row: _Question) -> tuple[tuple[str, ...], tuple[str, ...]]:
    gold = row.gold
    if kind == "yes_no":
        other = "no" if gold == "yes" else "yes"
        right = (gold.title() + ".", f"The answer is {gold}.", f"{gold.title()}, that is so.")
        return (other, f"{other.title()}."), right
    if kind == "choice":
        text = row.options[ord(gold) - ord("A")]
        said = (f"({gold})", f"{gold}.", f"The answer is {gold}.", text, f"{gold}. {text}")
        return tuple(letter for letter in "ABCD" if letter != gold), said
    return row.wrong, row.right


def seeds(seed: int = 0, numbers: int = 40) -> list[Seed]:
    """All seeds; the numbers of the word problems depend on ``seed``."""
    file, rng = _written(), random.Random(seed)
    found = [
        _number_seed(rng, index, file.stories[index % len(file.stories)])
        for index in range(numbers)
    ]
    sets: Sequence[tuple[str, str, str, tuple[_Question, ...]]] = (
        ("math", "math", "math", file.math),
        ("span", "span", SQUAD2.name, file.spans),
        ("open", "span", "open", file.open),
        ("yes_no", "yes_no", HOTPOTQA.name, file.yes_no),
        ("silent", "unanswerable", SQUAD2.name, file.unanswerable),
        ("choice", "choice", MMLU.name, file.choices),
    )
    for name, kind, dataset, rows in sets:
        for index, row in enumerate(rows):
            problem = Problem(
                f"seed/{name}/{index}",
                dataset,
                "math" if kind == "math" else "qa",
                row.question,
                row.golds or ((row.gold,) if row.gold else ()),
                context=file.passage if dataset == SQUAD2.name else "",
                options=row.options,
            )
            wrong, right = _wrong_and_right(kind, row)
            found.append(Seed(problem, kind, wrong, right, expression=row.expression))
    return found
