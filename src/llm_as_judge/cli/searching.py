"""search: the best fixed program, over a bank of what programs do on problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llm_as_judge.cli.bank_runs import say_estimate, searched, show_found, vectors_of
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
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.cli.verbs import verb
from llm_as_judge.errors import ConfigError
from llm_as_judge.files import output_errors
from llm_as_judge.types import DOMAINS, Domain, Problem

if TYPE_CHECKING:
    from llm_as_judge.config import Config
    from llm_as_judge.evaluation.search.programs import Programs

OUT = Path("results/searched")


@verb("Example: llm-as-judge search --config embedded --rows 12 --count 12")
def search(
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the programs and report.json.")
    ] = OUT,
    bank: BankOption = BANK,
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
            min=0,
            help="Programs of each domain; shipped and given ones always take part. 0: those of --programs "
            "and --policy alone.",
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
    from llm_as_judge.evaluation.search.programs import given, sampled, shipped, together
    from llm_as_judge.evaluation.search.run import SearchOptions, check_options, usual_draws
    from llm_as_judge.evaluation.search.written import write_found

    settings = settings_of(config, set_, executor=executor, data_dir=data_dir, seed=seed)
    options = SearchOptions(
        count, usual_draws(settings) if draws is None else draws, cost, settings.training.seed
    )
    check_options(options, settings)
    problems = _rows(settings, split, rows, bank)
    own = given(programs, settings, DOMAINS) if programs is not None else {}
    written: Programs = {}
    if policy is not None:
        rows_of_all = [row for found in problems.values() for row in found]
        with stoppable("") as work:
            written = work.run(sampled(policy, settings, rows_of_all))
    others = shipped(settings, tuple(problems)) if count else {}
    taking = together(own, others, written)
    if without := [domain for domain in problems if not taking.get(domain)]:
        raise ConfigError(
            f"--count 0: neither --programs nor --policy has a program of {', '.join(without)}; add one, or give "
            "--count 1 for the shipped ones"
        )
    with output_errors(out):  # before anything is spent
        out.mkdir(parents=True, exist_ok=True)
    vectors = vectors_of(settings, [row for rows in problems.values() for row in rows])
    say_estimate(settings, problems, taking, options, bank)
    with searched(settings, bank, problems, taking, options) as (found, filled):
        room = audit_of_search(found, filled, options.draws, vectors)
        reach = (
            audit_of_search(found, filled, options.draws, vectors, open_right=True)
            if found.not_graded
            else None
        )
        write_found(found, out, settings.reward.one_budget, room)
    show_found(found)
    for line in room.lines() if room is not None else []:
        say(line)
    if room is not None and reach is not None:
        say(room.if_open_right(reach, "each domain"))
    say(f"programs and report.json in {out}")


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
