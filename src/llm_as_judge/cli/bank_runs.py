"""Bank work of search and headroom: fill it, say what that will ask, show what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from llm_as_judge.cli.open_answers import open_runs
from llm_as_judge.cli.options import note, say
from llm_as_judge.cli.pace import Pace
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.cli.tables import show_table
from llm_as_judge.errors import ModelError
from llm_as_judge.types import Domain, Problem

if TYPE_CHECKING:
    from llm_as_judge.config import Config
    from llm_as_judge.evaluation.search.audit import Vectors
    from llm_as_judge.evaluation.search.choices import Found
    from llm_as_judge.evaluation.search.halving import Rung
    from llm_as_judge.evaluation.search.programs import Programs
    from llm_as_judge.evaluation.search.run import Rows, SearchOptions
    from llm_as_judge.runs.bank import Bank, Cell, Place


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
    from llm_as_judge.evaluation.search.run import expected_runs
    from llm_as_judge.evaluation.search.run import search as run_search
    from llm_as_judge.runs.bank import Bank

    pace = Pace("runs", expected_runs(problems, programs, options))
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
            return await run_search(bench, runner, problems, programs, options, _show_rung)

    with Bank.writing(folder, conditions(settings)) as bank:
        known |= _kept(
            bank, problems, programs, options
        )  # of every part, before the first is filled
        pace.found(len(known))
        kept = f"finished runs are kept in {folder}: the same command goes on"
        with stoppable(kept) as work:
            found = work.run(job(bank))
        pace.ended()
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
    from llm_as_judge.assembly.executor_settings import estimate_of, limits_of
    from llm_as_judge.evaluation.search.run import expected_runs
    from llm_as_judge.llm.ledger import Ledger
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
    estimate = estimate_of(settings, runs, rows, None, calls_a_run=round(calls, 1))
    too_much = estimate.exceeds(limits_of(settings), Ledger().total)
    for line in (*estimate.lines, *([too_much] if too_much else [])):
        note(line)
    if options.halving:
        note("runs that are kept are not made again")


# ------------------------------------------------------------------------------------------ showing


def _show_rung(domain: Domain, rung: Rung) -> None:
    note(
        f"{domain}: {rung.programs} programs on {rung.problems} problems"
        + (f" at {rung.draws} draws" if rung.draws > 1 else "")
    )


def show_found(found: Found) -> None:
    from llm_as_judge.evaluation.search.written import cost_text, right_text

    short = short_names({choice.name for choice in found.choices})
    budgets: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
    for choice in found.choices:
        same = (
            short[choice.name],
            right_text(choice.crossed),
            cost_text(choice.crossed),
            f"{100 * choice.flattered.right:.1f}",
        )
        chosen = budgets.setdefault((choice.scope, choice.of), {})
        chosen.setdefault(same, []).append(choice.budget)
    rows = [
        [_row_name(scope, of) + (f" ({', '.join(which)})" if len(chosen) > 1 else ""), *same]
        for (scope, of), chosen in budgets.items()
        for same, which in chosen.items()
    ]
    head = ["for", "program", "right", "cost", "flattered"]
    show_table("Best fixed programs, % right [95 % interval]", head, rows, False)
    for line in _reading(found, any(len(chosen) > 1 for chosen in budgets.values())):
        say(line)
    if told := open_runs(found.not_graded, found.search_runs):
        say(told)


def _row_name(scope: str, of: str) -> str:
    """A domain can have the name of a data set."""
    return f"all {of}" if scope == "domain" else of


def _reading(found: Found, by_budget: bool) -> list[str]:
    """What the columns are, and what the runs cost, a line each."""
    lines = [
        "right, cost: on rows that had no part in the choice. It was made five times, each without a fifth.",
        "flattered: on the rows of the choice. Among equal programs it takes the lucky one.",
    ]
    if by_budget:
        lines.append("(low), (middle), (high): the budgets that the program was chosen at.")
    new = "All of them were kept: nobody was asked"
    if found.measuring_runs:
        new = f"{found.measuring_runs:,} of them were made for that, the others were kept"
    kept = "Kept runs are counted, too"
    return [
        *lines,
        f"{found.search_runs:,} runs, cost {found.search_cost:,.0f} written tokens. {kept}.",
        f"Choosing five times took runs of {found.measuring_cost:,.0f} written tokens. {new}.",
    ]


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Of each program the shortest end of its path that no other has: ``until_3`` for
    ``exported/math/until_3.py``, with the mark of a mutation."""
    parts = {name: _path_and_mark(name) for name in names}
    whole = [f"/{path}{mark}" for path, mark in parts.values()]
    found = {}
    for name, (path, mark) in parts.items():
        steps = path.split("/")
        ends = ["/".join(steps[n:]) + mark for n in reversed(range(len(steps)))]
        alone = (end for end in ends if sum(one.endswith(f"/{end}") for one in whole) == 1)
        found[name] = next(alone, ends[-1])
    return found


def _path_and_mark(name: str) -> tuple[str, str]:
    """``("exported/qa", "~a1b2c3")`` of ``exported/qa.py~a1b2c3``."""
    path = name.partition("~")[0]
    return path.removesuffix(".py"), name[len(path) :]
