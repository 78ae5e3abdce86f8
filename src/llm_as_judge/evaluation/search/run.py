"""A search of one configuration: candidates, halving, choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.program_runs import BankRunner, all_runs
from llm_as_judge.evaluation.search.choices import SearchResult, search_choices
from llm_as_judge.evaluation.search.halving import HalvingRound, halve, halving_rounds
from llm_as_judge.evaluation.search.programs import Programs, widened
from llm_as_judge.runs.table import BankProgram
from llm_as_judge.types import Domain, Problem
from llm_as_judge.workflow.program import ProgramOptions

DRAWS = 4

Rows = Mapping[Domain, Sequence[Problem]]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How a search goes."""

    count: int = 50
    """Programs of each domain."""
    draws: int = DRAWS
    cost: float | None = None
    """In written tokens: what the search of one domain may ask for; None = no limit."""
    seed: int = 0
    halving: bool = True
    """False: every program runs on every problem at every draw."""


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
    for domain, rows in problems.items():
        if len(rows) < 2:
            raise DataError(
                f"{domain}: too few rows to search on: {len(rows)}, wanted 2 or more; raise the "
                "limit on rows, or add some"
            )
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
            budget=options.cost,
            on_round=(lambda halving_round: on_round(domain, halving_round)) if first else None,
        )

    return await search_choices(runner, problems, finalists, draws=options.draws, seed=options.seed)
