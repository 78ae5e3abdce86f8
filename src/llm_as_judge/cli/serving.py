"""solve: one problem; every stage shown as it ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from llm_as_judge.cli.options import (
    ConfigOption,
    DeviceOption,
    ExecutorOption,
    JsonOption,
    ModelOption,
    SeedOption,
    SetOption,
    console,
)
from llm_as_judge.cli.programs import DomainOption, wanted_domain, wanted_problem
from llm_as_judge.config import load_config
from llm_as_judge.types import to_json


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge solve --config embedded --problem '17 * 3?'")(solve)


def solve(
    problem: Annotated[str | None, typer.Option("--problem", help="Text of the problem.")] = None,
    problem_file: Annotated[
        Path | None, typer.Option("--problem-file", help="File with the text of the problem.")
    ] = None,
    domain: DomainOption = "qa",
    entry_point: Annotated[
        str, typer.Option("--entry-point", help="Code: name of the function to write.")
    ] = "",
    reference: Annotated[
        list[str] | None, typer.Option("--reference", help="A gold answer: also print a verdict.")
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", help="untrained, a checkpoint folder, or a program FILE.py.")
    ] = "untrained",
    config: ConfigOption = None,
    model: ModelOption = None,
    device: DeviceOption = None,
    executor: ExecutorOption = None,
    seed: SeedOption = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """One problem, every stage shown: prompt, program, calls, answer, verdict."""
    from llm_as_judge.serving.solve import solve as run_solve

    settings = load_config(
        config,
        model=model,
        overrides=set_ or (),
        flags={"policy.device": device, "executor.model": executor, "training.seed": seed},
    )
    task = wanted_problem(
        problem, problem_file, wanted_domain(domain), entry_point, tuple(reference or ())
    )

    def show(stage: str, value: Any) -> None:
        if as_json:
            print(json.dumps({"stage": stage, "value": to_json(value)}), flush=True)  # noqa: T201
            return
        console.rule(stage)
        text = value if isinstance(value, str) else json.dumps(to_json(value), indent=2)
        console.print(text, markup=False, highlight=False)

    asyncio.run(run_solve(settings, task, policy, show, graded=bool(reference)))
