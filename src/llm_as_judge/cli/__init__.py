"""The command line: a verb or a group of verbs a file, errors as one line with an exit status.

0 done · 1 failed (endpoint, sandbox, training) · 2 something a person can mend · 3 below a bar ·
130 stopped by Ctrl-C · 143 stopped by SIGTERM.
"""

from __future__ import annotations

import os
import sys
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import typer
from dotenv import load_dotenv

from llm_as_judge import __version__
from llm_as_judge.cli.stopping import Stopped, signals, stopped_line
from llm_as_judge.cli.table import app, verb_of
from llm_as_judge.errors import LlmAsJudgeError, UserError

__all__ = ["app", "main"]


_command = cache(partial(typer.main.get_command, app))  # a test calls many verbs in one process


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
    given = sys.argv[1:] if arguments is None else arguments
    try:
        with signals():
            _look_at(given)
            # doors and -m are not to name themselves
            _command()(args=given, prog_name="llm-as-judge")
    except UserError as error:
        from llm_as_judge.cli.asking import smaller_models

        verb = verb_of(given)
        _complain(str(error) + (smaller_models(str(error), verb, given) if verb else ""), 2)
    except LlmAsJudgeError as error:
        _complain(str(error), 1)
    except Stopped as stop:
        print(stopped_line(given, stop.kept), file=sys.stderr)  # noqa: T201
        sys.exit(stop.code)
    except BrokenPipeError:  # the reader of our output went away: nobody to tell
        sys.stderr.close()
        sys.exit(1)


def _look_at(words: list[str]) -> None:
    """Before the verb: what it reads, and options that are keys. ``--help`` loads no configuration."""
    verb = verb_of(words)
    if verb is None or "--help" in words:
        return
    from llm_as_judge.cli.asking import refuse_keys_as_options, say_what_is_read

    refuse_keys_as_options(verb, words)
    say_what_is_read(verb, words)


def _complain(message: str, status: int) -> None:
    from llm_as_judge.quoting import printable
    from llm_as_judge.views.console import note

    lines = map(printable, message.split("\n"))  # names of files may hold anything
    note("error: " + "\n".join(lines))
    sys.exit(status)
