"""search: the best instruction or the best fixed program of each domain, searched on validation rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
)
from llm_as_judge.cli.stopping import Stopped, stoppable
from llm_as_judge.errors import ConfigError
from llm_as_judge.files import output_errors, write_text
from llm_as_judge.types import Domain, Problem, to_json

if TYPE_CHECKING:
    from llm_as_judge.config import Config
    from llm_as_judge.evaluation.best_program import Choice, Tried
    from llm_as_judge.evaluation.search import Candidate, Search

ROUNDS = 3
"""Of a search for an instruction."""


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge search --config embedded --rows 6 --rounds 2")(search)


def search(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder of the programs and report.json. Default: results/searched, "
            "with --programs results/best_program.",
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", min=1, help="Validation problems of each domain.")
    ] = 12,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", min=0, help="Instructions the executor proposes. Default: 3."),
    ] = None,
    programs: Annotated[
        Path | None,
        typer.Option(
            "--programs",
            help="Search the best whole program instead: among those of this folder, which `export "
            "programs` makes of a run, and the shipped workflows.",
        ),
    ] = None,
    config: ConfigOption = None,
    executor: ExecutorOption = None,
    data_dir: DataDirOption = None,
    seed: SeedOption = None,
    set_: SetOption = None,
) -> None:
    """Search the best single instruction of each domain, or with --programs the best program; then:
    evaluate --policy OUT."""
    from llm_as_judge.assembly import open_workbench
    from llm_as_judge.evaluation.best_program import candidates, choose
    from llm_as_judge.evaluation.search import search_domains as run_search

    if programs is not None and rounds is not None:
        raise ConfigError("--rounds: with --programs nothing is proposed; give one of the two")
    settings = settings_of(config, set_, executor=executor, data_dir=data_dir, seed=seed)
    given = candidates(programs, settings) if programs is not None else None
    out = out or Path("results") / ("searched" if given is None else "best_program")
    problems = _validation_rows(settings, rows)
    with output_errors(out):  # before anything is spent
        out.mkdir(parents=True, exist_ok=True)
    done: list[Search | Choice] = []

    async def job() -> Sequence[Search | Choice]:
        async with open_workbench(settings) as bench:
            if given is not None:
                return await choose(bench, problems, given, out, _show_program, done.append)
            number = ROUNDS if rounds is None else rounds
            return await run_search(bench, problems, number, out, _show, done.append)

    try:
        with stoppable("") as work:
            found = work.run(job())
    except Stopped as stop:
        stop.kept = _kept(done, out, settings.calls.mode)
        raise
    write_text(out / "report.json", json.dumps(to_json(found), indent=1) + "\n")
    spent = sum(one.tokens_spent for one in found)
    console.print(f"{spent} tokens spent; programs and report.json in {out}", highlight=False)


def _validation_rows(settings: Config, rows: int) -> dict[Domain, list[Problem]]:
    """The first of each domain; says where there are fewer."""
    from llm_as_judge.assembly import problem_file

    problems: dict[Domain, list[Problem]] = {}
    for problem in problem_file(settings.data.val_file):
        chosen = problems.setdefault(problem.domain, [])
        if len(chosen) < rows and problem not in chosen:
            chosen.append(problem)
    for domain, chosen in problems.items():
        if len(chosen) < rows:
            console.print(
                f"{domain}: {len(chosen)} validation rows, not {rows}: {settings.data.val_file} has "
                "no more",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    return problems


def _kept(done: Sequence[Search | Choice], out: Path, mode: str) -> str:
    """What a search that was stopped leaves, and how it goes on."""
    whole = ", ".join(str(out / f"{one.domain}.py") for one in done)
    kept = f"searched to the end and kept: {whole}" if done else "no domain was searched to the end"
    if mode == "cache":
        return f"{kept}; the same command finds the executor's replies again"
    return f"{kept}; with --set calls.mode=cache a search finds the replies of an earlier one again"


def _show(candidate: Candidate) -> None:
    _show_score(candidate, f"{candidate.origin}: {candidate.instruction or '(no instruction)'}")


def _show_program(tried: Tried) -> None:
    _show_score(tried, tried.source)


def _show_score(found: Candidate | Tried, what: str) -> None:
    line = f"{found.correct} of {found.problems} right, {found.tokens:.0f} tokens a problem, {what}"
    console.print(line, markup=False, highlight=False, soft_wrap=True)
