"""headroom: is there anything to learn on these rows, or in a folder of what programs did?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from llm_as_judge.cli.bank_runs import say_estimate, searched, show_found, vectors_of
from llm_as_judge.cli.open_answers import open_runs
from llm_as_judge.cli.options import (
    ConfigOption,
    DryRunOption,
    ExecutorOption,
    SeedOption,
    SetOption,
    note,
    say,
    settings_of,
)
from llm_as_judge.cli.verbs import verb
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.files import output_errors
from llm_as_judge.types import Domain, Problem

if TYPE_CHECKING:
    from llm_as_judge.config import Config

ROOM = Path("results/headroom")


@verb("Example: llm-as-judge headroom mine.jsonl --config embedded --limit 30")
def headroom(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Your rows (JSONL, CSV, TSV or parquet), or the folder of a bank or of results of evaluate.",
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
        Path, typer.Option("--out", help="Folder for the bank, the programs and the figures.")
    ] = ROOM,
    config: ConfigOption = None,
    executor: ExecutorOption = None,
    seed: SeedOption = None,
    dry_run: DryRunOption = False,
    set_: SetOption = None,
) -> None:
    """Measure before any training whether your rows have room to learn: train, use a fixed program, or neither.

    Asks the executor. Its replies are kept: the same command never pays for one twice.
    """
    from llm_as_judge.evaluation.search.audit import TOO_FEW, TRAIN, advice, audit_of_search
    from llm_as_judge.evaluation.search.programs import shipped
    from llm_as_judge.evaluation.search.run import SearchOptions, check_options, usual_draws
    from llm_as_judge.evaluation.search.written import write_found

    settings = settings_of(config, set_, executor=executor, seed=seed)
    if source.is_dir():
        if dry_run:
            raise ConfigError(
                f"--dry-run {source}: a folder's audit asks nobody; leave --dry-run out"
            )
        return _of_folder(source, settings)
    problems = _own_rows(source, limit, settings)
    number = usual_draws(settings) if draws is None else draws
    # all of the shipped programs, and no others: a small bank
    options = SearchOptions(count=1, draws=number, halving=False, seed=settings.training.seed)
    check_options(options, settings)
    taking = shipped(settings, tuple(problems))
    say_estimate(settings, problems, taking, options, out / "bank")
    if dry_run:
        return None
    with output_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    vectors = vectors_of(settings, [row for rows in problems.values() for row in rows])
    with searched(settings, out / "bank", problems, taking, options) as (found, filled):
        room = audit_of_search(found, filled, number, vectors)
        reach = (
            audit_of_search(found, filled, number, vectors, open_right=True)
            if found.not_graded
            else None
        )
        told = advice(found, room, filled, number, settings.reward.one_budget)
        write_found(found, out, settings.reward.one_budget, room)
    say(f"answer: {told.answer}", "bold")
    for line in [*(room.lines()[:-1] if room is not None else []), told.reason]:
        say(line)
    show_found(found)
    if room is not None and reach is not None:
        say(room.if_open_right(reach, "each domain"))
    say(f"programs and report.json in {out}")
    if not any(cell.right for cell in filled.cells.values()):
        say(
            "next   no program was right on any row: read a reply first, with llm-as-judge evaluate --policy direct, "
            "then report"
        )
    elif told.answer in (TRAIN, TOO_FEW) and settings.data.train_file.is_file():
        say(
            f"next   llm-as-judge train --set training.warm_start={quote(str(out / 'bank'))} "
            "(begins with its best programs)"
        )
    return None


def _of_folder(folder: Path, settings: Config) -> None:
    """The audit of what is there; nobody is asked."""
    from llm_as_judge.evaluation.compare import headroom as of_results
    from llm_as_judge.evaluation.layout import full_files
    from llm_as_judge.evaluation.search.audit import FEW_ROWS, audited
    from llm_as_judge.evaluation.search.choices import not_graded_by_set
    from llm_as_judge.evaluation.system_results import read_systems
    from llm_as_judge.grading.version import older_verdicts
    from llm_as_judge.runs.bank import CELLS, Bank, grading_version

    if (folder / CELLS).is_file():
        bank = Bank(folder)
        if line := older_verdicts(folder, grading_version(folder)):
            note(line)
        room = audited(bank.table(), vectors_of(settings, bank.problems.values()))
        of_sets = not_graded_by_set(bank, bank.cells)
        left = open_runs(of_sets, len(bank.cells))
        reach = audited(bank.table(), None, open_right=True) if of_sets else None
        one_for = "each domain"
    elif files := sorted(folder.glob("*_results.json")) or full_files(folder, "*/*"):
        systems = [system for system in read_systems(files) if not system.sanity_baseline]
        compared = of_results(systems)
        room = compared.audit if compared is not None else None
        reach = compared.if_open_right if compared is not None else None
        open_ = Counter[str]()
        for system in systems:
            open_.update(system.open)
        left = open_runs(open_, sum(len(runs) for s in systems for runs in s.verdicts.values()))
        one_for = "everything"
    else:
        raise DataError(
            f"{folder}: neither a bank ({CELLS}) nor results of evaluate (*_results.json)"
        )
    if room is None:
        raise DataError(f"{folder}: fewer than two programs ran on the same problems")
    lines = room.lines(one_for)
    if room.problems < FEW_ROWS:
        say(
            f"too few rows to say: {room.problems}, wanted {FEW_ROWS} or more; what follows may be luck"
        )
        if room.interaction is not None:  # the last line draws a conclusion
            lines = lines[:-1]
    say(f"{room.problems} problems, {room.programs} programs, {room.draws} draws")
    could = room.if_open_right(reach, one_for) if reach is not None else ""
    for line in [*lines, left, could]:
        if line:
            say(line)


def _own_rows(path: Path, limit: str, settings: Config) -> dict[Domain, list[Problem]]:
    from llm_as_judge.assembly import problem_file
    from llm_as_judge.data.files import own_problems
    from llm_as_judge.data.rows import TABLES
    from llm_as_judge.evaluation.search.halving import mixed_order
    from llm_as_judge.evaluation.selection import without_test_rows

    most = int(limit) if limit.isdecimal() else 0
    if limit != "all" and most < 2:
        raise ConfigError(f"--limit {limit}: wanted how many rows, at least 2, or all")
    rows_of = own_problems if path.suffix in TABLES else problem_file
    there = {problem.id: problem for problem in rows_of(path)}
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
