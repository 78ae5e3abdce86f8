"""What a bank teaches a policy before its first step: for each problem the programs that were right there.

A problem's programs are weighed by the softmax of their reward: the policy that has the highest mean
reward of those equally far from the uniform one (reward-weighted regression, Peters and Schaal 2007).

Of fifty programs with four draws each the best on one problem is mostly the luckiest, and a search runs most
of them on few problems. So a program's share on a problem is what it does on the data set, moved by the problem's
own difficulty, and by its own draws there as far as they go beyond that; and what it does on the data set is drawn
towards what it does in the domain, since a hundred problems of a set seldom tell its programs apart (empirical Bayes with fixed
strengths, as in Efron and Morris 1975). One that did not run on the problem is judged by the data set alone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from llm_as_judge.errors import DataError
from llm_as_judge.reward import priced
from llm_as_judge.runs.bank import Bank, BankProgram, Cell
from llm_as_judge.types import Problem, to_json

TEMPERATURE = 0.1
"""Of the softmax: a program whose reward is so much higher weighs e times as much."""
MOST_PROGRAMS = 4
"""Of one problem; the others would teach it to write anything that is right somewhere."""
PRIOR_DRAWS = 16
"""Draws on a problem that weigh as much as what the program does on the data set. Many, since little of what
suits one problem can be read in its text, which is all that the policy sees (docs/results/adaptive.md)."""
PRIOR_RUNS = 20
"""Runs of a program in a domain that weigh as much as what all programs do there."""
PRIOR_DOMAIN_RUNS = 1000
"""Runs on a data set that weigh as much as what the program does in the domain: 250 problems of four draws. On a hundred
problems the difference of two programs has a standard error of 6 points, twice what sets truly differ by."""
LEAST_WEIGHT = 0.05
"""Programs that weigh less are left out."""

Write = Callable[[BankProgram], tuple[int, ...] | None]
"""Token ids of a program as the policy would write it; None where it could not."""
Cells = Mapping[str, Sequence[Cell]]
"""Graded cells of each problem, by its id."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One problem, and programs to write for it."""

    problem: Problem
    programs_K: tuple[tuple[int, ...], ...]
    """Token ids of each, its end included."""
    weights_K: tuple[float, ...]
    """They add up to 1."""


def taught_cells(bank: Bank, problems: Sequence[Problem], where: str) -> Cells:
    """The graded cells of training problems.

    Args:
        where: key and folder of the bank, for the error.
    Raises:
        DataError: no training problem is in the bank.
    """
    known = {
        problem.id
        for problem in problems
        if problem.id in bank.problems and to_json(bank.problems[problem.id]) == to_json(problem)
    }
    found: dict[str, list[Cell]] = defaultdict(list)
    for cell in bank.cells.values():
        if cell.problem in known and cell.right is not None:
            found[cell.problem].append(cell)
    if not found:
        raise DataError(
            f"{where}: none of its {len(bank.problems)} problems is one of the {len(problems)} "
            "training problems; fill one on these: llm-as-judge headroom FILE, or search --split train"
        )
    return found


def lessons_of(
    bank: Bank, problems: Sequence[Problem], cells: Cells, price: float, write: Write
) -> list[Lesson]:
    """A lesson for each problem on which a program that the policy can write was right, in the order
    of the problems.

    Args:
        price: what 1,000 written tokens take away.
    """
    written = {key: write(program) for key, program in bank.programs.items()}
    usual = _usual(problems, cells)
    found = []
    for problem in problems:
        values = _values(cells.get(problem.id, ()), price, usual[problem.dataset])
        kept = {key: value for key, value in values.items() if written.get(key)}
        if weights := _weights(kept):
            programs = tuple(ids for key in weights if (ids := written[key]))
            found.append(Lesson(problem, programs, tuple(weights.values())))
    return found


@dataclass(frozen=True, slots=True)
class Usual:
    """What a program does on a data set."""

    right: float
    """Share of right runs, drawn towards that in the domain, which is drawn towards that of all programs."""
    cost: float


def _usual(problems: Sequence[Problem], cells: Cells) -> dict[str, dict[str, Usual]]:
    """Data set -> program -> what it does there."""
    of_sets: dict[str, list[Cell]] = defaultdict(list)
    of_domains: dict[str, list[Cell]] = defaultdict(list)
    for problem in problems:
        of_sets[problem.dataset] += cells.get(problem.id, ())
        of_domains[problem.domain] += cells.get(problem.id, ())
    in_domains = {}
    for domain, found in of_domains.items():
        mean = _right(found)
        for key, each in _by_program(found).items():
            in_domains[domain, key] = _drawn(each, mean, PRIOR_RUNS) - mean
    domain_of = {problem.dataset: problem.domain for problem in problems}
    return {
        dataset: {
            key: Usual(
                _drawn(
                    each, _right(found) + in_domains[domain_of[dataset], key], PRIOR_DOMAIN_RUNS
                ),
                sum(cell.cost for cell in each) / len(each),
            )
            for key, each in _by_program(found).items()
        }
        for dataset, found in of_sets.items()
    }


def _by_program(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        found[cell.program].append(cell)
    return found


def _drawn(cells: Sequence[Cell], towards: float, runs: float) -> float:
    """Share of right ones, drawn towards another by so many runs of it."""
    return (_right(cells) * len(cells) + towards * runs) / (len(cells) + runs)


def _right(cells: Sequence[Cell]) -> float:
    return sum(cell.right or 0.0 for cell in cells) / max(1, len(cells))


def _values(cells: Sequence[Cell], price: float, usual: Mapping[str, Usual]) -> dict[str, float]:
    """Reward that each program of the data set is thought to earn on a problem; none where every run of it
    was wrong."""
    draws: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        draws[cell.program].append(cell)
    if not any(cell.right for cell in cells):
        return {}
    beyond = {key: _right(each) - usual[key].right for key, each in draws.items()}
    easier = sum(beyond[key] * len(each) for key, each in draws.items()) / len(cells)
    found = {}
    for key, of_set in usual.items():
        each = draws.get(key, [])
        if each and not _right(each):
            continue  # wrong here at every draw
        trust = len(each) / (len(each) + PRIOR_DRAWS)
        right = of_set.right + easier + trust * (beyond.get(key, easier) - easier)
        here = sum(cell.cost for cell in each) / len(each) if each else of_set.cost
        found[key] = priced(right, of_set.cost + trust * (here - of_set.cost), price)
    return found


def _weights(values: Mapping[str, float]) -> dict[str, float]:
    """Program -> weight, the best first; of equal ones the one with the lesser key."""
    best = sorted(values, key=lambda key: (-values[key], key))[:MOST_PROGRAMS]
    shares = {key: math.exp((values[key] - values[best[0]]) / TEMPERATURE) for key in best}
    least = LEAST_WEIGHT * sum(shares.values())
    kept = {key: share for key, share in shares.items() if share >= least}
    total = sum(kept.values())
    return {key: share / total for key, share in kept.items()}
