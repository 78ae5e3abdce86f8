"""Credit of an operator: pairs of programs of a bank that differ in one call of it.

The two run on the same problems from the same draws, so that the difference of a pair is that call's (and of
what is done with its result, which another program without it has to do otherwise).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from llm_as_judge.accuracy import right_of
from llm_as_judge.evaluation.statistics import paired
from llm_as_judge.runs.bank import Bank, BankProgram, Cell
from llm_as_judge.types import Domain
from llm_as_judge.workflow.outline import Outline, outline, without_one
from llm_as_judge.workflow.program import form_of, parse_program

Cells = defaultdict[str, dict[tuple[str, int], Cell]]
"""By key of the program, then by problem and draw."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two programs of a domain."""

    operator: str
    """Class of the operator that only the one calls, or calls once more."""
    having: BankProgram
    lacking: BankProgram


@dataclass(frozen=True, slots=True)
class Gain:
    """Of programs with a call over those without it: means of the problems."""

    right: float
    """Difference of the shares right."""
    low: float
    high: float
    """95 % interval of ``right`` over problems."""
    cost: float
    """Difference in written tokens."""
    by_problem: Mapping[str, float]
    """``right`` of each problem, the mean of its draws (and pairs)."""


@dataclass(frozen=True, slots=True)
class Credit:
    """What an operator added in a domain."""

    domain: Domain
    operator: str
    gain: Gain
    """Over all pairs."""
    pairs: tuple[tuple[str, str, Gain], ...]
    """Name of the program with it, of the one without it, and their own figures."""


def pairs_of(programs: Sequence[BankProgram], executors: Collection[str] = ()) -> list[Pair]:
    """All pairs among these programs, in their order.

    Args:
        executors: names of those beside the default one.
    """
    outlines = {program.key: _outline(program, executors) for program in programs}
    by_outline: dict[tuple[Domain, Outline], list[BankProgram]] = defaultdict(list)
    for program in programs:
        by_outline[program.domain, outlines[program.key]].append(program)
    return [
        Pair(operator, program, other)
        for program in programs
        for operator, shorter in without_one(outlines[program.key])
        for other in by_outline.get((program.domain, shorter), ())
    ]


def _outline(program: BankProgram, executors: Collection[str]) -> Outline:
    text = program.text
    found = parse_program(text, program.domain, form_of(text), executors=executors)
    return outline(found.runnable) if found.runnable else ()


def credits_of(bank: Bank, draws: int, executors: Collection[str] = ()) -> list[Credit]:
    """What each operator added, by domain and operator, where a pair has run on the same problem and draw.

    Args:
        draws: of which cells count.
        executors: as in :func:`pairs_of`.
    """
    cells: Cells = defaultdict(dict)
    for cell in bank.cells.values():
        if cell.draw < draws:
            cells[cell.program][cell.problem, cell.draw] = cell
    by_operator: dict[tuple[Domain, str], list[Pair]] = defaultdict(list)
    for pair in pairs_of(list(bank.programs.values()), executors):
        if cells[pair.having.key].keys() & cells[pair.lacking.key].keys():
            by_operator[pair.having.domain, pair.operator].append(pair)
    return [
        Credit(
            domain,
            operator,
            _gain(pairs, cells),
            tuple((one.having.name, one.lacking.name, _gain([one], cells)) for one in pairs),
        )
        for (domain, operator), pairs in sorted(by_operator.items(), key=lambda item: item[0])
    ]


def _gain(pairs: Sequence[Pair], cells: Cells) -> Gain:
    with_it: dict[str, list[float | None]] = defaultdict(list)
    without: dict[str, list[float | None]] = defaultdict(list)
    costs: dict[str, list[float]] = defaultdict(list)
    for pair in pairs:
        having, lacking = cells[pair.having.key], cells[pair.lacking.key]
        for place in having.keys() & lacking.keys():
            one, other = having[place], lacking[place]
            with_it[place[0]].append(one.right)
            without[place[0]].append(other.right)
            costs[place[0]].append(one.cost - other.cost)
    sides = {id_: (right_of(with_it[id_]), right_of(without[id_])) for id_ in sorted(with_it)}
    both = {id_: (a, b) for id_, (a, b) in sides.items() if a is not None and b is not None}
    found = paired([a for a, _ in both.values()], [b for _, b in both.values()])
    by_problem = {id_: a.right - b.right for id_, (a, b) in both.items()}
    cost = fmean(fmean(costs[id_]) for id_ in by_problem)
    return Gain(found.difference, found.low, found.high, cost, by_problem)
