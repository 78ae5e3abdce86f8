"""data download, process: from upstream files to the mixes that training reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm_as_judge.assembly.code_tests import CodeTestCheck
from llm_as_judge.cli.asking import Asked
from llm_as_judge.data.download import acquire
from llm_as_judge.data.process import process as run_process
from llm_as_judge.data.process import sets_there
from llm_as_judge.data.remarks import unused_columns
from llm_as_judge.data.unify import SetReport
from llm_as_judge.errors import ConfigError
from llm_as_judge.types import Domain, known_domain, to_json
from llm_as_judge.views.console import note, say, say_json
from llm_as_judge.views.progress import Progress


def download(asked: Asked, *, offline: bool) -> None:
    settings = asked.settings()
    with Progress() as view:
        manifest = acquire(
            settings.data.data_dir / "raw",
            settings.data.source,
            not offline,
            settings.output.cache_dir(),
            sets=settings.data.sets,
            progress=view.show,
        )
    if not manifest.entries:
        note(
            "nothing to download: data.sets is empty. Rows of your own: llm-as-judge init FILE; a shipped set: --set "
            "data.sets=[gsm8k]"
        )
    for entry in manifest.entries:
        say(f"{entry.dataset:14} {entry.rows:7} rows  {entry.origin}  {entry.license}")
    if sample := next((e for e in manifest.entries if e.origin == "sample"), None):
        say(
            f"{sample.where}: rows written for this project, to try things out. The real sets: "
            "data download where the hub can be reached, or --source DIR with upstream files."
        )


def process(
    asked: Asked,
    *,
    source: Path | None,
    custom: list[Path] | None,
    type_: str | None,
    skip_bad: bool,
    workers: int,
    as_json: bool,
) -> None:
    loaded = asked.settings()
    settings = loaded.data
    before = sets_there(settings.data_dir)
    with Progress() as view:
        report = run_process(
            source or settings.data_dir / "raw",
            settings.data_dir,
            sets=settings.sets,
            custom=custom or (),
            custom_type=wanted_type(type_),
            seed=settings.seed,
            val_fraction=settings.val_fraction,
            mix_size=settings.mix_size,
            limit_per_set=settings.limit_per_set,
            skip_bad=skip_bad,
            workers=workers,
            progress=view.show,
            check_tests=CodeTestCheck(loaded.workflow.sandbox, loaded.output.cache_dir()),
        )
    if gone := before - {entry.dataset for entry in report.sets}:
        note(
            f"{settings.data_dir}: no longer holds {', '.join(sorted(gone))}; to have them beside these, process all of them "
            "in one command",
            "yellow",
        )
    if as_json:
        say_json(to_json(report))
        return
    for entry in report.sets:
        say(
            f"{entry.dataset:14} train {entry.train:6}  val {entry.val:5}  test {entry.test:5}  "
            f"refused {entry.refused}"
        )
        for line in entry.left_out():
            say(f"  left out {line}")
    say_remarks(report.sets)


def wanted_type(given: str | None) -> Domain | None:
    """What --type says.

    Raises:
        ConfigError: no type of rows.
    """
    domain = known_domain(given)
    if given is not None and domain is None:
        raise ConfigError(f"--type {given!r}: wanted math, qa or code")
    return domain


def say_remarks(sets: Sequence[SetReport]) -> None:
    """What own rows hold beside what is taken: read solutions, copies, contradictions, unused columns."""

    for entry in sets:
        for line in entry.remarks:
            note(f"{entry.dataset}: {line}", "yellow")
    if line := unused_columns([(entry.dataset, entry.unused) for entry in sets]):
        note(line, "yellow")
