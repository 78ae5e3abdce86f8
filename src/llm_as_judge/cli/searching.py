"""search and headroom: fixed programs over a bank of what programs do on problems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from llm_as_judge.cli.options import (
    BANK,
    BankOption,
    ConfigOption,
    DataDirOption,
    ExecutorOption,
    SeedOption,
    SetOption,
    note,
    say,
    settings_of,
)
from llm_as_judge.cli.pace import Pace
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.cli.tables import show_table
from llm_as_judge.cli.verbs import verb
from llm_as_judge.errors import ConfigError, DataError, ModelError
from llm_as_judge.files import output_errors
from llm_as_judge.renamed import hint
from llm_as_judge.types import DOMAINS, Domain, Problem

if TYPE_CHECKING:
    from llm_as_judge.config import Config
    from llm_as_judge.evaluation.search.audit import Vectors
    from llm_as_judge.evaluation.search.choices import Found
    from llm_as_judge.evaluation.search.halving import Rung
    from llm_as_judge.evaluation.search.programs import Programs
    from llm_as_judge.evaluation.search.run import Rows, SearchOptions, Strategy
    from llm_as_judge.runs.bank import Bank, BankProgram, Cell, Place

OUT = Path("results/searched")
ROOM = Path("results/headroom")


@verb("Example: llm-as-judge search --config embedded --rows 12 --count 12")
def search(
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the programs and report.json.")
    ] = OUT,
    bank: BankOption = BANK,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            metavar="halving|tree|prompt",
            help="halving: compares shipped, given, random and mutated programs; tree: the executor changes "
            "programs; prompt: the executor writes instructions. Default: halving.",
        ),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", min=2, help="Most problems of each domain.")] = 40,
    split: Annotated[
        str, typer.Option("--split", metavar="val|train", help="Rows to choose the programs on.")
    ] = "val",
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            min=1,
            help="Runs of a program on a problem. Default: 4; 1 if the executor is greedy.",
        ),
    ] = None,
    count: Annotated[
        int,
        typer.Option(
            "--count",
            min=1,
            help="halving: programs of each domain; shipped and given ones always take part.",
        ),
    ] = 50,
    programs: Annotated[
        Path | None,
        typer.Option(
            "--programs",
            help="Folder of further programs: DOMAIN.py or DOMAIN/*.py, as `export programs` writes them.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", help="Also take programs of this policy: untrained or a checkpoint folder."
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", min=0, help="tree and prompt: proposals of each domain."),
    ] = None,
    cost: Annotated[
        float | None,
        typer.Option(
            "--cost",
            min=1,
            help="Most written executor tokens that the search of a domain may use.",
        ),
    ] = None,
    config: ConfigOption = None,
    executor: ExecutorOption = None,
    data_dir: DataDirOption = None,
    seed: SeedOption = None,
    set_: SetOption = None,
) -> None:
    """Find the best fixed program for everything, for each domain and for each data set.

    Measure it on test rows with: llm-as-judge evaluate --policy OUT
    """
    from llm_as_judge.evaluation.search.audit import audit_of_search
    from llm_as_judge.evaluation.search.credit import credits_of
    from llm_as_judge.evaluation.search.page import PAGE, write_page
    from llm_as_judge.evaluation.search.programs import given, sampled, shipped, together
    from llm_as_judge.evaluation.search.run import SearchOptions, check_options, usual_draws
    from llm_as_judge.evaluation.search.written import write_found

    settings = settings_of(config, set_, executor=executor, data_dir=data_dir, seed=seed)
    options = SearchOptions(
        _strategy(strategy, rounds),
        count,
        usual_draws(settings) if draws is None else draws,
        rounds,
        cost,
        settings.training.seed,
    )
    check_options(options, settings)
    problems = _rows(settings, split, rows, bank)
    own = given(programs, settings, DOMAINS) if programs is not None else {}
    written: Programs = {}
    if policy is not None:
        rows_of_all = [row for found in problems.values() for row in found]
        with stoppable("") as work:
            written = work.run(sampled(policy, settings, rows_of_all))
    taking = together(own, shipped(settings, tuple(problems)), written)
    with output_errors(out):  # before anything is spent
        out.mkdir(parents=True, exist_ok=True)
    vectors = _vectors(settings, problems)
    _say_estimate(settings, problems, taking, options, bank)
    with _searched(settings, bank, problems, taking, options) as (found, filled):
        room = audit_of_search(found, filled, options.draws, vectors)
        added = credits_of(filled, options.draws, settings.executors)
        write_found(found, out, settings.reward.one_budget, room, added)
        words = room.lines if room is not None else []
        write_page(found, filled, options.draws, words, out / PAGE, added)
    _show(found)
    for line in words:
        say(line)
    say(f"programs, report.json and {PAGE} in {out}")


@verb("Example: llm-as-judge headroom mine.jsonl --config embedded --limit 30")
def headroom(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Your rows (JSONL), or the folder of a bank or of results of evaluate.",
        ),
    ],
    limit: Annotated[
        str,
        typer.Option("--limit", metavar="N|all", help="Most rows, a seeded sample."),
    ] = "60",
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            min=1,
            help="Runs of a program on a row. Default: 4; 1 if the executor is greedy.",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the bank, the programs and the page.")
    ] = ROOM,
    config: ConfigOption = None,
    executor: ExecutorOption = None,
    seed: SeedOption = None,
    set_: SetOption = None,
) -> None:
    """Measure before any training whether your rows have room to learn: train, use a fixed program, or neither.

    Asks the executor. Its replies are kept: the same command never pays for one twice.
    """
    from llm_as_judge.evaluation.search.audit import TOO_FEW, TRAIN, advice, audit_of_search
    from llm_as_judge.evaluation.search.credit import credits_of
    from llm_as_judge.evaluation.search.page import PAGE, write_page
    from llm_as_judge.evaluation.search.programs import shipped
    from llm_as_judge.evaluation.search.run import SearchOptions, check_options, usual_draws
    from llm_as_judge.evaluation.search.written import write_found

    settings = settings_of(config, set_, executor=executor, seed=seed)
    if source.is_dir():
        return _of_folder(source, settings)
    problems = _own_rows(source, limit, settings)
    number = usual_draws(settings) if draws is None else draws
    # all of the shipped programs, and no others: a small bank
    options = SearchOptions(count=1, draws=number, halving=False, seed=settings.training.seed)
    check_options(options, settings)
    taking = shipped(settings, tuple(problems))
    with output_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    vectors = _vectors(settings, problems)
    _say_estimate(settings, problems, taking, options, out / "bank")
    with _searched(settings, out / "bank", problems, taking, options) as (found, filled):
        room = audit_of_search(found, filled, number, vectors)
        told = advice(found, room, filled, number, settings.reward.one_budget)
        added = credits_of(filled, number, settings.executors)
        write_found(found, out, settings.reward.one_budget, room, added)
        words = [f"{told.answer}.", *(room.lines[:-1] if room is not None else []), told.reason]
        write_page(found, filled, number, words, out / PAGE, added)
    say(f"answer: {told.answer}", "bold")
    for line in words[1:]:
        say(line)
    _show(found)
    say(f"programs, report.json and {PAGE} in {out}")
    if told.answer in (TRAIN, TOO_FEW) and settings.data.train_file.is_file():
        say(
            f"next   llm-as-judge train --set training.warm_start={quote(str(out / 'bank'))} "
            "(begins with the programs that were right here)"
        )
    return None


def _of_folder(folder: Path, settings: Config) -> None:
    """The audit of what is there; nobody is asked."""
    from llm_as_judge.evaluation.compare import headroom as of_results
    from llm_as_judge.evaluation.search.audit import FEW_ROWS, audited, text_vectors
    from llm_as_judge.evaluation.system_results import read_systems
    from llm_as_judge.runs.bank import CELLS, Bank

    if (folder / CELLS).is_file():
        bank = Bank(folder)
        room = audited(bank.table(), text_vectors(list(bank.problems.values()), settings))
    elif files := sorted(folder.glob("*_results.json")):
        systems = [system for system in read_systems(files) if not system.sanity_baseline]
        compared = of_results(systems)
        room = compared.audit if compared is not None else None
    else:
        raise DataError(
            f"{folder}: neither a bank ({CELLS}) nor results of evaluate (*_results.json)"
        )
    if room is None:
        raise DataError(f"{folder}: fewer than two programs ran on the same problems")
    if room.problems < FEW_ROWS:
        say(
            f"too few rows to say: {room.problems}, wanted {FEW_ROWS} or more; what follows may be luck"
        )
    say(f"{room.problems} problems, {room.programs} programs, {room.draws} draws")
    for line in room.lines:
        say(line)


def _own_rows(path: Path, limit: str, settings: Config) -> dict[Domain, list[Problem]]:
    from llm_as_judge.assembly import problem_file
    from llm_as_judge.evaluation.search.halving import mixed_order
    from llm_as_judge.evaluation.selection import without_test_rows

    most = int(limit) if limit.isdecimal() else 0
    if limit != "all" and most < 2:
        raise ConfigError(f"--limit {limit}: wanted how many rows, at least 2, or all")
    there = {problem.id: problem for problem in problem_file(path)}
    kept = without_test_rows(settings, there.values())
    if there and not kept:
        raise DataError(
            f"{path}: each of its {len(there)} rows is a test row of {settings.data.data_dir}; wanted rows "
            "that no evaluation is made on. Name the whole file of your rows"
        )
    if len(kept) < len(there):
        note(f"{len(there) - len(kept)} of {len(there)} rows are left out: they are the test rows")
    rows = mixed_order(kept, settings.training.seed)
    taken = rows if limit == "all" else rows[:most]
    if len(taken) < len(rows):
        note(f"{len(taken)} of {len(rows)} rows, a seeded sample; every row: --limit all")
    problems: dict[Domain, list[Problem]] = {}
    for problem in taken:
        problems.setdefault(problem.domain, []).append(problem)
    return problems


def _strategy(strategy: str | None, rounds: int | None) -> Strategy:
    from llm_as_judge.evaluation.search.run import STRATEGIES

    if strategy is None and rounds is not None:  # what --rounds said before there were strategies
        hint("search --rounds N is called search --strategy prompt --rounds N now")
        return "prompt"
    if strategy is None:
        return "halving"
    for known in STRATEGIES:
        if known == strategy:
            return known
    raise ConfigError(f"--strategy {strategy!r}: wanted {', '.join(STRATEGIES)}")


def _rows(settings: Config, split: str, rows: int, bank: Path) -> dict[Domain, list[Problem]]:
    """Of each domain those that the bank knows, then the first of the others, in the order of the mix;
    says where there are fewer."""
    from llm_as_judge.assembly import problem_file
    from llm_as_judge.runs.bank import Bank

    if split not in ("val", "train"):
        raise ConfigError(f"--split {split!r}: wanted val or train; nothing is chosen on test rows")
    path = settings.data.val_file if split == "val" else settings.data.train_file
    file = problem_file(path)
    problems: dict[Domain, list[Problem]] = {}
    in_bank = Bank(bank).problems
    known: set[str] = set()
    for of_bank in (True, False):
        for problem in file:
            chosen = problems.setdefault(problem.domain, [])
            if (
                len(chosen) < rows
                and problem.id not in known
                and (problem.id in in_bank) is of_bank
            ):
                known.add(problem.id)
                chosen.append(problem)
            if len(known) == rows * len(set(file.domains)):
                break
    for domain, chosen in problems.items():
        if len(chosen) < rows:
            note(f"{domain}: {len(chosen)} rows, not {rows}: {path} has no more")
    return problems


@contextmanager
def _searched(
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


def _vectors(settings: Config, problems: Rows) -> Vectors | None:
    """Before anything is spent: a sentence model that cannot be had stops nothing, but is told of."""
    from llm_as_judge.evaluation.search.audit import text_vectors

    try:
        return text_vectors([row for rows in problems.values() for row in rows], settings)
    except ModelError as error:
        note(f"what the text of a problem says is not measured: {error}")
        return None


def _say_estimate(
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


def _show(found: Found) -> None:
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
