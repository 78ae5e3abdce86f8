"""Lessons of a bank before the first step: for each problem the programs that a policy is to write.

A problem's programs are weighed by the softmax of their reward: the policy that has the highest mean
reward of those equally far from the uniform one (reward-weighted regression, Peters and Schaal 2007).

Of fifty programs with four draws each the best on one problem is mostly the luckiest, and a search runs most
of them on its first, few problems, which may be easier or harder than the others. So a program is judged by what it does
beside the other programs on the same problems of the data set. A figure of few
runs is drawn towards the mean program's, one of a data set towards that of the domain, since a hundred
problems of a set seldom tell its programs apart (empirical Bayes with fixed strengths, as in Efron and Morris 1975).

Where choosing by problem does not pay on other draws, all problems of a set teach the same, also those that
nothing solves: what a program costs there counts as well. Elsewhere, and where too little is known, a problem's
own draws move its figures a little, and a program that was wrong there at every draw is left out.

All that is for a policy that is to write what was best. Where GRPO is to choose, :func:`form_targets` teaches the programs
of a domain alike.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from llm_as_judge.errors import DataError
from llm_as_judge.reward import priced
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Problem, to_json

TEMPERATURE = 0.02
"""Of the softmax: a program whose reward is so much higher weighs e times as much. At 0.1 programs two points apart
were taught nearly alike, and the seed decided which of them the policy wrote (docs/results/learning.md)."""
MOST_PROGRAMS = 4
"""Of one problem; the others would teach it to write anything that is right somewhere."""
PRIOR_DRAWS = 100
"""Draws on a problem that weigh as much as what the program does on the data set. Many, since little of what
suits one problem can be read in its text, which is all that the policy sees (docs/results/learning.md)."""
PAYS_BY_PROBLEM = 0.05
"""Share of right runs that choosing by problem must gain on other draws. A bank of the six sets shows 0.00 to 0.04, part of it
luck: draws of programs that ask several times share replies."""
LEAST_PROBLEMS = 20
"""Of a set, with two programs of two draws each, to tell that it does not pay."""
FITTING_ROUNDS = 50
"""Of problems and programs in turn."""
PRIOR_RUNS = 100
"""Runs of a program in a domain that weigh as much as what the mean program does on the same problems: of seventy programs the
luckiest on twenty problems looks best."""
PRIOR_DOMAIN_RUNS = 1000
"""Runs on a data set that weigh as much as what the program does in the domain: 250 problems of four draws. On a hundred
problems the difference of two programs has a standard error of 6 points, twice what sets truly differ by."""
PRIOR_DOMAIN_COSTS = 20
"""As PRIOR_DOMAIN_RUNS for the cost, which a few runs tell."""
LEAST_WEIGHT = 0.05
"""Programs that weigh less are left out."""
FORM_PROGRAMS = 8
"""Of a domain that :func:`form_targets` teaches, or more if its front has more."""

Write = Callable[[BankProgram], tuple[int, ...] | None]
"""Token ids of a program as the policy would write it; None where it could not."""
Cells = Mapping[str, Sequence[RunRecord]]
"""Graded cells of each problem, by its id."""


@dataclass(frozen=True, slots=True)
class ImitationTarget:
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
    found: dict[str, list[RunRecord]] = defaultdict(list)
    for cell in bank.runs.values():
        if cell.problem in known and cell.right is not None:
            found[cell.problem].append(cell)
    if not found:
        raise DataError(
            f"{where}: none of its {len(bank.problems)} problems is one of the {len(problems)} "
            "training problems; fill one on these: llm-as-judge headroom FILE, or search --split train"
        )
    return found


def imitation_targets(
    bank: Bank, problems: Sequence[Problem], cells: Cells, price: float, write: Write
) -> list[ImitationTarget]:
    """A lesson for each problem from which a program that the policy can write is to be learned, in the order
    of the problems.

    Args:
        price: what 1,000 written tokens take away.
    """
    written = _written(bank, write)
    program_effects, problem_effects = _fitted(problems, cells)
    of_sets = {}
    for name, members in _alike_sets(problems, cells, program_effects).items():
        effects = [problem_effects[problem.id] for problem in members]
        right = sum(effect.right for effect in effects) / len(effects)
        cost = sum(effect.cost for effect in effects) / len(effects)
        of_sets[name] = _values((), Effect(right, cost), price, program_effects[name])
    found = []
    for problem in problems:
        here, name = cells.get(problem.id, ()), problem.dataset
        if here and name in of_sets:
            values = of_sets[name]
        elif any(cell.right for cell in here):
            values = _values(here, problem_effects[problem.id], price, program_effects[name])
        else:
            continue
        if weights := _weights({key: value for key, value in values.items() if key in written}):
            programs = tuple(written[key] for key in weights)
            found.append(ImitationTarget(problem, programs, tuple(weights.values())))
    return found


def _written(bank: Bank, write: Write) -> dict[str, tuple[int, ...]]:
    return {key: ids for key, program in bank.programs.items() if (ids := write(program))}


def form_targets(
    bank: Bank, problems: Sequence[Problem], cells: Cells, write: Write
) -> list[ImitationTarget]:
    """The same programs for all problems of a domain, each with the same weight: those on the front of share right
    and cost, then those behind it. What was right on the problem itself does not count.
    """
    written = _written(bank, write)
    alike: dict[str, tuple[tuple[int, ...], ...]] = {}
    for domain, found in _cells_of_domains(problems, cells).items():
        effects = {key: one for key, one in _effects(found)[0].items() if key in written}
        alike[domain] = tuple(dict.fromkeys(written[key] for key in _nearest_to_front(effects)))
    return [
        ImitationTarget(problem, programs_K, (1 / len(programs_K),) * len(programs_K))
        for problem in problems
        if problem.id in cells and (programs_K := alike[problem.domain])
    ]


def _nearest_to_front(effects: Mapping[str, Effect]) -> list[str]:
    """Programs than which none is both more often right and cheaper, then those of which that holds among the rest,
    and so on to :data:`FORM_PROGRAMS`."""
    left = sorted(effects, key=lambda key: (-effects[key].right, effects[key].cost, key))
    found: list[str] = []
    while left and len(found) < FORM_PROGRAMS:
        cheapest = math.inf
        for key in left:
            if effects[key].cost < cheapest:
                cheapest = effects[key].cost
                found.append(key)
        left = [key for key in left if key not in found]
    return found


def _alike_sets(
    problems: Sequence[Problem],
    cells: Cells,
    program_effects: Mapping[str, Mapping[str, Effect]],
) -> dict[str, list[Problem]]:
    """The data sets in which choosing by problem does not pay, with their problems in the bank."""
    of_sets: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        if cells.get(problem.id):
            of_sets[problem.dataset].append(problem)
    found = {}
    for name, members in of_sets.items():
        gains = [
            gain
            for problem in members
            if (gain := _gain_by_problem(cells[problem.id], program_effects[name])) is not None
        ]
        some_right = any(cell.right for problem in members for cell in cells[problem.id])
        enough = len(gains) >= LEAST_PROBLEMS
        if some_right and enough and sum(gains) / len(gains) < PAYS_BY_PROBLEM:
            found[name] = members
    return found


def _gain_by_problem(
    cells: Sequence[RunRecord], program_effects: Mapping[str, Effect]
) -> float | None:
    """What the best program of half of the draws gains on the other half, to the set's best of those that ran
    there; the mean of both ways. None: not two programs have draws in both halves."""
    halves: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for cell in cells:
        halves[cell.program][cell.draw % 2].append(cell.right or 0.0)
    means = {
        key: (sum(even) / len(even), sum(odd) / len(odd))
        for key, (even, odd) in halves.items()
        if even and odd
    }
    if len(means) < 2:
        return None
    usual = max(means, key=lambda key: (program_effects[key].right, key))
    gain = 0.0
    for known, other in ((0, 1), (1, 0)):
        best = max(means, key=lambda key: (means[key][known], program_effects[key].right, key))
        gain += means[best][other] - means[usual][other]
    return gain / 2


@dataclass(frozen=True, slots=True)
class Effect:
    """Of a program beside what its problems ask for, or of a problem on the mean program."""

    right: float
    """Share of right runs; a program's is beyond the mean of the programs on the same problems."""
    cost: float
    """Of a run, written tokens; a program's is over that of the mean program on the same problems."""


