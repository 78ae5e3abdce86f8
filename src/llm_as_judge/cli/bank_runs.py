"""What search and headroom do with a bank: fill it, say what that will ask, show what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from llm_as_judge.cli.options import note, say
from llm_as_judge.cli.pace import Pace
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.cli.tables import show_table
from llm_as_judge.cli.ungraded import ungraded_runs
from llm_as_judge.errors import ModelError
from llm_as_judge.types import Domain, Problem

if TYPE_CHECKING:
    from llm_as_judge.config import Config
    from llm_as_judge.evaluation.search.audit import Vectors
    from llm_as_judge.evaluation.search.choices import Found
    from llm_as_judge.evaluation.search.halving import Rung
    from llm_as_judge.evaluation.search.programs import Programs
    from llm_as_judge.evaluation.search.run import Rows, SearchOptions
    from llm_as_judge.runs.bank import Bank, BankProgram, Cell, Place


@contextmanager
def searched(
    settings: Config,
    folder: Path,
    problems: Rows,
    programs: Programs,
    options: SearchOptions,
) -> Iterator[tuple[Found, Bank]]:
    """What a search found, and the bank that it filled."""
    from llm_as_judge.assembly import open_workbench
    from llm_as_judge.evaluation.search.cells import BankRunner, conditions, program_runner
    from llm_as_judge.evaluation.search.run import View, expected_runs
    from llm_as_judge.evaluation.search.run import search as run_search
    from llm_as_judge.runs.bank import Bank

    pace = Pace("runs made", expected_runs(problems, programs, options))
    known: set[Place] = set()

    def counted(cell: Cell, now: bool) -> None:
        """Repetitions ask again for what an earlier one ran."""
        if cell.place not in known:
            known.add(cell.place)
            (pace.did if now else pace.found)()

    async def job(bank: Bank) -> Found:
        async with open_workbench(settings) as bench:
            at_once = settings.workflow.concurrency
            runner = BankRunner(bank, program_runner(bench, bank), at_once, counted)
            view = View(_show_rung, _show_program)
            return await run_search(bench, runner, problems, programs, options, view)

    with Bank.writing(folder, conditions(settings)) as bank:
        known |= _kept(
            bank, problems, programs, options
        )  # of every part, before the first is filled
        pace.found(len(known))
        kept = f"finished runs are kept in {folder}: the same command goes on"
        with stoppable(kept) as work:
            found = work.run(job(bank))
        yield found, bank


def _kept(bank: Bank, problems: Rows, programs: Programs, options: SearchOptions) -> set[Place]:
    """Runs of these programs that the bank holds and no choice can leave out; where halving chooses, only
    its course tells which are wanted."""
    from llm_as_judge.evaluation.search.cells import all_cells

    if options.halving:
        return set()
    return {
        (program.key, row.id, draw)
        for domain, rows in problems.items()
        for program, row, draw in all_cells(programs[domain], rows, options.draws)
        if (program.key, row.id, draw) in bank.cells
    }


def vectors_of(settings: Config, problems: Iterable[Problem]) -> Vectors | None:
    """Before anything is spent: a sentence model that is not here stops nothing, but is told of."""
    from llm_as_judge.evaluation.search.audit import text_vectors

    unmeasured = "what the text of a problem says is not measured: "
    try:
        found = text_vectors(list(problems), settings)
    except ModelError as error:
        note(f"{unmeasured}{error}")
        return None
    if found is None:
        name = settings.experience.embedder
        note(f"{unmeasured}its sentence model is not here (llm-as-judge models pull {name})")
    return found


def say_estimate(
    settings: Config, problems: Rows, programs: Programs, options: SearchOptions, folder: Path
) -> None:
    from llm_as_judge.evaluation.search.run import expected_runs
    from llm_as_judge.executor_settings import estimate_of
    from llm_as_judge.runs.bank import Bank
    from llm_as_judge.workflow.program import form_of, parse_program

    kept = len(_kept(Bank(folder), problems, programs, options))
    runs = expected_runs(problems, programs, options) - kept
    if kept:
        note(f"{kept} runs are kept in {folder} and are not made again")
    if not runs:
        return
    rows = [row for found in problems.values() for row in found]
    most, executors = settings.workflow.max_worst_case_calls, settings.executors
    calls = fmean(
        parse_program(
            one.text, one.domain, form_of(one.text), max_calls=most, executors=executors
        ).expected_calls
        for domain in problems
        for one in programs[domain]
    )
    for line in estimate_of(settings, runs, rows, None, calls_a_run=round(calls, 1)).lines:
        note(line)
    if options.halving:
        note("runs that are kept are not made again")


# ------------------------------------------------------------------------------------------ showing


def _show_rung(domain: Domain, rung: Rung) -> None:
    note(
        f"{domain}: {rung.programs} programs on {rung.problems} problems"
        + (f" at {rung.draws} draws" if rung.draws > 1 else "")
    )


def _show_program(program: BankProgram, share: float) -> None:
    note(f"{program.domain}: {share:.0%} right, {program.name} ({program.origin})")


def show_found(found: Found) -> None:
    from llm_as_judge.evaluation.search.page import cost_text, right_text
    from llm_as_judge.reward import PRICES

    head = ["scope", "of", "budget", "program", "right, % [95 %]", "cost", "flattered, %"]
    budgets: dict[tuple[str, ...], list[str]] = {}
    for choice in found.choices:
        same = (
            choice.name,
            right_text(choice.crossed),
            cost_text(choice.crossed),
            f"{100 * choice.flattered.right:.1f}",
        )
        budgets.setdefault((choice.scope, choice.of, *same), []).append(choice.budget)
    rows = [
        [scope, of, "all" if len(which) == len(PRICES) else ", ".join(which), *same]
        for (scope, of, *same), which in budgets.items()
    ]
    show_table("Best fixed programs", head, rows, False)
    say(
        "right and cost are crossed: the search was done again without a fifth of the problems, and "
        "what it chose was scored on them, five times. The flattered share is of the rows that the "
        "program was chosen on."
    )
    say(
        f"{found.search_runs} runs, cost {found.search_cost:.0f} written tokens; the crossed figures "
        f"took {found.measuring_cost:.0f}"
    )
    if told := ungraded_runs(found.not_graded, found.search_runs):
        say(told)
