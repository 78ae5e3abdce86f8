"""optimise: one instruction per domain, searched on validation rows; the prompt-only baseline."""

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
from llm_as_judge.files import output_errors, write_text
from llm_as_judge.types import Domain, Problem, to_json

if TYPE_CHECKING:
    from llm_as_judge.evaluation.optimise import Candidate, Search


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge optimise --config embedded --rows 6 --rounds 2")(
        optimise
    )


def optimise(
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the programs and report.json.")
    ] = Path("results/optimised"),
    rows: Annotated[
        int, typer.Option("--rows", min=1, help="Validation problems of each domain.")
    ] = 12,
    rounds: Annotated[
        int, typer.Option("--rounds", min=0, help="Instructions the executor proposes.")
    ] = 3,
    config: ConfigOption = None,
    executor: ExecutorOption = None,
    data_dir: DataDirOption = None,
    seed: SeedOption = None,
    set_: SetOption = None,
) -> None:
    """Search the best single instruction of each domain; then: evaluate --policy OUT."""
    from llm_as_judge.build import open_workbench, problem_file
    from llm_as_judge.evaluation.optimise import optimise as run_search

    settings = settings_of(config, set_, executor=executor, data_dir=data_dir, seed=seed)
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

    with output_errors(out):  # before anything is spent
        out.mkdir(parents=True, exist_ok=True)
    done: list[Search] = []

    async def job() -> list[Search]:
        async with open_workbench(settings) as bench:
            return await run_search(bench, problems, rounds, out, _show, done.append)

    try:
        with stoppable("") as work:
            found = work.run(job())
    except Stopped as stop:
        stop.kept = _kept(done, out, settings.calls.mode)
        raise
    write_text(out / "report.json", json.dumps(to_json(found), indent=1) + "\n")
    spent = sum(one.tokens_spent for one in found)
    console.print(f"{spent} tokens spent; programs and report.json in {out}", highlight=False)


def _kept(done: Sequence[Search], out: Path, mode: str) -> str:
    """What a search that was stopped leaves, and how it goes on."""
    whole = ", ".join(str(out / f"{one.domain}.py") for one in done)
    kept = f"searched to the end and kept: {whole}" if done else "no domain was searched to the end"
    if mode == "cache":
        return f"{kept}; the same command finds the executor's replies again"
    return f"{kept}; with --set calls.mode=cache a search finds the replies of an earlier one again"


def _show(candidate: Candidate) -> None:
    line = (
        f"{candidate.correct} of {candidate.problems} right, {candidate.tokens:.0f} tokens a "
        f"problem, {candidate.origin}: {candidate.instruction or '(no instruction)'}"
    )
    console.print(line, markup=False, highlight=False, soft_wrap=True)