def _fitted(
    problems: Sequence[Problem], cells: Cells
) -> tuple[dict[str, dict[str, Effect]], dict[str, Effect]]:
    """Data set -> program -> what it does there; problem -> what it asks for.

    A search drops most programs on its first problems, so their shares are of other problems than those of the
    programs that stayed. Two effects are therefore fitted in each domain: right = problem + program (least squares),
    cost = problem x program (Poisson); each problem's and each program's in turn.
    """
    dataset_of = {problem.id: problem.dataset for problem in problems}
    program_effects: dict[str, dict[str, Effect]] = {problem.dataset: {} for problem in problems}
    problem_effects: dict[str, Effect] = {}
    for found in _cells_of_domains(problems, cells).values():
        in_domain, of_problems = _effects(found)
        problem_effects |= of_problems
        of_sets: dict[tuple[str, str], list[RunRecord]] = defaultdict(list)
        for cell in found:
            of_sets[dataset_of[cell.problem], cell.program].append(cell)
        for (dataset, key), each in of_sets.items():
            program_effects[dataset][key] = _drawn(
                each, of_problems, in_domain[key], PRIOR_DOMAIN_RUNS, PRIOR_DOMAIN_COSTS
            )
    return program_effects, problem_effects


def _cells_of_domains(problems: Sequence[Problem], cells: Cells) -> dict[str, list[RunRecord]]:
    found: dict[str, list[RunRecord]] = defaultdict(list)
    for problem in problems:
        found[problem.domain] += cells.get(problem.id, ())
    return found


