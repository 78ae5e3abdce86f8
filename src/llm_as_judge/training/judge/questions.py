"""Questions with what is known of their answers: replies with labels, golds of others, near misses, other options."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.search import is_apart
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.judge.parts import without_listings
from llm_as_judge.training.judge.changes import crossed_golds
from llm_as_judge.training.judge.sources import BARE, without_options
from llm_as_judge.types import Problem

_FEW = 3
"""Wrong golds that a question is shown with."""
MOST_OF_A_SET = 800
"""Questions without a labeled reply that answers are made of, of each data set."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is known of its answers."""

    problem: Problem
    right: tuple[str, ...] = ()
    """Replies that were labeled right."""
    wrong: tuple[str, ...] = ()
    """Replies that were labeled wrong, and golds of other questions."""
    near: tuple[str, ...] = ()
    """The gold with one word from the gold of another question."""
    options: tuple[str, ...] = ()
    """The other options of a multiple choice."""

    @property
    def gold(self) -> str:
        return self.problem.answers[0] if self.problem.answers else ""

    @property
    def longest_first(self) -> list[str]:
        return sorted(self.problem.answers, key=len, reverse=True)

    def holding(self, most: int) -> Iterator[tuple[str, str]]:
        """Of the first right replies those that hold a gold, each with the longest that it holds."""
        for reply in self.right[:most]:
            gold = next((gold for gold in self.longest_first if gold and gold in reply), None)
            if gold is not None:
                yield reply, gold


def questions_of(cases: Sequence[Case], rng: random.Random) -> list[Question]:
    """One question for each different one, with golds of others and other options as wrong answers."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        if case.problem.domain != "code":
            groups.setdefault(case.problem.question, []).append(case)
    shown = [
        (problem, options, group)
        for group in _sampled(list(groups.values()), rng)
        for problem, options in _without_options(group[0].problem)
    ]
    problems = [problem for problem, _, _ in shown]
    found = []
    for problem, options, group in shown:
        others = _others(problem, problems, rng)
        near = _near(problem, problems, rng)
        right, wrong = ((_replies(group, label) if not options else ()) for label in (True, False))
        found.append(Question(problem, right, (*wrong, *options, *others), near, options))
    return found


def _sampled(groups: Sequence[list[Case]], rng: random.Random) -> list[list[Case]]:
    """All questions with a labeled reply, and a seeded sample of each set's others."""
    bare: dict[str, list[list[Case]]] = {}
    for group in groups:
        if all(case.category == BARE for case in group):
            bare.setdefault(group[0].problem.dataset, []).append(group)
    taken = {
        id(group)
        for mine in bare.values()
        for group in rng.sample(mine, min(MOST_OF_A_SET, len(mine)))
    }
    return [g for g in groups if id(g) in taken or any(case.category != BARE for case in g)]


def _without_options(problem: Problem) -> list[tuple[Problem, tuple[str, ...]]]:
    if not problem.options:
        return [(replace(problem, answers=tuple(without_listings(problem.answers))), ())]
    found = without_options(problem)
    return [] if found is None else [found]


def _replies(group: Sequence[Case], label: bool) -> tuple[str, ...]:
    texts = (case.candidate for case in group if case.correct is label and case.candidate.strip())
    return tuple(dict.fromkeys(texts))


def _others(problem: Problem, problems: Sequence[Problem], rng: random.Random) -> tuple[str, ...]:
    """Golds of other questions that are no gold here; of the same kind where chance finds one."""
    if len(problems) < 2:
        return ()
    own = {normalize_answer(gold) for gold in problem.answers}
    golds = (rng.choice(p.answers[:3]) for p in _drawn(problem, problems, rng, 60))
    apart = [gold for gold in golds if is_apart(normalize_answer(gold), own)]
    return tuple(dict.fromkeys(apart))[:_FEW]


def _near(problem: Problem, problems: Sequence[Problem], rng: random.Random) -> tuple[str, ...]:
    """The gold crossed with those of other questions, of the same kind where chance finds them."""
    if problem.domain != "qa" or not problem.answers:
        return ()
    own = {normalize_answer(gold) for gold in problem.answers}
    drawn = _drawn(problem, problems, rng, 120)
    crossed = [text for p in drawn for text in crossed_golds(problem.answers[0], p.answers[0])]
    apart = [text for text in crossed if normalize_answer(text) not in own]
    return tuple(dict.fromkeys(apart))[:_FEW]


def _drawn(
    problem: Problem, problems: Sequence[Problem], rng: random.Random, count: int
) -> list[Problem]:
    """Of its domain and with a gold; those of its kind first."""
    kind = _kind(problem)
    drawn = [rng.choice(problems) for _ in range(count)]
    drawn = [p for p in drawn if p.domain == problem.domain and p.answers]
    return sorted(drawn, key=lambda p: _kind(p) != kind)


def _kind(problem: Problem) -> str:
    gold = problem.answers[0] if problem.answers else ""
    first = (problem.question.split() or [""])[0].casefold()
    return f"{first if problem.domain == 'qa' else ''} {any(c.isdigit() for c in gold)}"
