"""search: the best fixed programs, found over a bank of what programs do on problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llm_as_judge.cli.options import (
    ConfigOption,
    DataDirOption,
    ExecutorOption,
    SeedOption,
    SetOption,
    console,
    settings_of,
    status_console,
)
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.cli.tables import show_table
from llm_as_judge.errors import ConfigError
from llm_as_judge.files import output_errors
from llm_as_judge.renamed import hint
from llm_as_judge.types import DOMAINS, Domain, Problem

if TYPE_CHECKING:
    from llm_as_judge.config import Config
    from llm_as_judge.evaluation.search.choices import Found, Score
    from llm_as_judge.evaluation.search.halving import Rung
    from llm_as_judge.evaluation.search.programs import Programs
    from llm_as_judge.evaluation.search.run import SearchOptions, Strategy
    from llm_as_judge.runs.bank import BankProgram

OUT, BANK = Path("results/searched"), Path("results/bank")


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge search --config embedded --rows 12 --count 12")(
        search
    )


def search(
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the programs and report.json.")
    ] = OUT,
    bank: Annotated[
        Path,
        typer.Option(
            "--bank", help="Folder that keeps every run; the same command goes on with it."
        ),
    ] = BANK,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            metavar="halving|tree|prompt",
            help="halving: shipped, given, drawn and mutated programs; tree: the executor changes "
            "programs; prompt: the executor writes instructions. Default: halving.",
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", min=2, help="Problems of each domain at most.")
    ] = 40,
    split: Annotated[
        str, typer.Option("--split", metavar="val|train", help="Rows to choose on.")
    ] = "val",
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            min=1,
            help="Runs of a program on a problem. Default: 4, of a greedy executor 1.",
        ),
    ] = None,
    count: Annotated[
        int,
        typer.Option(
            "--count",
            min=1,
            help="Programs of each domain, for halving; the shipped and given ones always take part.",
        ),
    ] = 50,
    programs: Annotated[
        Path | None,
        typer.Option(
            "--programs",
            help="Take these in, too: FOLDER/DOMAIN.py, FOLDER/DOMAIN/*.py, as `export programs` "
            "makes them.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", min=0, help="Proposals of each domain, for tree and prompt."),
    ] = None,
    cost: Annotated[
        float | None,
        typer.Option(
            "--cost", min=1, help="Written tokens that the search of a domain may ask for."
        ),
    ] = None,
    config: ConfigOption = None,
    executor: ExecutorOption = None,
    data_dir: DataDirOption = None,
    seed: SeedOption = None,
    set_: SetOption = None,
) -> None:
    """Search the best fixed program for everything, each domain and each data set; then:
    evaluate --policy OUT."""
    from llm_as_judge.evaluation.search.programs import given, shipped, together
    from llm_as_judge.evaluation.search.run import SearchOptions, check_options, usual_draws

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
    problems = _rows(settings, split, rows)
    own = given(programs, settings, DOMAINS) if programs is not None else {}
    taking = together(own, shipped(settings, tuple(problems)))
    with output_errors(out):  # before anything is spent
        out.mkdir(parents=True, exist_ok=True)
    found = _searched(settings, bank, problems, taking, options)
    from llm_as_judge.evaluation.search.written import write_found

    write_found(found, out, settings.reward.budget)
    _show(found)
    console.print(f"programs and report.json in {out}", markup=False, highlight=False)


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


def _rows(settings: Config, split: str, rows: int) -> dict[Domain, list[Problem]]:
    """The first of each domain, in the order of the mix; says where there are fewer."""
    from llm_as_judge.assembly import problem_file

    if split not in ("val", "train"):
        raise ConfigError(f"--split {split!r}: wanted val or train; nothing is chosen on test rows")
    path = settings.data.val_file if split == "val" else settings.data.train_file
    file = problem_file(path)
    problems: dict[Domain, list[Problem]] = {}
    known: set[str] = set()
    for problem in file:
        chosen = problems.setdefault(problem.domain, [])
        if len(chosen) < rows and problem.id not in known:
            known.add(problem.id)
            chosen.append(problem)
        if len(known) == rows * len(set(file.domains)):
            break
    for domain, chosen in problems.items():
        if len(chosen) < rows:
            _say(f"{domain}: {len(chosen)} rows, not {rows}: {path} has no more")
    return problems


def _searched(
    settings: Config,
    folder: Path,
    problems: dict[Domain, list[Problem]],
    programs: Programs,
    options: SearchOptions,
) -> Found:
    from llm_as_judge.assembly import open_workbench
    from llm_as_judge.evaluation.search.cells import BankRunner, conditions, program_runner
    from llm_as_judge.evaluation.search.run import View
    from llm_as_judge.evaluation.search.run import search as run_search
    from llm_as_judge.runs.bank import Bank

    async def job(bank: Bank) -> Found:
        async with open_workbench(settings) as bench:
            at_once = settings.workflow.concurrency
            runner = BankRunner(bank, program_runner(bench), at_once)
            view = View(_show_rung, _show_program)
            return await run_search(bench, runner, problems, programs, options, view)

    with (
        Bank.writing(folder, conditions(settings)) as bank,
        stoppable(f"finished runs are kept in {folder}: the same command goes on") as work,
    ):
        return work.run(job(bank))


# ------------------------------------------------------------------------------------------ showing
def _say(line: str) -> None:
    status_console.print(line, markup=False, highlight=False, soft_wrap=True)


def _show_rung(domain: Domain, rung: Rung) -> None:
    _say(
        f"{domain}: {rung.programs} programs on {rung.problems} problems"
        + (f" at {rung.draws} draws" if rung.draws > 1 else "")
    )


def _show_program(program: BankProgram, share: float) -> None:
    _say(f"{program.domain}: {share:.0%} right, {program.name} ({program.origin})")


def _show(found: Found) -> None:
    head = ["scope", "of", "budget", "program", "right, % [95 %]", "cost", "flattered, %"]
    rows = [
        [
            choice.scope,
            choice.of,
            choice.budget,
            choice.name,
            _right(choice.crossed),
            f"{choice.crossed.cost:.0f}" if choice.crossed.problems else "-",
            f"{100 * choice.flattered.right:.1f}",
        ]
        for choice in found.choices
    ]
    show_table("Best fixed programs", head, rows, False)
    console.print(
        "right and cost are crossed: the search was done again without a fifth of the problems, and "
        "what it chose was scored on them, five times. The flattered share is of the rows that the "
        "program was chosen on.",
        soft_wrap=True,
    )
    console.print(
        f"{found.search_runs} runs, cost {found.search_cost:.0f} written tokens; the crossed figures "
        f"took {found.measuring_cost:.0f}",
        highlight=False,
        soft_wrap=True,
    )


def _right(score: Score) -> str:
    if not score.problems:
        return "-"
    return f"{100 * score.right:.1f} [{100 * score.low:.0f}, {100 * score.high:.0f}]"
