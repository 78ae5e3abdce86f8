"""judge train, judge calibrate: a scoring judge of one's own."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from llm_as_judge.cli.options import (
    ConfigOption,
    DeviceOption,
    ModelOption,
    SeedOption,
    console,
    progress_bar,
    settings_of,
    status_console,
)

judge = typer.Typer(no_args_is_help=True, help="Train and calibrate a judge of your own.")

LabeledOption = Annotated[
    list[Path],
    typer.Option(
        "--labeled",
        metavar="FILE",
        help="JSONL of `grade` rows with `correct`; rows without candidate and `correct` give made "
        "answers alone. May be given again.",
    ),
]
PrecisionOption = Annotated[
    float,
    typer.Option(
        "--precision", min=0.5, max=0.999, help="Least lower bound of what it accepts and rejects."
    ),
]


def register(app: typer.Typer) -> None:
    app.add_typer(judge, name="judge")


@judge.command(epilog="Example: llm-as-judge judge train --labeled rows.jsonl --out judges/mine")
def train(
    labeled: LabeledOption,
    out: Annotated[Path, typer.Option("--out", help="Folder of the judge.")],
    model: ModelOption = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=40, help="Examples to learn from at most.")
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option("--layers", min=1, help="Of the base model from the bottom; default all."),
    ] = None,
    rank: Annotated[int, typer.Option("--rank", min=1, help="Of the adapter.")] = 16,
    learning_rate: Annotated[float, typer.Option("--learning-rate", min=0.0)] = 3e-4,
    epochs: Annotated[int, typer.Option("--epochs", min=1)] = 1,
    precision: PrecisionOption = 0.97,
    seed: SeedOption = None,
    device: DeviceOption = None,
    config: ConfigOption = None,
) -> None:
    """Train a scoring judge on labeled rows, then choose its thresholds on questions kept apart.

    A broken off training goes on where it stopped when it is started again.
    """
    from llm_as_judge.assembly import model_weights
    from llm_as_judge.training.judge.learner import JudgeLearner, LearnOptions, StepReport
    from llm_as_judge.training.judge.making import Place, train_judge
    from llm_as_judge.training.judge.rows import Sets

    settings = settings_of(config, None, model=model, device=device, seed=seed)
    options = LearnOptions(
        seed=settings.training.seed,
        rank=rank,
        layers=layers,
        learning_rate=learning_rate,
        epochs=epochs,
    )
    out.mkdir(parents=True, exist_ok=True)
    weights = model_weights(settings, settings.policy.name, "--model")
    place = Place(out, settings.policy.name, weights, settings.policy.device)

    def begun(sets: Sets, learner: JudgeLearner) -> None:
        for name, count in sets.counts.items():
            status_console.print(f"{count:7} {name}", highlight=False)
        _say(f"{learner.tokens} tokens in {learner.steps} steps, {learner.step} done")

    def told(report: StepReport) -> None:
        left = timedelta(seconds=round(report.left_s))
        _say(
            f"step {report.step}/{report.steps}  loss {report.loss:.3f}  right {report.right:.2f}  "
            f"{report.tokens / report.seconds:.0f} tokens/s  {left} left"
        )

    with progress_bar() as show:
        made = asyncio.run(
            train_judge(
                place,
                labeled,
                options,
                limit=limit,
                precision=precision,
                begun=begun,
                told=told,
                scoring=lambda done, total: show("scoring", done, total),
            )
        )
    _say_thresholds(made.thresholds, out)


@judge.command(
    epilog="Example: llm-as-judge judge calibrate --judge judges/mine --labeled others.jsonl"
)
def calibrate(
    folder: Annotated[Path, typer.Option("--judge", help="Folder of the judge.")],
    labeled: LabeledOption,
    precision: PrecisionOption = 0.97,
    device: DeviceOption = None,
    config: ConfigOption = None,
) -> None:
    """Choose the thresholds of a judge anew, on rows of questions that it has not learned from."""
    from llm_as_judge.assembly import model_weights
    from llm_as_judge.judge.judge_file import read_judge_file
    from llm_as_judge.training.judge.making import Place, calibrate_on_rows

    made = read_judge_file(folder)
    settings = settings_of(config, None, model=made.base, device=device)
    weights = model_weights(settings, made.base, "--judge")
    place = Place(folder, made.base, weights, settings.policy.device)
    with progress_bar() as show:
        made = asyncio.run(
            calibrate_on_rows(
                place,
                labeled,
                precision=precision,
                scoring=lambda done, total: show("scoring", done, total),
            )
        )
    _say_thresholds(made.thresholds, folder)


def _say(line: str) -> None:
    status_console.print(line, highlight=False)


def _say_thresholds(thresholds: object, folder: Path) -> None:
    from llm_as_judge.judge.calibration import Thresholds

    assert isinstance(thresholds, dict)
    for domain, limits in thresholds.items():
        assert isinstance(limits, Thresholds)
        accept = "never" if limits.accept is None else f"from {limits.accept:.2f}"
        reject = "never" if limits.reject is None else f"to {limits.reject:.2f}"
        console.print(
            f"{domain}: accepts {accept}, rejects {reject}, chosen on {limits.rows} answers",
            highlight=False,
        )
    console.print(f"judge  {folder}", highlight=False)
