"""A search of one configuration: candidates by a strategy, halving, choices, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from llm_as_judge.assembly import Workbench
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.search.cells import BankRunner, all_cells
from llm_as_judge.evaluation.search.choices import Found, search_choices
from llm_as_judge.evaluation.search.halving import Rung, halve, mixed_order, rungs
from llm_as_judge.evaluation.search.programs import Programs, together, widened
from llm_as_judge.evaluation.search.proposing import Proposing, grow_tree, improve_instruction
from llm_as_judge.executor_settings import operator_settings
from llm_as_judge.runs.bank import BankProgram
from llm_as_judge.types import Domain, Problem

Strategy = Literal["halving", "tree", "prompt"]
STRATEGIES: tuple[Strategy, ...] = ("halving", "tree", "prompt")
DRAWS = 4
ROUNDS = 10
"""Proposals of a domain, where neither they nor the cost are limited."""
_PROPOSED_ON = 3
"""Every third row is what proposals see; the choice is made on the others."""

Rows = Mapping[Domain, Sequence[Problem]]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How a search goes."""

    strategy: Strategy = "halving"
    count: int = 50
    """Programs of each domain, strategy ``halving``."""
    draws: int = DRAWS
    rounds: int | None = None
    """Proposals of each domain at most; None = :data:`ROUNDS`, or what ``cost`` pays for."""
    cost: float | None = None
    """In written tokens: what the search of one domain may ask for; None = no limit."""
    seed: int = 0
    halving: bool = True
    """False: every program runs on every problem at every draw."""


@dataclass(frozen=True, slots=True)
class View:
    """Who is told while a search goes on."""

    rung: Callable[[Domain, Rung], None]
    program: Callable[[BankProgram, float], None]


def usual_draws(config: Config) -> int:
    """Runs of a program on a problem, where nobody says how many."""
    return DRAWS if operator_settings(config).temperature else 1


def check_options(options: SearchOptions, config: Config) -> None:
    """
    Raises:
        ConfigError: they contradict each other, or the configuration.
    """
    if options.rounds is not None and options.strategy == "halving":
        raise ConfigError(
            "--rounds: nothing is proposed by --strategy halving; give --strategy tree or prompt"
        )
    if options.draws > 1 and operator_settings(config).temperature == 0:
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
        proposed = known + (ROUNDS if options.rounds is None else options.rounds)
        count = max(known, options.count) if options.strategy == "halving" else proposed
        found += sum(
            r.programs * r.problems * r.draws for r in rungs(count, len(rows), options.draws)
        )
    return found


async def search(
    bench: Workbench,
    runner: BankRunner,
    problems: Rows,
    programs: Programs,
    options: SearchOptions,
    view: View,
) -> Found:
    """
    Args:
        programs: that every search begins with, by domain.
    Raises:
        DataError: a domain without problems, or with fewer than the strategy needs.
        BudgetError, EndpointError: see :meth:`BankRunner.fill`.
    """
    config = bench.config
    least = 2 if options.strategy == "halving" else _PROPOSED_ON
    for domain, rows in problems.items():
        if len(rows) < least:
            raise DataError(
                f"{domain}: too few rows to search on: {len(rows)}, wanted {least} or more; raise the "
                "limit on rows, or add some"
            )
    if options.strategy == "halving":
        taking = {d: widened(programs[d], options.count, config, options.seed) for d in problems}
        chosen_on: Rows = problems
    else:
        taking, chosen_on = await _proposed(bench, runner, problems, programs, options, view)

    shown: set[Domain] = set()

    async def finalists(
        runner: BankRunner, domain: Domain, rows: Sequence[Problem]
    ) -> list[BankProgram]:
        if not options.halving:
            await runner.fill(all_cells(taking[domain], rows, options.draws))
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
            on_rung=(lambda rung: view.rung(domain, rung)) if first else None,
        )

    return await search_choices(
        runner, chosen_on, finalists, draws=options.draws, seed=options.seed
    )


async def _proposed(
    bench: Workbench,
    runner: BankRunner,
    problems: Rows,
    programs: Programs,
    options: SearchOptions,
    view: View,
) -> tuple[dict[Domain, list[BankProgram]], Rows]:
    """(candidates by domain, the rows that they were not proposed on)."""
    limited = ROUNDS if options.cost is None else 10**6
    found: dict[Domain, list[BankProgram]] = {}
    others: dict[Domain, list[Problem]] = {}
    for domain, rows in problems.items():
        ordered = mixed_order(rows, options.seed)
        seen = ordered[::_PROPOSED_ON]
        others[domain] = [row for row in ordered if row not in seen]
        place = Proposing(
            bench,
            runner.fresh(),
            seen,
            limited if options.rounds is None else options.rounds,
            None if options.cost is None else options.cost / 2,  # the rest is for choosing
            options.seed,
            view.program,
        )
        if options.strategy == "tree":
            found[domain] = await grow_tree(place, domain, programs[domain])
        else:
            found[domain] = await improve_instruction(place, domain)
        runner.cost += place.runner.cost
    return together(found), others
