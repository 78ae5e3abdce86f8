"""plan: what some number of GPUs would do in an hour, and what it would cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from llm_as_judge.cli.options import ConfigOption, JsonOption, SetOption, console
from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge plan logs/RUN --gpus 8,64 --cost gpu_usd_h=1.9")(plan)


def plan(
    run_dir: Annotated[
        Path | None,
        typer.Argument(help="A run whose rollouts are measured; without one they are assumed."),
    ] = None,
    gpus: Annotated[str, typer.Option("--gpus", help="Numbers of GPUs.")] = "1,8,64,512",
    speeds: Annotated[
        bool, typer.Option("--speeds", help="Speeds too are those of the run's machine.")
    ] = False,
    cost: Annotated[
        list[str] | None,
        typer.Option("--cost", help="A speed or price, NAME=NUMBER; the output lists all names."),
    ] = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    problems: Annotated[
        int | None,
        typer.Option("--problems", min=1, help="Of a step; default: more for more GPUs."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate training on 1, 8, 64, 512 GPUs: rollouts an hour, dollars, what is the limit."""
    from llm_as_judge.planning import capacity as tables
    from llm_as_judge.planning.costs import (
        Costs,
        assumed_workload,
        measured_workload,
        with_given,
    )
    from llm_as_judge.planning.speeds import measured_speeds, rollouts_an_hour

    training = load_config(config, overrides=set_ or ()).training
    if speeds and run_dir is None:
        raise ConfigError("--speeds: whose? give the folder of a run: llm-as-judge plan logs/RUN")
    costs = measured_speeds(run_dir, Costs()) if speeds and run_dir else Costs()
    costs = with_given(costs, cost or ())
    workload = measured_workload(run_dir) if run_dir else assumed_workload()
    rows = tables.capacity(
        costs,
        workload,
        _numbers(gpus),
        problems=training.problems_per_step,
        fixed=problems,
        samples=training.samples_per_problem,
        staleness=training.max_staleness,
    )
    if as_json:
        print(json.dumps(tables.as_json(costs, workload, rows)))  # noqa: T201
        return
    print(tables.as_markdown(rows))  # noqa: T201 - to be put into a document
    console.print("\nfrom these figures (--cost NAME=NUMBER changes one):", highlight=False)
    for figure, meaning, source in tables.assumptions(costs, workload):
        console.print(f"{source:9} {figure:34} {meaning}", highlight=False, markup=False)
    if run_dir and (itself := rollouts_an_hour(run_dir)):
        console.print(
            f"measured  {itself:<34,.0f} rollouts an hour of the run itself", highlight=False
        )
    least = (
        f"at least {training.problems_per_step} problems (more where machines would stand idle: "
    )
    step = (
        f"{problems} problems"
        if problems
        else f"{least}{tables.PROBLEMS_PER_GPU} a GPU, at most {tables.MOST_PROBLEMS:,})"
    )
    console.print(
        f"steps of {step} x {training.samples_per_problem} programs, "
        f"{training.max_staleness} steps ahead; failures, checkpoints and evaluations are left out",
        highlight=False,
        soft_wrap=True,
    )


_MOST_SIZES = 16


def _numbers(text: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(1 <= count <= 4096 for count in found):
        raise ConfigError(f"--gpus {text!r}: wanted whole numbers of 1 to 4096, as in 1,8,64")
    if len(found) > _MOST_SIZES:
        raise ConfigError(f"--gpus: {len(found):,} numbers, wanted at most {_MOST_SIZES} at a time")
    return found
