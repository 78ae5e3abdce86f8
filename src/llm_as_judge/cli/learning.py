"""train, evaluate: runs that need the policy."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from llm_as_judge.cli.options import (
    ConfigOption,
    DataDirOption,
    DeviceOption,
    ExecutorOption,
    JsonOption,
    ModelOption,
    SeedOption,
    SetOption,
    console,
    status_console,
    warn_of_judges,
)
from llm_as_judge.config import Config, load_config
from llm_as_judge.monitoring.judges import judges_of
from llm_as_judge.monitoring.live import ProgressView, results_table, step_table
from llm_as_judge.monitoring.runlog import read_steps


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge train --config embedded --set training.steps=20")(
        train
    )
    app.command(epilog="Example: llm-as-judge evaluate --config embedded --untrained")(evaluate)


def train(
    config: ConfigOption = None,
    model: ModelOption = None,
    device: DeviceOption = None,
    seed: SeedOption = None,
    steps: Annotated[int | None, typer.Option("--steps", help="Updates in the run.")] = None,
    executor: ExecutorOption = None,
    data_dir: DataDirOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the model's latest checkpoint.")
    ] = False,
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", help="Folder of metrics and rollouts.")
    ] = None,
    force_unaudited_judge: Annotated[
        bool,
        typer.Option(
            "--force-unaudited-judge",
            help="Train though the judge has no passing audit; run and checkpoints say so.",
        ),
    ] = False,
    set_: SetOption = None,
) -> None:
    """Train the policy by GRPO; checkpoints in checkpoints/MODEL/grpo_mixed/step_N."""
    settings = _settings(config, model, device, seed, executor, data_dir, steps, set_)
    from llm_as_judge.training.preflight import check_before_training

    check_before_training(settings, run_dir=run_dir, resume=resume)  # before torch is loaded
    from llm_as_judge.training.trainer import GRPOTrainer

    per_step = settings.training.problems_per_step * settings.training.samples_per_problem
    with ProgressView(console, per_step, settings.training.steps) as view:
        trainer = GRPOTrainer(
            config=settings,
            run_dir=run_dir,
            resume=resume,
            force_unaudited_judge=force_unaudited_judge,
            view=view,
        )
        result = asyncio.run(trainer.train())
    console.print(step_table(read_steps(result.run_dir), title="training"))
    console.print(f"run directory  {result.run_dir}", highlight=False)
    console.print(f"checkpoint     {result.checkpoint}", highlight=False)
    warn_of_judges(judges_of(result.run_dir))


def evaluate(
    config: ConfigOption = None,
    model: ModelOption = None,
    device: DeviceOption = None,
    seed: SeedOption = None,
    executor: ExecutorOption = None,
    data_dir: DataDirOption = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="Adapter folder; default: the model's latest."),
    ] = None,
    untrained: Annotated[
        bool, typer.Option("--untrained", help="The base model without an adapter.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Problems of each set (a seeded sample).")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Results go to NAME_results.json; default MODEL.")
    ] = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Accuracy of a policy on the held-out test files, with intervals."""
    settings = _settings(config, model, device, seed, executor, data_dir, None, set_, limit=limit)
    from llm_as_judge.build import open_system
    from llm_as_judge.errors import ModelError
    from llm_as_judge.evaluation.evaluate import (
        evaluate as run_evaluation,
    )
    from llm_as_judge.evaluation.evaluate import (
        read_results,
        test_problems,
        write_results,
    )
    from llm_as_judge.policy.checkpoint import latest_checkpoint

    root = settings.output.checkpoints / settings.policy.name / "grpo_mixed"
    adapter = None if untrained else checkpoint or latest_checkpoint(root)
    if adapter is None and not untrained:
        raise ModelError(f"{root}: no checkpoint; train first, or evaluate --untrained")
    count = sum(len(problems) for problems, _ in test_problems(settings).values())

    async def job(view: ProgressView) -> Path:
        async with open_system(settings, adapter=adapter) as system:
            result = await run_evaluation(settings, system, on_rollout=view.rollout)
        label = name or settings.policy.name + ("_untrained" if untrained else "")
        return write_results(result, settings, adapter, label)

    with ProgressView(status_console, count) as view:
        path = asyncio.run(job(view))
    data = read_results(path)
    if as_json:
        print(json.dumps(data))  # noqa: T201
        return
    console.print(results_table({"untrained" if untrained else str(adapter): data}))
    console.print(f"results  {path}", highlight=False)
    warn_of_judges(data["judges"])


def _settings(
    config: str | None,
    model: str | None,
    device: str | None,
    seed: int | None,
    executor: str | None,
    data_dir: Path | None,
    steps: int | None,
    overrides: list[str] | None,
    limit: int | None = None,
) -> Config:
    flags: dict[str, Any] = {
        "policy.device": device,
        "training.seed": seed,
        "training.steps": steps,
        "executor.model": executor,
        "evaluation.limit_per_set": limit,
        "data.data_dir": data_dir,
    }
    if data_dir is not None:
        flags["data.train_file"] = data_dir / "mixed" / "train_mixed.jsonl"
        flags["data.val_file"] = data_dir / "mixed" / "val_mixed.jsonl"
    return load_config(config, model=model, overrides=overrides or (), flags=flags)
