"""Options that several verbs share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from llm_as_judge.config import ADDRESS_FORM, Config, environment_key, load_config
from llm_as_judge.errors import ConfigError
from llm_as_judge.runs.judges import unaudited_warning

console = Console()
"""Human output. JSON for scripts goes to plain ``print``."""
status_console = Console(stderr=True)
"""Progress: kept off standard output, which may be piped to another program."""


def say(line: str, style: str = "") -> None:
    """A line of the result, as it is: names and paths are neither marked up nor wrapped."""
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def note(line: str, style: str = "") -> None:
    """A line about the work, on standard error; see :func:`say`."""
    status_console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        help="Configuration: a YAML file, or a shipped profile such as embedded. Default: llm-as-judge.yaml "
        "of this folder, else training.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", help="Base model of the policy: an entry of models.yaml, a hub id or a path."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set a configuration key; may be repeated: --set training.steps=10"),
]
DeviceOption = Annotated[
    str | None, typer.Option("--device", help="Device of the policy: cpu, cuda:0 ... or auto.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of everything random.")]
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        "--executor",
        help="Model that answers the programs' calls: openai:MODEL@URL, the URL of a server with one model, a name "
        "in aflow_llm.yaml or models.yaml, a hub id, a path, or `scripted` (made-up replies).",
    ),
]
BANK = Path("results/bank")
BankOption = Annotated[
    Path,
    typer.Option(
        "--bank", help="Folder that keeps the runs of programs; a run in it is never repeated."
    ),
]
DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder that holds raw/, mixed/ and test/.")
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="low|middle|high",
        help="Budget told to a policy of reward.scheme priced. Default: reward.budget, else middle.",
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Check the set-up, print the estimate of calls, tokens and dollars, and stop.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def settings_of(
    config: str | None,
    overrides: Sequence[str] | None,
    *,
    model: str | None = None,
    device: str | None = None,
    seed: int | None = None,
    executor: str | None = None,
    data_dir: Path | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """The configuration that the shared options give; ``flags``: dotted keys of a verb's own.

    Raises:
        ConfigError: see :func:`load_config`.
    """
    given: dict[str, Any] = {
        "policy.device": device,
        "training.seed": seed,
        "executor.model": executor_named(executor),
        "data.data_dir": data_dir,
        **(flags or {}),
    }
    if data_dir is not None:
        given["data.train_file"] = data_dir / "mixed" / "train_mixed.jsonl"
        given["data.val_file"] = data_dir / "mixed" / "val_mixed.jsonl"
    return load_config(config, model=model, overrides=overrides or (), flags=given)


def require_told(budget: str | None, settings: Config, written: str | None) -> None:
    """
    Args:
        budget: as ``--budget`` gave it.
        written: program that is asked for; None = a policy writes one.
    Raises:
        ConfigError: nobody would be told the budget.
    """
    if budget is None:
        return
    if written is not None:
        raise ConfigError(
            f"--budget {budget}: only a policy is told it, and {written} is a program that is written; "
            "leave --budget out"
        )
    if settings.reward.prompt_budget is None:
        raise ConfigError(
            f"--budget {budget}: under reward.scheme {settings.reward.scheme} a policy is told none; add "
            "--set reward.scheme=priced if it was trained so, or leave --budget out"
        )


def executor_named(given: str | None) -> str | None:
    """``given`` as executor.model has it: a bare URL becomes ``openai:MODEL@URL``, by asking there.

    Raises:
        ConfigError: the server does not list exactly one model.
        ModelError: it cannot be reached, or refuses the key.
    """
    if given is None or not given.startswith(("http://", "https://")):
        return given
    from llm_as_judge.llm.client import OpenAIChat

    async def listed() -> list[str] | None:
        chat = OpenAIChat("of --executor", given, api_key=environment_key("OPENAI_API_KEY"))
        try:
            return await chat.served()
        finally:
            await chat.aclose()

    served = asyncio.run(listed())
    if served is None or len(served) != 1:
        found = "no list of models" if served is None else f"models {', '.join(served) or 'none'}"
        raise ConfigError(
            f"--executor: found {found} at this URL, wanted one; name it: --executor {ADDRESS_FORM}"
        )
    return f"openai:{served[0]}@{given}"


def warn_of_judges(judges: Sequence[Mapping[str, Any]]) -> None:
    """A line on standard error if one of ``judges`` rewarded without a passing audit."""
    warning = unaudited_warning(judges)
    if warning:
        note(f"warning: {warning}", "yellow")


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """A callback ``(what, done, total)`` that moves a bar on the terminal; a file or pipe gets none."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=status_console,
        disable=not status_console.is_terminal,
    ) as bars:
        task = bars.add_task("starting", total=None)

        def show(what: str, done: int, total: int | None) -> None:
            bars.update(task, description=what, completed=done, total=total)

        yield show
