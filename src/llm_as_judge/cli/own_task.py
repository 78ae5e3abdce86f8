"""init: rows of one's own -> a split, and the configuration that every verb finds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from llm_as_judge.cli.options import (
    DataDirOption,
    ModelOption,
    executor_named,
    note,
    progress_bar,
    say,
)
from llm_as_judge.cli.verbs import verb
from llm_as_judge.config import OWN_FILE, RULES_ALONE, load_config, load_endpoints
from llm_as_judge.config.endpoints import Endpoint
from llm_as_judge.errors import ConfigError, DataError, ModelError
from llm_as_judge.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llm_as_judge.config import Config
    from llm_as_judge.data.process import ProcessReport
    from llm_as_judge.data.unify import SetReport


ENOUGH_TEST_ROWS = 30
"""With fewer, a 95 % interval is wider than 35 points at one half right."""


@verb("Example: llm-as-judge init mine.jsonl --executor openai:MODEL@http://HOST:PORT/v1")
def init(
    rows: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help='Your rows, JSONL: {"problem", "answer", "type": math|code|qa} (docs/DATA.md); or '
            "OWNER/NAME on the hub, whose train split has such rows.",
        ),
    ],
    executor: Annotated[
        str,
        typer.Option(
            "--executor",
            help="Model that answers the programs' calls: openai:MODEL@URL, the URL of a server with one model, or a "
            "name in aflow_llm.yaml or models.yaml. The key is read from OPENAI_API_KEY.",
        ),
    ],
    model: ModelOption = None,
    config: Annotated[
        str, typer.Option("--config", help="Shipped profile that the new file is based on.")
    ] = "embedded",
    data_dir: DataDirOption = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out bad rows, and list them.")
    ] = False,
) -> None:
    """Start your own task: check the rows, split them, write llm-as-judge.yaml in this folder."""
    from llm_as_judge.chat_models import require_known_models
    from llm_as_judge.data.hub import DatasetsHub, own_rows

    if OWN_FILE.exists():
        raise ConfigError(
            f"{OWN_FILE}: is there already, and is not overwritten; edit it, or move it away and run "
            "init again"
        )
    name = executor_named(executor)
    settings = load_config(config, model=model, flags={**RULES_ALONE, "executor.model": name})
    asked = settings.executor.model
    require_known_models(settings)
    endpoint = load_endpoints()[asked] if asked.startswith("openai:") else None
    home = data_dir or settings.data.data_dir
    file = own_rows(rows, DatasetsHub(settings.output.cache_dir() / "datasets"))
    if file != rows:
        say(f"rows     {file}, of {rows} on the hub")
    report = _split(file, home, settings.data.val_fraction, settings.data.seed, skip_bad=skip_bad)
    task = OwnTask(
        file,
        config,
        [part.dataset for part in report.sets],
        executor=(endpoint.model_name or asked) if endpoint else asked,
        endpoint=endpoint,
        policy=settings.policy.name,
        data_dir=home,
    )
    with write_atomically(OWN_FILE) as stream:
        stream.write(own_file_text(task).encode())
    _tell(report)
    if endpoint is not None:
        _ask(settings)
    _next(file)


def _split(
    rows: Path, data_dir: Path, val_fraction: float, seed: int, *, skip_bad: bool
) -> ProcessReport:
    """The rows, checked and in train, validation and test files.

    Raises:
        DataError: a row is not as wanted (``file:line``), a type leaves no test row, or the folder
            holds other rows.
    """
    from llm_as_judge.data.catalog import custom_datasets
    from llm_as_judge.data.process import process

    def require_test_rows(reports: Sequence[SetReport]) -> None:
        for part in reports:
            if not part.test:
                raise DataError(
                    f"{rows}: {part.dataset} leaves no row to test on; found {part.rows} rows in "
                    f"{part.groups} groups of nearly the same question, the largest of "
                    f"{part.largest_group}; wanted two groups or more. Add other questions"
                )

    _require_free(data_dir, {part.name for part in custom_datasets(rows)})
    with progress_bar() as show:
        return process(
            data_dir / "raw",
            data_dir,
            sets=(),
            custom=(rows,),
            seed=seed,
            val_fraction=val_fraction,
            skip_bad=skip_bad,
            progress=show,
            check=require_test_rows,
        )


def _require_free(data_dir: Path, names: set[str]) -> None:
    """
    Raises:
        DataError: the folder holds the split of other sets, which would be lost.
    """
    from llm_as_judge.data.process import sets_there

    there = sets_there(data_dir)
    if there - names:
        raise DataError(
            f"{data_dir}: holds other rows already ({', '.join(sorted(there - names))}); name another "
            "folder with --data-dir, or begin in an empty folder"
        )


def _ask(settings: Config) -> None:
    """Whether the endpoint serves the model. The file stays either way: the server may be started later."""
    from llm_as_judge.chat_models import require_endpoints

    try:
        asyncio.run(require_endpoints(settings))
    except ModelError as error:
        note(f"warning: {error}", "yellow")
    else:
        say("endpoint it answers and serves the model")


def _tell(report: ProcessReport) -> None:
    for part in report.sets:
        say(f"{part.dataset:14} train {part.train:6}  val {part.val:5}  test {part.test:5}")
        if part.by_question:
            say(
                "  its rows share too few passages to hold one out: test rows have questions of their "
                "own, and a passage may be in train, too"
            )
        for refusal in part.refusals:
            say(f"  left out {refusal.where}: {refusal.reason}")
    test = sum(part.test for part in report.sets)
    if test < ENOUGH_TEST_ROWS:
        note(
            f"warning: {test} test rows are few: only a large difference will show. "
            f"{6 * ENOUGH_TEST_ROWS} rows in all give {ENOUGH_TEST_ROWS} test rows",
            "yellow",
        )
    say(f"written  {OWN_FILE}")


def _next(rows: Path) -> None:
    for words in (
        "evaluate --policy direct",
        f"headroom {quote(str(rows))}",
        "evaluate --untrained",
        "train --steps 60 --set training.warm_start=results/headroom/bank",
        "evaluate",
        "compare results/evaluation/*_results.json",
    ):
        say(f"  next   llm-as-judge {words}")


# ---------------------------------------------------------------------------------------- the file

KEY_VARIABLE = "OPENAI_API_KEY"
HOSTED_TOKENS = 2048
"""Tokens of a reply at most: the full-size default, since a profile's limit may be a small model's."""


@dataclass(frozen=True, slots=True)
class OwnTask:
    """What ``init`` was told and found."""

    rows: Path
    profile: str
    """Shipped profile below the file."""
    sets: Sequence[str]
    executor: str
    """Name of a model; of ``endpoint``, where there is one."""
    policy: str
    """Base model."""
    endpoint: Endpoint | None = None
    data_dir: Path = Path("data")


def own_file_text(task: OwnTask) -> str:
    """Commented YAML. Keys of endpoints are never in it: it names the variable that holds them."""
    lines = [
        f"# Own task {_comment(task.rows.name)}. Every command in this folder reads this file, unless",
        "# it says --config. docs/configuration.md lists all keys.",
        f"profile: {task.profile}  # the shipped profile below this file",
        "data:",
        "  sets: []  # no shipped sets beside your own",
    ]
    if task.data_dir != Path("data"):
        lines += [
            f"  data_dir: {_text(str(task.data_dir))}",
            f"  train_file: {_text(str(task.data_dir / 'mixed' / 'train_mixed.jsonl'))}",
            f"  val_file: {_text(str(task.data_dir / 'mixed' / 'val_mixed.jsonl'))}",
        ]
    lines += [
        "evaluation:",
        f"  sets: [{', '.join(map(_text, task.sets))}]",
        "  limit_per_set: all",
    ]
    lines += ["policy:", f"  name: {_text(task.policy)}  # the model that learns"]
    lines += ["executor:", f"  model: {_text(task.executor)}"]
    if task.endpoint is not None:
        lines.append(f"  max_tokens: {HOSTED_TOKENS}  # of one reply; a longer one is cut off")
    lines += [
        "judge:",
        "  model: none  # rules grade the answers; docs/judge.md#an-llm-judge adds a judge for the others",
    ]
    if task.endpoint is not None:
        lines += _endpoint_lines(task.executor, task.endpoint)
    return "\n".join(lines) + "\n"


def _endpoint_lines(name: str, endpoint: Endpoint) -> list[str]:
    return [
        "endpoints:  # docs/configuration.md#endpoints lists their keys",
        f"  {_text(name)}:",
        f"    base_url: {_text(endpoint.base_url)}",
        f"    model_name: {_text(endpoint.model_name or name)}",
        f'    api_key: "${{{KEY_VARIABLE}:-}}"  # read from this variable, or from .env',
        "    # usd_per_million_prompt_tokens: 0.10      # with both prices, dollars are",
        "    # usd_per_million_completion_tokens: 0.50  # estimated and counted",
    ]


def _text(value: str) -> str:
    """A JSON text is a YAML text, whatever it holds."""
    return json.dumps(value, ensure_ascii=False)


def _comment(text: str) -> str:
    return text if text.isprintable() else repr(text)
