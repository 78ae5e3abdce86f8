"""Lessons in choosing, from a bank: sets of solutions that disagree, of which one is right.

The solutions are those of the bank's programs that ask once, at the draws that the bank knows: they are
run again, from the pool where it has their replies, and graded. Nobody labels anything.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from llm_as_judge.assembly import System
from llm_as_judge.config import Config
from llm_as_judge.grading.equality import answer_classes
from llm_as_judge.grading.graders import failed_as_open
from llm_as_judge.operators import LETTERS, registry
from llm_as_judge.rollout import WorkflowEnvironment
from llm_as_judge.runs.bank import Bank, BankProgram
from llm_as_judge.training.lessons import Cells
from llm_as_judge.types import Problem

MOST_SETS = 4
"""Of one problem."""
SIZES = (5, 3)
"""Solutions of a set, as programs draw them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Solutions of one problem that disagree."""

    problem: Problem
    votes: Mapping[str, int]
    """The first of each class of equal ones with their number, most votes first."""
    right: tuple[int, ...]
    """Positions of those that are right: some, not all."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What one draw of a program gave."""

    text: str
    kind: int
    """Number of its class: equal solutions have the same."""
    right: bool


def teaches_choice(config: Config) -> bool:
    """Whether the policy is shown an operator that it answers itself."""
    shown = config.sampling.operators or ()
    return any(entry.reads for name, entry in registry().items() if name in shown)


async def readings_of(
    config: Config, system: System, bank: Bank, problems: Sequence[Problem], cells: Cells
) -> list[Reading]:
    """The sets of all training problems of the bank, in the order of the problems.

    Args:
        cells: graded runs of each problem, by its id.
    """
    operator = registry()["Choose"]
    fewest: dict[str, int] = {}
    for cell in bank.cells.values():
        fewest[cell.program] = min(cell.calls, fewest.get(cell.program, cell.calls))
    environment = system.bench.environment()
    room = asyncio.Semaphore(config.workflow.concurrency)

    async def one(problem: Problem) -> list[Reading]:
        known = [cell for cell in cells.get(problem.id, ()) if fewest[cell.program] == 1]
        if {cell.right == 1 for cell in known} != {True, False}:
            return []
        drawn = {(cell.program, cell.draw) for cell in known}
        by_program: dict[str, list[Solution]] = defaultdict(list)
        async with room:
            for key, draw in sorted(drawn):
                solution = await _drawn(environment, bank.programs[key], problem, draw)
                if solution is not None:
                    by_program[key].append(solution)
            return await _sets(problem, by_program)

    wanted = [one(p) for p in problems if p.domain in operator.description.domains]
    return [reading for found in await asyncio.gather(*wanted) for reading in found]


async def _drawn(
    environment: WorkflowEnvironment, program: BankProgram, problem: Problem, draw: int
) -> Solution | None:
    """None: it gave no answer, or none that can be graded."""
    here = replace(environment, offset=draw)
    execution = await here.run(here.parse(program.text, problem), problem)
    verdict = await failed_as_open(here.grade(problem, execution))
    if verdict.correct is None or not execution.answer:
        return None
    return Solution(execution.answer, 0, verdict.correct)


async def _sets(problem: Problem, by_program: Mapping[str, Sequence[Solution]]) -> list[Reading]:
    """Of one program's draws, and of all programs in turn."""
    every = [solution for solutions in by_program.values() for solution in solutions]
    if not every:
        return []
    kinds = await answer_classes(
        replace(problem, answers=(), hidden_tests=()), [solution.text for solution in every]
    )
    classed = iter([replace(s, kind=kind) for s, kind in zip(every, kinds, strict=True)])
    rows = [[next(classed) for _ in solutions] for solutions in by_program.values()]
    in_turn = [
        s for turn in range(max(map(len, rows))) for row in rows for s in row[turn : turn + 1]
    ]
    found: dict[tuple[tuple[str, int], ...], Reading] = {}
    for reading in sets_of(problem, [*rows, in_turn]):
        found.setdefault(tuple(reading.votes.items()), reading)
    return list(found.values())[:MOST_SETS]


def sets_of(problem: Problem, rows: Sequence[Sequence[Solution]]) -> Iterator[Reading]:
    """The sets of each row's first solutions that disagree, some of them right."""
    for size in SIZES:
        for row in rows:
            part = row[:size]
            classes: dict[int, list[Solution]] = defaultdict(list)
            for solution in part:
                classes[solution.kind].append(solution)
            ordered = sorted(classes.values(), key=len, reverse=True)[: len(LETTERS)]
            right = tuple(i for i, one in enumerate(ordered) if one[0].right)
            if len(ordered) > 1 and 0 < len(right) < len(ordered):
                yield Reading(problem, {one[0].text: len(one) for one in ordered}, right)
