"""report, monitor: what a run and its results look like."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from llm_as_judge.cli.options import (
    ConfigOption,
    ModelOption,
    console,
    note,
    say,
    warn_of_judges,
)
from llm_as_judge.cli.verbs import verb
from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.runs.judges import judges_of
from llm_as_judge.runs.rundir import read_run, require_run
from llm_as_judge.runs.runlog import newest_run, read_steps
from llm_as_judge.views.keyboard import Keys
from llm_as_judge.views.live import results_table, smallness, step_markdown, step_table
from llm_as_judge.views.screen import HELP, KEYS, look, read_tail

_MAKES = {"before": "evaluate --untrained", "after": "evaluate"}
"""The verb that makes the results of before and after training."""


@verb("Example: llm-as-judge report before_results.json after_results.json")
def report(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Results files to compare. Default: those before and after the run, else all."
        ),
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", help="Also print the steps of this run.")
    ] = None,
    config: ConfigOption = None,
    model: ModelOption = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the steps as a Markdown table.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write one page with curves, results and all rollouts."),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option("--audit", help="With --html: also show this report of `judge audit`."),
    ] = None,
) -> None:
    """Compare results and show the steps of a run, as text or as one HTML page."""
    from llm_as_judge.evaluation.before_after import told_apart
    from llm_as_judge.evaluation.layout import read_results

    if html is not None:
        _write_page(html, run_dir, results or (), audit, config)
        return
    if run_dir is not None:
        require_run(run_dir)
        steps = read_steps(run_dir)
        if markdown:
            print(step_markdown(steps))  # noqa: T201
        else:
            console.print(step_table(steps, title=str(run_dir)))
        warn_of_judges(judges_of(run_dir))
    files = _files(run_dir, results or (), config, model)
    if files and not markdown:
        if said := told_apart(files):
            say(said)
        found = {name: read_results(path) for name, path in files.items()}
        console.print(results_table(found))
        if few := smallness(found):
            say(few)
        for data in found.values():
            warn_of_judges(data.judges)


def _write_page(
    html: Path,
    run_dir: Path | None,
    results: Sequence[Path],
    audit: Path | None,
    config: str | None,
) -> None:
    from llm_as_judge.evaluation.before_after import told_apart
    from llm_as_judge.evaluation.layout import read_results
    from llm_as_judge.views.report import Sources, write_report

    if run_dir is None and not results:
        run_dir = newest_run(load_config(config).output.logs)
    files = _files(run_dir, results, config, None)
    read = {name: read_results(path) for name, path in files.items()}
    audited = _audit(audit) if audit else None
    write_report(Sources(run_dir, read, audited, told_apart(files)), html)
    say(f"page  {html} ({html.stat().st_size / 1e6:.1f} MB)")


def _audit(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise DataError(
            f"{path}: not JSON: {error}; wanted a report of: llm-as-judge judge audit"
        ) from None
    if not isinstance(data, dict) or "bars" not in data:
        raise DataError(f'{path}: no "bars"; wanted a report of: llm-as-judge judge audit')
    return data


def _files(
    run_dir: Path | None, results: Sequence[Path], config: str | None, model: str | None
) -> dict[str, Path]:
    """Results by their heading: those named; else before and after of the run, where it was evaluated;
    else those of the configured policy, or where one of these is missing all that are there.

    Raises:
        DataError: none is there.
    """
    from llm_as_judge.evaluation.before_after import AFTER, BEFORE, evaluations_of
    from llm_as_judge.evaluation.layout import RESULTS_SUFFIX, heading

    if results:
        return {heading(path): path for path in results}
    if run_dir is not None:
        return evaluations_of(run_dir)
    settings = load_config(config, model=model)
    folder, name = settings.output.results / "evaluation", settings.policy.label
    pair = {
        BEFORE: folder / f"{name}_untrained_results.json",
        AFTER: folder / f"{name}_results.json",
    }
    missing = [when for when, path in pair.items() if not path.is_file()]
    if not missing:
        return pair
    there = {heading(path): path for path in sorted(folder.glob(f"*{RESULTS_SUFFIX}"))}
    lines = [
        f"no results of {name} {when} training; run: llm-as-judge {_MAKES[when]}"
        for when in missing
    ]
    if not there:
        raise DataError(f"{folder}: {'; '.join(lines)}")
    for line in lines:
        note(line)
    return there


@verb("Example: llm-as-judge monitor --once")
def monitor(
    run_dir: Annotated[
        Path | None, typer.Argument(help="Run folder. Default: the newest under logs/.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print all steps once and stop.")] = False,
    domain: Annotated[
        str, typer.Option("--domain", help="all, math, qa or code; the keys a m t c switch it.")
    ] = "all",
    every_s: Annotated[
        float, typer.Option("--every", min=0.1, help="Seconds between two readings.")
    ] = 5.0,
    config: ConfigOption = None,
) -> None:
    """Watch a run live: accuracy, reward, newest programs, warnings with advice."""
    if domain not in KEYS.values():
        raise ConfigError(f"--domain {domain!r}: wanted {', '.join(KEYS.values())}")
    folder = run_dir or newest_run(load_config(config).output.logs)
    warn_of_judges(judges_of(folder))

    def view(steps: int) -> RenderableType:
        run = read_run(folder)
        return look(run, read_tail(run, domain), domain=domain, now=time.time(), steps=steps)

    if once:
        console.print(view(0))
        return
    with (
        Keys() as keys,
        Live(console=console, auto_refresh=False, screen=console.is_terminal) as live,
    ):
        while True:
            live.update(Group(view(8), Text(HELP, style="dim")), refresh=True)
            key = keys.wait(every_s)
            if key == "q":
                return
            domain = KEYS.get(key or "", domain)
