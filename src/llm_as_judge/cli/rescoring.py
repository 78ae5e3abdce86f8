"""rescore: rewards of a run's rollouts under other weights."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from llm_as_judge.cli.options import JsonOption, SetOption, console
from llm_as_judge.config import load_config


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge rescore logs/train_NAME --set reward.scheme=gated")(
        rescore
    )


def rescore(
    run_dir: Annotated[Path, typer.Argument(help="Run folder with rollouts.jsonl.")],
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rewards of a run's rollouts under other weights, in rescored.jsonl; nothing is run again."""
    from llm_as_judge.evaluation.rescore import rescore as run_rescore
    from llm_as_judge.reward import RewardOptions

    settings = load_config(run_dir / "config.yaml", overrides=set_ or ())
    steps = run_rescore(run_dir, RewardOptions(**settings.reward.model_dump()))
    if as_json:
        print(json.dumps([asdict(step) for step in steps]))  # noqa: T201
        return
    table = Table(box=None)
    for heading in ("step", "scored", "reward before", "after", "pairs in another order"):
        table.add_column(heading, justify="right")
    for step in steps:
        table.add_row(
            str(step.step),
            str(step.scored),
            f"{step.before:+.3f}",
            f"{step.after:+.3f}",
            f"{step.reordered:.0%}",
        )
    console.print(table)
    console.print(f"rollouts  {run_dir / 'rescored.jsonl'}", highlight=False)
