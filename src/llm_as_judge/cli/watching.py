"""report, monitor: what a run and its results look like."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from llm_as_judge.cli.options import ConfigOption, ModelOption, console, warn_of_judges
from llm_as_judge.config import load_config
from llm_as_judge.monitoring.judges import judges_of
from llm_as_judge.monitoring.live import results_table, step_markdown, step_table
from llm_as_judge.monitoring.runlog import newest_run, read_steps


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge report before_results.json after_results.json")(
        report
    )
    app.command(epilog="Example: llm-as-judge monitor --once")(monitor)


def report(
    results: Annotated[
        list[Path] | None,
        typer.Argument(help="Results files to set side by side; default: before and after."),
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", help="Also print this run's steps.")
    ] = None,
    config: ConfigOption = None,
    model: ModelOption = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Steps as a Markdown table.")
    ] = False,
) -> None:
    """Results side by side, and the steps of a run."""
    from llm_as_judge.evaluation.layout import read_results

    if run_dir is not None:
        steps = read_steps(run_dir)
        if markdown:
            print(step_markdown(steps))  # noqa: T201
        else:
            console.print(step_table(steps, title=str(run_dir)))
        warn_of_judges(judges_of(run_dir))
    if results or run_dir is None:
        headed = _headed(results, config, model, read_results)
        console.print(results_table(headed))
        for data in headed.values():
            warn_of_judges(data.get("judges", []))


def _headed(
    results: list[Path] | None, config: str | None, model: str | None, read: Any
) -> dict[str, Any]:
    if results:
        return {path.name.removesuffix("_results.json"): read(path) for path in results}
    settings = load_config(config, model=model)
    folder, name = settings.output.results / "evaluation", settings.policy.name
    return {
        "before": read(folder / f"{name}_untrained_results.json"),
        "after": read(folder / f"{name}_results.json"),
    }


def monitor(
    run_dir: Annotated[
        Path | None, typer.Argument(help="Run folder; default: the newest under logs/.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print the table and end.")] = False,
    every_s: Annotated[float, typer.Option("--every", help="Seconds between looks.")] = 5.0,
    config: ConfigOption = None,
) -> None:
    """The steps of a run, also of one that is going on elsewhere."""
    folder = run_dir or newest_run(load_config(config).output.logs)
    warn_of_judges(judges_of(folder))
    if once:
        console.print(step_table(read_steps(folder), title=str(folder)))
        return
    from rich.live import Live

    with Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(step_table(read_steps(folder)[-20:], title=str(folder)), refresh=True)
            time.sleep(every_s)
