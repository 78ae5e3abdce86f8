"""The task of the quickstart: four kinds of problems that want different programs, made with a seed.

    arithmetic   "Work out 837 * 461 - 959 * 567."          a program computes it, a small model alone cannot
    puzzles      "A shelf holds 24 red lamps and 11 blue    the answer stands there; a program that is
                 lamps. A red lamp costs 39 euros and       written for it multiplies what it finds
                 weighs 792 grams. How many grams has
                 a red lamp?"
    lookups      who lives where, in a passage
    functions    a few lines of Python, with tests

Arithmetic and puzzles are one domain, so that no fixed program is right on both: a policy that reads the
problem can be better than each of them. The two other kinds show whether it keeps what it could.

Held-out rows share nothing with the others but the sentences they are made of: people, things and
numbers come from halves that have no member in common. Every gold answer is computed here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from llm_as_judge.data.files import write_problems
from llm_as_judge.data.mix import named_rng
from llm_as_judge.types import Problem, Split

SIZES: dict[str, dict[Split, int]] = {
    "arithmetic": {"train": 12, "val": 4, "test": 20},
    "puzzles": {"train": 12, "val": 4, "test": 20},
    "lookups": {"train": 0, "val": 2, "test": 4},
    "functions": {"train": 0, "val": 2, "test": 4},
}
"""Rows of each kind. Trained on are the kinds that programs disagree on, so few rows that the bank holds their
replies and a step asks the executor next to nothing; the validation rows help to choose a fixed program."""
_LONGEST = 1000
"""Numbers of the problems are below this."""


class _Words(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    people: tuple[str, ...]
    jobs: tuple[str, ...]
    towns: tuple[str, ...]
    things: tuple[str, ...]
    colors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Half:
    """Words and numbers of one side."""

    words: _Words
    numbers: tuple[int, ...]
    rng: random.Random

    def number(self, low: int, high: int) -> int:
        return self.rng.choice([n for n in self.numbers if low <= n < high])

    def several(self, low: int, high: int, count: int) -> list[int]:
        return self.rng.sample([n for n in self.numbers if low <= n < high], count)


def quickstart_problems(seed: int, split: Split) -> list[Problem]:
    """The rows of one split; the same seed gives the same rows, and no two of them are equal."""
    found: dict[str, Problem] = {}
    # made of the same half as the training rows: none of these may come again
    others = quickstart_problems(seed, "train") if split == "val" else []
    asked = {problem.statement() for problem in others}
    for kind, make in KINDS.items():
        half, before = _half(seed, split, kind), len(found)
        while (number := len(found) - before) < SIZES[kind][split]:
            problem = make(f"{kind}/{split}/{number}", half)
            if problem.statement() not in asked:
                found.setdefault(problem.statement(), problem)
    return list(found.values())


def write_quickstart(data_dir: Path, seed: int) -> None:
    """Write train_mixed.jsonl, val_mixed.jsonl and a test file of each kind, where ``data process`` does.

    Raises:
        OutputError: the folder cannot be written.
    """
    for split in ("train", "val"):
        rows = quickstart_problems(seed, split)
        write_problems(data_dir / "mixed" / f"{split}_mixed.jsonl", rows)
    held_out = quickstart_problems(seed, "test")
    for kind in KINDS:
        rows = [problem for problem in held_out if problem.dataset == kind]
        write_problems(data_dir / "test" / f"{kind}_test.jsonl", rows)


def _half(seed: int, split: Split, kind: str) -> _Half:
    text = (resources.files("llm_as_judge.data") / "quickstart.yaml").read_text(encoding="utf-8")
    words = _Words.model_validate(yaml.safe_load(text))
    part = 1 if split == "test" else 0
    halves = {name: _cut(getattr(words, name), seed, name)[part] for name in _Words.model_fields}
    numbers = _cut(range(2, _LONGEST), seed, "numbers")[part]
    return _Half(_Words(**halves), numbers, named_rng(seed, "quickstart", split, kind))


def _cut(members: Sequence[object], seed: int, name: str) -> tuple[tuple, tuple]:  # type: ignore[type-arg]
    """Two halves without a common member."""
    order = list(members)
    named_rng(seed, "quickstart", name).shuffle(order)
    middle = len(order) // 2
    return tuple(order[:middle]), tuple(order[middle:])


# ------------------------------------------------------------------------------------------- kinds
def _arithmetic(id_: str, half: _Half) -> Problem:
    a, b, c, d = half.several(200, _LONGEST, 4)
    question = f"Work out {a} * {b} - {c} * {d}."
    return Problem(id_, "arithmetic", "math", question, (str(a * b - c * d),))


def _puzzles(id_: str, half: _Half) -> Problem:
    thing = half.rng.choice(half.words.things)
    color, other = half.rng.sample(half.words.colors, 2)
    some, more, price = half.several(11, 60, 3)
    weight = half.number(110, _LONGEST)
    question = (
        f"A shelf holds {some} {color} {thing}s and {more} {other} {thing}s. A {color} {thing} costs "
        f"{price} euros and weighs {weight} grams. How many grams has a {color} {thing}?"
    )
    return Problem(id_, "puzzles", "math", question, (str(weight),))


def _lookups(id_: str, half: _Half) -> Problem:
    people = half.rng.sample(half.words.people, 3)
    jobs, towns = half.rng.sample(half.words.jobs, 3), half.rng.sample(half.words.towns, 3)
    passage = " ".join(
        f"{person} is a {job} and lives in {town}."
        for person, job, town in zip(people, jobs, towns, strict=True)
    )
    wanted = half.rng.randrange(3)
    question = f"In which town does {people[wanted]} live?"
    return Problem(id_, "lookups", "qa", question, (towns[wanted],), context=passage)


_FUNCTIONS: tuple[tuple[str, str, Callable[[list[int], int], object]], ...] = (
    (
        "sum_above",
        "returns the sum of the numbers of a list that are greater than {k}",
        lambda numbers, k: sum(n for n in numbers if n > k),
    ),
    (
        "count_multiples",
        "counts the numbers of a list that can be divided by {k} without a rest",
        lambda numbers, k: sum(n % k == 0 for n in numbers),
    ),
    (
        "shifted",
        "returns a new list with {k} added to every number of a list",
        lambda numbers, k: [n + k for n in numbers],
    ),
    (
        "limited",
        "returns a new list in which every number of a list above {k} is replaced by {k}",
        lambda numbers, k: [min(n, k) for n in numbers],
    ),
)
"""(name, what it does, the solution)."""


def _functions(id_: str, half: _Half) -> Problem:
    (name, does, solution), k = half.rng.choice(_FUNCTIONS), half.number(2, 30)
    tests = []
    for _ in range(3):
        numbers = [half.rng.randrange(60) for _ in range(5)] + [k]
        half.rng.shuffle(numbers)
        tests.append(f"assert {name}({numbers}) == {solution(numbers, k)}")
    question = (
        f"Write a Python function {name}(numbers) that {does.format(k=k)}. "
        f"It must pass, for example: {tests[0]}"
    )
    return Problem(
        *(id_, "functions", "code", question),
        entry_point=name,
        visible_tests=(tests[0],),
        hidden_tests=tuple(tests),
    )


KINDS: dict[str, Callable[[str, _Half], Problem]] = {
    "arithmetic": _arithmetic,
    "puzzles": _puzzles,
    "lookups": _lookups,
    "functions": _functions,
}
"""By the name of the data set that each is."""
