"""data download, process, stats: from upstream files to the mixes that training reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from llm_as_judge.cli.options import (
    ConfigOption,
    DataDirOption,
    JsonOption,
    SetOption,
    note,
    progress_bar,
    say,
)
from llm_as_judge.cli.verbs import verbs_of
from llm_as_judge.config import load_config
from llm_as_judge.types import to_json

if TYPE_CHECKING:
    from llm_as_judge.data.unify import SetReport

SourceOption = Annotated[
    Path | None,
    typer.Option("--source", help="Folder of upstream files (gsm8k/, squad_v2/ ...)."),
]


data = verbs_of("data", "Data sets: download, process (your own rows too), show statistics.")


@data.command(epilog="Example: llm-as-judge data download --source ~/datasets")
def download(
    source: SourceOption = None,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use the built-in sample instead of the hub.")
    ] = False,
    set_: SetOption = None,
) -> None:
    """Fetch the data sets to data/raw, from the hub, a folder or the built-in sample."""
    from llm_as_judge.data.download import acquire

    settings = load_config(
        config, overrides=set_ or (), flags={"data.data_dir": data_dir, "data.source": source}
    )
    with progress_bar() as show:
        manifest = acquire(
            settings.data.data_dir / "raw",
            settings.data.source,
            not offline,
            settings.output.cache_dir(),
            sets=settings.data.sets,
            progress=show,
        )
    for entry in manifest.entries:
        say(f"{entry.dataset:14} {entry.rows:7} rows  {entry.origin}  {entry.license}")
    if sample := next((e for e in manifest.entries if e.origin == "sample"), None):
        say(
            f"{sample.where}: rows written for this project, to try things out. The real sets: "
            "data download where the hub can be reached, or --source DIR with upstream files."
        )


@data.command(epilog="Example: llm-as-judge data process --set data.limit_per_set=500")
def process(
    source: Annotated[
        Path | None,
        typer.Option("--source", help="Folder of upstream files; default DATA_DIR/raw."),
    ] = None,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
    custom: Annotated[
        list[Path] | None,
        typer.Option(
            "--custom", help='Your own rows, JSONL: {"problem", "answer", "type": math|code|qa}.'
        ),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out bad rows, and list them.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of split and mix.")] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Number of processes.")] = 1,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring all sets to one form, split and mix them: data/processed, data/mixed, data/test."""
    from llm_as_judge.assembly.code_tests import CodeTestCheck
    from llm_as_judge.data.process import process as run_process
    from llm_as_judge.data.process import sets_there

    loaded = load_config(
        config, overrides=set_ or (), flags={"data.data_dir": data_dir, "data.seed": seed}
    )
    settings = loaded.data
    before = sets_there(settings.data_dir)
    with progress_bar() as show:
        report = run_process(
            source or settings.data_dir / "raw",
            settings.data_dir,
            sets=settings.sets,
            custom=custom or (),
            seed=settings.seed,
            val_fraction=settings.val_fraction,
            mix_size=settings.mix_size,
            limit_per_set=settings.limit_per_set,
            skip_bad=skip_bad,
            workers=workers,
            progress=show,
            check_tests=CodeTestCheck(loaded.workflow.sandbox, loaded.output.cache_dir()),
        )
    if gone := before - {entry.dataset for entry in report.sets}:
        note(
            f"{settings.data_dir}: no longer holds {', '.join(sorted(gone))}; to have them beside these, process all of them "
            "in one command",
            "yellow",
        )
    if as_json:
        print(json.dumps(to_json(report)))  # noqa: T201
        return
    for entry in report.sets:
        say(
            f"{entry.dataset:14} train {entry.train:6}  val {entry.val:5}  test {entry.test:5}  "
            f"refused {entry.refused}"
        )
        for refusal in entry.refusals:
            say(f"  left out {refusal.where}: {refusal.reason}")
    say_remarks(report.sets)


def say_remarks(sets: Sequence[SetReport]) -> None:
    """What own rows hold beside what is taken: read solutions, copies, contradictions, unused columns."""
    from llm_as_judge.data.remarks import unused_columns

    for entry in sets:
        for line in entry.remarks:
            note(f"{entry.dataset}: {line}", "yellow")
    if line := unused_columns([(entry.dataset, entry.unused) for entry in sets]):
        note(line, "yellow")