def _effects(cells: Sequence[RunRecord]) -> tuple[dict[str, Effect], dict[str, Effect]]:
    """Of programs, and of problems."""
    of_programs, of_problems = _grouped(cells, "program"), _grouped(cells, "problem")
    nothing = Effect(0.0, 1.0)
    program_effects = dict.fromkeys(of_programs, nothing)
    problem_effects: dict[str, Effect] = {}
    for _ in range(FITTING_ROUNDS):
        problem_effects = {
            id_: Effect(
                sum((cell.right or 0.0) - program_effects[cell.program].right for cell in each)
                / len(each),
                _ratio(
                    sum(cell.cost for cell in each),
                    sum(program_effects[cell.program].cost for cell in each),
                ),
            )
            for id_, each in of_problems.items()
        }
        program_effects = {
            key: _drawn(each, problem_effects, nothing, PRIOR_RUNS, 0.0)
            for key, each in of_programs.items()
        }
    return program_effects, problem_effects


def _grouped(cells: Sequence[RunRecord], by: str) -> dict[str, list[RunRecord]]:
    found: dict[str, list[RunRecord]] = defaultdict(list)
    for cell in cells:
        found[getattr(cell, by)].append(cell)
    return found


def _drawn(
    cells: Sequence[RunRecord],
    problem_effects: Mapping[str, Effect],
    towards: Effect,
    runs: float,
    cost_runs: float,
) -> Effect:
    """What a program does beside its problems, drawn towards another figure.

    Args:
        runs, cost_runs: of the program that weigh as much as the other figure, for its share and its cost.
    """
    right = sum((cell.right or 0.0) - problem_effects[cell.problem].right for cell in cells)
    expected = sum(problem_effects[cell.problem].cost for cell in cells)
    more = cost_runs * expected / len(cells)
    cost = sum(cell.cost for cell in cells) + more * towards.cost
    share = (right + runs * towards.right) / (len(cells) + runs)
    return Effect(share, _ratio(cost, expected + more))


def _ratio(cost: float, expected: float) -> float:
    """1 where nothing is expected: all of it is free."""
    return cost / expected if expected else 1.0


def _values(
    cells: Sequence[RunRecord],
    of_problem: Effect,
    price: float,
    program_effects: Mapping[str, Effect],
) -> dict[str, float]:
    """Reward that each program of the data set is thought to earn on a problem, but those that were wrong there
    at every draw."""
    draws = _grouped(cells, "program")
    found = {}
    for key, of_set in program_effects.items():
        each = draws.get(key, [])
        if each and not any(cell.right for cell in each):
            continue
        right, cost = of_problem.right + of_set.right, of_problem.cost * of_set.cost
        trust = len(each) / (len(each) + PRIOR_DRAWS)
        if each:
            right += trust * (sum(cell.right or 0.0 for cell in each) / len(each) - right)
            cost += trust * (sum(cell.cost for cell in each) / len(each) - cost)
        found[key] = priced(right, cost, price)
    return found


def _weights(values: Mapping[str, float]) -> dict[str, float]:
    """Program -> weight, the best first; of equal ones the one with the lesser key."""
    best = sorted(values, key=lambda key: (-values[key], key))[:MOST_PROGRAMS]
    shares = {key: math.exp((values[key] - values[best[0]]) / TEMPERATURE) for key in best}
    least = LEAST_WEIGHT * sum(shares.values())
    kept = {key: share for key, share in shares.items() if share >= least}
    total = sum(kept.values())
    return {key: share / total for key, share in kept.items()}
