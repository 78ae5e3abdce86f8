"""init: rows of one's own -> a split, and the configuration that every verb finds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from llm_as_judge.assembly.answer_kinds import SetKinds, kinds_of_sets
from llm_as_judge.assembly.chat_models import TRIED_S, require_endpoints, require_known_models
from llm_as_judge.assembly.code_tests import CodeTestCheck
from llm_as_judge.assembly.documents import open_library
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.data import say_remarks, wanted_type
from llm_as_judge.cli.own_file import OwnTask, own_file_text, unedited_task
from llm_as_judge.config import ADDRESS_FORM, OWN_FILE, RULES_ALONE, Config, load_endpoints
from llm_as_judge.config.providers import provider_of
from llm_as_judge.data.catalog import custom_datasets, require_rows
from llm_as_judge.data.hub import DatasetsHub, is_of_hub, own_rows
from llm_as_judge.data.process import ProcessReport, process, sets_there
from llm_as_judge.data.unify import SetReport
from llm_as_judge.errors import ConfigError, DataError, ModelError
from llm_as_judge.evaluation.search.run import LEAST_ROWS
from llm_as_judge.files import write_atomically
from llm_as_judge.quoting import quoted
from llm_as_judge.types import Domain
from llm_as_judge.views.console import note, say
from llm_as_judge.views.live import several
from llm_as_judge.views.progress import Progress

ENOUGH_TEST_ROWS = 30
"""With fewer, a 95 % interval is wider than 35 points at one half right."""


def init(asked: Asked, *, rows: Path, type_: str | None, skip_bad: bool) -> None:
    given = wanted_type(type_)
    if not is_of_hub(rows):
        require_rows(rows)
    if asked.flags["executor.model"] is None:
        raise ConfigError(
            f"--executor: wanted the model that answers the programs' calls, as {ADDRESS_FORM}, or "
            "qwen25-coder-0.5b, which runs on this machine"
        )
    before = _unedited()
    settings = asked.settings(RULES_ALONE)
    library = open_library(settings)  # before a row is written
    executor, home = settings.executor.model, settings.data.data_dir
    require_known_models(settings)
    endpoint = load_endpoints()[executor] if executor.startswith("openai:") else None
    if before is not None and executor == before.executor:  # the entry is lost with the file
        endpoint = before.endpoint
    file = own_rows(rows, DatasetsHub(settings.output.cache_dir() / "datasets"))
    if file != rows:
        say(f"rows     {file}, of {rows} on the hub")
    report = _split(
        file,
        home,
        settings.data.val_fraction,
        settings.data.seed,
        given=given,
        skip_bad=skip_bad,
        tests=CodeTestCheck(settings.workflow.sandbox, settings.output.cache_dir()),
    )
    kinds = kinds_of_sets(home, [part.dataset for part in report.sets])
    task = OwnTask(
        file,
        asked.config or "",
        [part.dataset for part in report.sets],
        executor=(endpoint.model_name or executor) if endpoint else executor,
        endpoint=endpoint,
        policy=settings.policy.name,
        data_dir=home,
        answers=[(one.name, one.shown) for one in kinds],
        documents=settings.data.documents,
    )
    with write_atomically(OWN_FILE) as stream:
        stream.write(own_file_text(task).encode())
    _print_sizes(report, kinds)
    if library is not None:
        say(
            f"documents {len(library.passages)} passages; a question without one gets {library.given}"
        )
    trouble = _trouble(settings, task)
    if (endpoint is not None or provider_of(executor)) and not trouble:
        say("endpoint it serves the model and gave a reply")
    of_rows = f"{' --skip-bad' if report.refused else ''}{f' --type {given}' if given else ''}"
    _next(f"{quote(str(file))}{of_rows}")
    if trouble:  # last, where it is read
        note(f"warning: {trouble}. Or run init again with the right --executor", "yellow")


def _unedited() -> OwnTask | None:
    """What an earlier call wrote; None where there is no file. What a person wrote is not overwritten."""
    if not OWN_FILE.exists():
        return None
    try:
        found = unedited_task(OWN_FILE.read_bytes().decode())
    except (OSError, UnicodeDecodeError):
        found = None
    if found is None:
        raise ConfigError(
            f"{OWN_FILE}: is there already, was edited, and is not overwritten; edit it, or move it away "
            "and run init again"
        )
    return found


def _split(
    rows: Path,
    data_dir: Path,
    val_fraction: float,
    seed: int,
    *,
    given: Domain | None,
    skip_bad: bool,
    tests: CodeTestCheck,
) -> ProcessReport:
    """The rows, checked and in train, validation and test files."""

    def require_test_rows(reports: Sequence[SetReport]) -> None:
        for part in reports:
            if not part.test:
                raise DataError(
                    f"{rows}: {part.dataset} leaves no row to test on; found {several(part.rows, 'row')} in "
                    f"{several(part.groups, 'group')} of nearly the same question, the largest of "
                    f"{part.largest_group}; wanted two groups or more. Add other questions"
                )

    others = sets_there(data_dir) - {part.name for part in custom_datasets(rows, given)}
    if others:
        raise DataError(
            f"{data_dir}: holds other rows already ({', '.join(sorted(others))}); name another "
            "folder with --data-dir, or begin in an empty folder"
        )
    with Progress() as view:
        return process(
            data_dir / "raw",
            data_dir,
            sets=(),
            custom=(rows,),
            custom_type=given,
            seed=seed,
            val_fraction=val_fraction,
            skip_bad=skip_bad,
            progress=view.show,
            check_tests=tests,
            check=require_test_rows,
        )


def _trouble(settings: Config, task: OwnTask) -> str:
    """Why the endpoint cannot be asked for the model, with the entry to mend; empty: it can, or there is
    none. The file stays either way: the server may be started later."""

    if task.endpoint is None and not provider_of(task.executor):
        return ""
    wait_s = min(settings.executor.timeout_s, TRIED_S)
    executor = settings.executor.model_copy(
        update={"model": task.executor, "retries": 0, "timeout_s": wait_s}  # as the file has it
    )
    try:
        asyncio.run(
            require_endpoints(settings.model_copy(update={"executor": executor}), tried=True)
        )
    except (ConfigError, ModelError) as error:
        return str(error)
    return ""


def _print_sizes(report: ProcessReport, kinds: Sequence[SetKinds]) -> None:
    for part in report.sets:
        say(f"{part.dataset:14} train {part.train:6}  val {part.val:5}  test {part.test:5}")
        if part.by_question:
            say(
                "  its rows share too few passages to hold one out: test rows have questions of their "
                "own, and a passage may be in train, too"
            )
        if part.test > part.test_wanted:
            say(
                "  your passages are too large for a sixth of the rows as test rows: the smallest passage is test, "
                f"{part.test} of {part.rows} rows"
            )
        for line in part.left_out():
            say(f"  left out {line}")
    say_remarks(report.sets)
    _print_answer_kinds(kinds)
    bare = [
        f"{several(part.val, 'val row') if part.val else 'no val rows'} of {part.dataset} "
        f"({_ONE_SIDE if part.groups < part.rows else 'too few rows'})"
        for part in report.sets
        if part.val < LEAST_ROWS
    ]
    if bare:
        note(
            f"warning: {', '.join(bare)}. Only `search` chooses on val rows, and wants {LEAST_ROWS} of "
            "each type: give it --split train",
            "yellow",
        )
    test = sum(part.test for part in report.sets)
    if test < ENOUGH_TEST_ROWS:
        note(
            f"warning: {several(test, 'test row')} {'are' if test > 1 else 'is'} few: only a large difference will show. "
            f"{6 * ENOUGH_TEST_ROWS} rows in all give {ENOUGH_TEST_ROWS} test rows",
            "yellow",
        )
    say(f"written  {OWN_FILE}")


def _print_answer_kinds(kinds: Sequence[SetKinds]) -> None:
    """What the answers are read as, and what becomes of those that no rule can compare."""
    for one in kinds:
        say(f"answers  {one.name}: {one.shown}")
    texts = sum(one.kinds["short_text"] for one in kinds)
    long = sum(one.kinds["long_text"] for one in kinds)
    if texts:
        say(
            "  short texts: the answer alone, or in the question's words, is right; in other words it stays open; any "
            "other text is wrong (exact_match)"
        )
    if long:
        say("  long texts: the same text is right; any other text stays open")
    if texts or long:
        say("  no judge is on (judge.kind: rules); what stays open counts as not right")
        say(
            f"  the shipped judge reads them with judge: {{kind: scoring, model: none}} in {OWN_FILE}; it "
            "takes some near misses for right (docs/judge.md#which-judge)"
        )
    for one in kinds:
        for unit, count in one.units.items():
            note(
                f"warning: {one.name}: unit {quoted(unit, 40)!r} of {several(count, 'row')} is not known: an answer in another unit stays open",
                "yellow",
            )


_ONE_SIDE = "rows with the same passage, or with nearly the same question, stay on one side"


def _next(rows: str) -> None:
    for words in (
        "evaluate --policy direct",
        f"headroom {rows}",
        "evaluate --untrained",
        "train --steps 60 --set training.warm_start=results/headroom/bank",
        "evaluate",
        "compare results/evaluation/*_results.json",
    ):
        say(f"  next   llm-as-judge {words}")
