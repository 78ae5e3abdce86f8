"""The search for wrong answers that a judge accepts: it finds what is there, proposes nothing right, and ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.search import Find, rewrites, search, searchable
from llm_as_judge.audit.seeds import Seed, seeds
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.types import Problem, Verdict

LAKES = ("Ostra", "Venn", "Mora", "Silt", "Arden")


def questions(count: int = 5) -> list[Seed]:
    return [
        Seed(
            Problem(f"q/{n}", "open", "qa", f"Which lake is number {n}?", (LAKES[n],)),
            "span",
            tuple(lake for lake in LAKES if lake != LAKES[n]),
        )
        for n in range(count)
    ]


class Asked:
    """A judge that accepts what ``accepts`` says, as sure as ``sure`` says; remembers what it was asked."""

    def __init__(
        self, accepts: Callable[[Case], bool], sure: Callable[[Case], float] = lambda _: 0.0
    ) -> None:
        self.accepts, self.sure, self.cases = accepts, sure, list[Case]()

    async def __call__(self, cases: Sequence[Case]) -> list[Verdict]:
        self.cases += cases
        return [
            Verdict(
                True if self.accepts(case) else None, "llm", "r", "", confidence=self.sure(case)
            )
            for case in cases
        ]


async def found(judge: Asked, tries: int = 200, seed: int = 0) -> list[Find]:
    return await search(judge, questions(), tries=tries, seed=seed)


async def test_a_judge_that_looks_for_the_reference_alone_is_found_out_by_one_rewrite() -> None:
    judge = Asked(lambda case: case.problem.answers[0] in case.candidate)
    finds = await found(judge)
    assert len(finds) > 100
    assert finds[0].rewrites == 1
    assert [find.rewrites for find in finds] == sorted(find.rewrites for find in finds)
    assert all(find.case.correct is False for find in finds)


async def test_a_judge_that_accepts_nothing_is_asked_as_often_as_wanted_and_never_twice() -> None:
    judge = Asked(lambda _: False)
    assert await found(judge, 150) == []
    assert len(judge.cases) == 150
    assert len({(case.problem.id, case.candidate) for case in judge.cases}) == 150


async def test_no_proposed_answer_is_a_reference() -> None:
    judge = Asked(lambda _: False)
    await found(judge, 300)
    for case in judge.cases:
        golds = {normalize_answer(gold) for gold in case.problem.answers}
        assert normalize_answer(case.candidate) not in golds


def steps(case: Case) -> int:
    """What is put round the first sentence, as far as a reader sees it."""
    return sum(mark in case.candidate for mark in ("**", "In short", "twice", "Let us go"))


async def test_a_climb_finds_what_chance_alone_would_not() -> None:
    climbing = Asked(lambda case: steps(case) >= 3, lambda case: steps(case) / 10)
    blind = Asked(lambda case: steps(case) >= 3)
    by_climbing = [len(await found(climbing, 400, seed)) for seed in range(5)]
    by_chance = [len(await found(blind, 400, seed)) for seed in range(5)]
    assert sum(by_climbing) > 2 * sum(by_chance)


async def test_the_same_seed_asks_the_same_and_another_seed_something_else() -> None:
    asked = []
    for seed in (1, 1, 2):
        judge = Asked(lambda _: False)
        await found(judge, 60, seed)
        asked.append([case.candidate for case in judge.cases])
    assert asked[0] == asked[1] != asked[2]


async def test_rewrites_that_are_used_up_end_the_search() -> None:
    one = Seed(Problem("q", "open", "qa", "Which?", ("Venn",)), "span", ("Mora", "Silt"))
    judge = Asked(lambda _: True)
    finds = await search(judge, [one], tries=100_000, seed=0)
    assert 50 < len(finds) == len(judge.cases) < 100_000


def test_every_rewrite_names_what_a_question_has() -> None:
    known = {"gold": "g", "other": "o", "third": "t"}
    for texts in rewrites().first.values():
        for text in texts:
            assert text.format(**known) != text
    for text in rewrites().round:
        assert text.format(text="x", question="q", **known) != text
        assert "{gold}" not in text


@pytest.mark.parametrize("count", [1, 4])
def test_own_questions_take_the_references_of_others_as_wrong_answers(count: int) -> None:
    problems = [Problem(f"q/{n}", "open", "qa", f"Lake {n}?", (LAKES[n],)) for n in range(count)]
    own = [Case(problem, "x", False, "own", "labeled") for problem in problems for _ in range(2)]
    found = searchable(seeds(), own)
    mine = [seed for seed in found if seed.problem in problems]
    assert len(mine) == (count if count > 1 else 0)
    for seed in mine:
        assert seed.gold not in seed.wrong
    assert len(found) > len(mine)
