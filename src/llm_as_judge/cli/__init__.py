"""The command line: a verb or a group of verbs a file, errors as one line with an exit status.

0 done · 1 failed (endpoint, sandbox, training) · 2 something a person can mend · 3 below a bar ·
130 stopped by Ctrl-C · 143 stopped by SIGTERM.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from dotenv import load_dotenv
from rich.console import Console

from llm_as_judge import __version__
from llm_as_judge.cli import (  # noqa: F401 - each has verbs
    comparing,
    data,
    evaluating,
    exporting,
    grading,
    headroom,
    judging,
    learning,
    models,
    own_task,
    pooling,
    programs,
    quickstarting,
    searching,
    serving,
    watching,
)
from llm_as_judge.cli.stopping import Stopped, signals, stopped_line
from llm_as_judge.cli.verbs import VERBS, app
from llm_as_judge.config import OWN_FILE, clone_read, keys_called, load_config
from llm_as_judge.errors import ConfigError, LlmAsJudgeError, UserError
from llm_as_judge.renamed import in_new_words

__all__ = ["VERBS", "app", "main"]


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"llm-as-judge {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", is_eager=True, callback=_say_version
        ),
    ] = False,
) -> None: ...


def main(arguments: list[str] | None = None) -> None:
    """Entry point of ``llm-as-judge`` and of the scripts that are doors to it."""
    # Threads that spin while they wait starve the embedded server on the same processors; torch
    # reads this when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    load_dotenv(Path(".env"))
    given = in_new_words(sys.argv[1:] if arguments is None else arguments)
    try:
        with signals():
            _refuse_keys_as_options(given)
            _say_what_is_read(given)
            app(args=given, prog_name="llm-as-judge")  # doors and -m are not to name themselves
    except UserError as error:
        _complain(f"{error}{_smaller(str(error), given)}", 2)
    except LlmAsJudgeError as error:
        _complain(str(error), 1)
    except Stopped as stop:
        print(stopped_line(given, stop.kept), file=sys.stderr)  # noqa: T201
        sys.exit(stop.code)
    except BrokenPipeError:  # the reader of our output went away: nobody to tell
        sys.stderr.close()
        sys.exit(1)


def _smaller(message: str, arguments: list[str]) -> str:
    """What to add to ``message`` where it is about a model of the full-size configuration that
    nobody asked for: a newcomer's next command after `make run` has no --config."""
    if not _takes_config(arguments) or OWN_FILE.is_file():
        return ""
    try:
        usual = load_config()
    except UserError:  # then that is what the message says
        return ""
    names = (usual.policy.name, usual.executor.model, usual.judge.model)
    if not any(name in message for name in names):
        return ""
    return " (full-size configuration; for small models on this machine add --config embedded)"


def _say_what_is_read(arguments: list[str]) -> None:
    """A line each where the working folder decides what is read; standard output may be piped."""
    if {"--help", "--version"} & set(arguments):
        return
    lines = []
    if (clone := clone_read()) is not None:
        own = "config/ and workflows/ of this clone, not the copies that are installed"
        lines.append(f"reading {clone}: {own}")
    if OWN_FILE.is_file() and _takes_config(arguments):
        lines.append(f"configuration: {OWN_FILE} of this folder (another: --config)")
    for line in lines:
        Console(stderr=True, soft_wrap=True).print(line, markup=False, highlight=False)


def _verb(arguments: list[str]) -> Any:
    """The command that these words begin with; None: there is none."""
    verb: Any = typer.main.get_command(app)
    for word in arguments:
        if not hasattr(verb, "commands"):
            break
        verb = verb.commands.get(word)
    return verb


def _refuse_keys_as_options(arguments: list[str]) -> None:
    """
    Raises:
        ConfigError: an option that this verb has not, and a key of the configuration is called so.
    """
    verb = _verb(arguments)
    known = {name for option in getattr(verb, "params", ()) for name in option.opts}
    if "--set" not in known:
        return
    for word in arguments:
        name = word.partition("=")[0]
        if not name.startswith("--") or name in known:
            continue
        if keys := keys_called(name.removeprefix("--").replace("-", "_")):
            written = " or ".join(f"--set {key}=VALUE" for key in keys)
            raise ConfigError(f"{name}: no option of {verb.name}; it is a key: {written}")


def _takes_config(arguments: list[str]) -> bool:
    """Whether the verb reads a configuration and was not told which."""
    verb = _verb(arguments)
    if any(word.partition("=")[0] == "--config" for word in arguments):
        return False
    if arguments[:1] == ["grade"] and "--in" not in arguments:  # reads that of the evaluation
        return False
    options = () if verb is None else verb.params
    return any("--config" in option.opts and option.default is None for option in options)


def _complain(message: str, status: int) -> None:
    Console(stderr=True, soft_wrap=True).print(f"error: {message}", markup=False, highlight=False)
    sys.exit(status)
