"""report: results and the steps of a run, as text or as one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm_as_judge.cli.asking import Asked
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.before_after import AFTER, BEFORE, evaluations_of, pair_verdict
from llm_as_judge.evaluation.layout import RESULTS_SUFFIX, heading, read_results
from llm_as_judge.evaluation.pages import page_of
from llm_as_judge.runs.judges import judges_of
from llm_as_judge.runs.rundir import require_run
from llm_as_judge.runs.runlog import newest_run, read_steps
from llm_as_judge.views.console import console, note, say, warn_of_judges
from llm_as_judge.views.live import results_table, smallness, step_table
from llm_as_judge.views.report import write_report

_MAKES = {"before": "evaluate --untrained", "after": "evaluate"}
"""The verb that makes the results of before and after training."""


def report(
    asked: Asked, *, results: list[Path] | None, run_dir: Path | None, html: Path | None
) -> None:
    if html is not None:
        if run_dir is None and not results:
            run_dir = newest_run(asked.settings().output.logs)
        write_report(page_of(_files(run_dir, results or (), asked), run_dir), html)
        say(f"page  {html} ({html.stat().st_size / 1e6:.1f} MB)")
        return
    if run_dir is not None:
        require_run(run_dir)
        steps = read_steps(run_dir)
        console.print(step_table(steps, title=str(run_dir)))
        warn_of_judges(judges_of(run_dir))
    files = _files(run_dir, results or (), asked)
    if files:
        if said := pair_verdict(files):
            say(said)
        found = {name: read_results(path) for name, path in files.items()}
        console.print(results_table(found))
        if few := smallness(found):
            say(few)
        for data in found.values():
            warn_of_judges(data.judges)


def _files(run_dir: Path | None, results: Sequence[Path], asked: Asked) -> dict[str, Path]:
    """Results by their heading: those named; else before and after of the run, where it was evaluated;
    else those of the configured policy, or where one of these is missing all that are there."""
    if results:
        return {heading(path): path for path in results}
    if run_dir is not None:
        return evaluations_of(run_dir)
    settings = asked.settings()
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
