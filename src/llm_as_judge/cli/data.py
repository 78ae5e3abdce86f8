"""download, process: from upstream files to the mixes that training reads; data: looking and choosing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from llm_as_judge.cli.options import (
    ConfigOption,
    DataDirOption,
    JsonOption,
    SetOption,
    console,
    progress_bar,
)
from llm_as_judge.config import load_config
from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.types import to_json

if TYPE_CHECKING:
    from llm_as_judge.evaluation.disputed import SetCount

SourceOption = Annotated[
    Path | None,
    typer.Option("--source", help="Folder of upstream files (gsm8k/, squad_v2/ ...)."),
]


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: llm-as-judge download --source ~/datasets")(download)
    app.command(epilog="Example: llm-as-judge process --set data.limit_per_set=500")(process)
    app.add_typer(data, name="data")


data = typer.Typer(no_args_is_help=True, help="Look at the processed data; choose from it.")


@data.command(epilog="Example: llm-as-judge data stats --json")
def stats(
    data_dir: DataDirOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Rows, lengths, answer types and overlap by set and split."""
    from llm_as_judge.data.stats import data_stats, stats_table

    settings = load_config(config, flags={"data.data_dir": data_dir}).data
    with progress_bar() as show:
        found = data_stats(settings.data_dir, progress=show)
    if as_json:
        print(json.dumps(to_json(found)))  # noqa: T201
    else:
        console.print(stats_table(found))


@data.command(
    epilog="Example: llm-as-judge data disputed results/evaluation/{cot,direct}_train_results.json"
)
def disputed(
    results: Annotated[
        list[Path],
        typer.Argument(help="Results of evaluate --split train on the same rows, or run folders."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="New file, by default DATA_DIR/mixed/train_disputed.jsonl; then: train --set "
            "data.train_file=FILE.",
        ),
    ] = None,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the training problems that tell programs apart: some of the rollouts given were right
    on them, others wrong. On others all programs of a group come to one verdict."""
    from llm_as_judge.data.files import write_problems
    from llm_as_judge.evaluation.disputed import find_disputed

    out = out or (data_dir or Path("data")) / "mixed" / "train_disputed.jsonl"
    if out.exists():
        raise OutputError(f"{out}: is there already; remove it, or give another --out")
    found = find_disputed(results)
    if not found.problems:
        raise DataError(
            f"all {sum(s.problems for s in found.sets)} problems were solved by all or by none: "
            f"no {out} was written; evaluate on more rows (--limit), or with other programs"
        )
    rows = write_problems(out, found.problems)
    if as_json:
        print(json.dumps({"file": str(out), **to_json(found)}))  # noqa: T201
        return
    console.print(_disputed_table(found.sets))
    for domain, right in found.right.items():
        shares = ", ".join(f"{name} {share:.0%}" for name, share in right.items())
        line = f"{domain:5} right of the disputed: {shares}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"{rows} problems  {out}", markup=False, highlight=False, soft_wrap=True)


def _disputed_table(sets: Sequence[SetCount]) -> Table:
    table = Table()
    for heading in ("data set", "problems", "all right", "all wrong", "disputed"):
        table.add_column(heading, justify="left" if heading == "data set" else "right")
    for row in sets:
        counts = (row.problems, row.all_right, row.all_wrong, row.disputed)
        table.add_row(row.dataset, *map(str, counts))
    return table


def download(
    source: SourceOption = None,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not try the hub: the built-in sample.")
    ] = False,
    set_: SetOption = None,
) -> None:
    """Bring the upstream files of the data sets to data/raw: hub, folder, or built-in sample."""
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
        console.print(
            f"{entry.dataset:14} {entry.rows:7} rows  {entry.origin}  {entry.licence}",
            highlight=False,
        )
    if sample := next((e for e in manifest.entries if e.origin == "sample"), None):
        console.print(
            f"{sample.where}: rows written for this project, to try things out. The real sets: "
            "download where the hub can be reached, or --source DIR with upstream files.",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def process(
    source: Annotated[
        Path | None,
        typer.Option("--source", help="Folder of upstream files; default DATA_DIR/raw."),
    ] = None,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
    custom: Annotated[
        list[Path] | None,
        typer.Option("--custom", help='Own JSONL: {"problem", "answer", "type": math|code|qa}.'),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave bad rows out, list and count them.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Of split and mix.")] = None,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes that unify sets at the same time.")
    ] = 1,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Unify, split and mix: data/processed, data/mixed, data/test."""
    from llm_as_judge.data.process import process as run_process

    settings = load_config(
        config, overrides=set_ or (), flags={"data.data_dir": data_dir, "data.seed": seed}
    ).data
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
        )
    if as_json:
        print(json.dumps(to_json(report)))  # noqa: T201
        return
    for entry in report.sets:
        console.print(
            f"{entry.dataset:14} train {entry.train:6}  val {entry.val:5}  test {entry.test:5}  "
            f"refused {entry.refused}",
            highlight=False,
        )
        for refusal in entry.refusals:
            console.print(f"  left out {refusal.where}: {refusal.reason}", markup=False)
