"""A search of one configuration: candidates, halving, choices, and its files.

OUT/DOMAIN.py                     the best of each domain at the configured budget
OUT/BUDGET/DOMAIN.py              the same at each budget: low, middle, high
OUT/BUDGET/sets/SET.py            the best of each data set
OUT/report.json                   every figure, cross-validated and in-sample
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.headroom import Headroom
from llm_as_judge.evaluation.program_runs import BankRunner, all_runs, by_turns
from llm_as_judge.evaluation.search.choices import (
    DOMAIN,
    Choice,
    Score,
    SearchResult,
    search_choices,
)
from llm_as_judge.evaluation.search.halving import HalvingRound, halve, halving_rounds
from llm_as_judge.evaluation.search.programs import Programs, widened
from llm_as_judge.files import write_text
from llm_as_judge.runs.table import BankProgram
from llm_as_judge.types import Budget, Domain, Problem, to_json
from llm_as_judge.workflow.program import ProgramOptions

DRAWS = 4
LEAST_ROWS = 2
"""Of a domain: a program is chosen on some and scored on the others."""

Rows = Mapping[Domain, Sequence[Problem]]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How a search goes."""

    count: int = 50
    """Programs of each domain."""
    draws: int = DRAWS
    seed: int = 0
    halving: bool = True
    """False: every program runs on every problem at every draw."""


def too_few(problems: Rows) -> str:
    """``code has 1 row``: the domains that nothing can be chosen on; empty: there is none."""
    return ", ".join(
        f"{domain} has {len(rows)} row{'s' * (len(rows) != 1)}"
        for domain, rows in problems.items()
        if len(rows) < LEAST_ROWS
    )


def enough(problems: Rows) -> dict[Domain, Sequence[Problem]]:
    """The domains that a program can be chosen on."""
    return {domain: rows for domain, rows in problems.items() if len(rows) >= LEAST_ROWS}


def usual_draws(temperature: float) -> int:
    """Runs of a program on a problem, where nobody says how many."""
    return DRAWS if temperature else 1


def check_options(options: SearchOptions, temperature: float) -> None:
    """
    Args:
        temperature: of the executor.
    Raises:
        ConfigError: they contradict it.
    """
    if options.draws > 1 and temperature == 0:
        raise ConfigError(
            f"--draws {options.draws}: draws of a greedy executor are all the same; set "
            "executor.temperature above 0, or give --draws 1"
        )


def expected_runs(problems: Rows, programs: Programs, options: SearchOptions) -> int:
    """Of programs, about: what halving takes on all rows, without its repetitions, which find most of
    their runs made."""
    found = 0
    for domain, rows in problems.items():
        known = len(programs[domain])
        if not options.halving:
            found += known * len(rows) * options.draws
            continue
        count = max(known, options.count)
        found += sum(
            r.programs * r.problems * r.draws
            for r in halving_rounds(count, len(rows), options.draws)
        )
    return found


async def search(
    runner: BankRunner,
    problems: Rows,
    programs: Programs,
    limits: ProgramOptions,
    options: SearchOptions,
    on_round: Callable[[Domain, HalvingRound], None],
) -> SearchResult:
    """
    Args:
        programs: that every search begins with, by domain.
        on_round: told of each round of the search on all rows.
    Raises:
        DataError: a domain with fewer than two problems.
        BudgetError, EndpointError: see :meth:`BankRunner.fill`.
    """
    if few := too_few(problems):
        raise DataError(f"{few}, wanted {LEAST_ROWS} or more of each type")
    taking = {d: widened(programs[d], options.count, limits, options.seed) for d in problems}
    shown: set[Domain] = set()

    async def finalists(
        runner: BankRunner, domain: Domain, rows: Sequence[Problem]
    ) -> list[BankProgram]:
        if not options.halving:
            await runner.fill(all_runs(taking[domain], rows, options.draws))
            return taking[domain]
        first = domain not in shown
        shown.add(domain)
        return await halve(
            runner,
            taking[domain],
            rows,
            draws=options.draws,
            seed=options.seed,
            on_round=(lambda halving_round: on_round(domain, halving_round)) if first else None,
        )

    if not options.halving:  # domain after domain finds these made
        programs_of_all = chain.from_iterable(taking.values())
        await runner.fill(all_runs(programs_of_all, by_turns(problems), options.draws))
    return await search_choices(runner, problems, finalists, draws=options.draws, seed=options.seed)


REPORT = "report.json"


def write_found(found: SearchResult, out: Path, budget: Budget, room: Headroom | None) -> None:
    """
    Args:
        budget: of the programs that stand in ``out`` itself.
        room: the audit of the finalists.
    Raises:
        OutputError: the folder cannot be written.
    """
    for choice in found.choices:
        for path in _paths(choice, out, budget):
            write_text(path, choice.program.text)
    write_text(out / REPORT, json.dumps(as_json(found, room), indent=1) + "\n")


def _paths(choice: Choice, out: Path, budget: Budget) -> list[Path]:
    folder = out / choice.budget
    if choice.scope == DOMAIN:
        own = [out / f"{choice.of}.py"] if choice.budget == budget else []
        return [*own, folder / f"{choice.of}.py"]
    return [folder / "sets" / f"{choice.of}.py"]


def as_json(found: SearchResult, room: Headroom | None) -> dict[str, Any]:
    """The figures as plain data; a mean of nothing is null."""
    return {
        "choices": [
            {
                "scope": choice.scope,
                "of": choice.of,
                "budget": choice.budget,
                "name": choice.name,
                "program": choice.program.key,
                "cross_validated": _score(choice.cross_validated),
                "in_sample": _score(choice.in_sample),
            }
            for choice in found.choices
        ],
        "finalists": {d: [p.name for p in programs] for d, programs in found.finalists.items()},
        "search_cost": round(found.search_cost, 1),
        "search_runs": found.search_runs,
        "measuring_cost": round(found.measuring_cost, 1),
        "headroom": None if room is None else {**to_json(room), "words": room.words},
    }


def _score(score: Score) -> dict[str, float | int] | None:
    if not score.problems:
        return None
    rounded: dict[str, float | int] = {
        name: round(value, 6) for name, value in to_json(score).items()
    }
    return {**rounded, "problems": score.problems}
