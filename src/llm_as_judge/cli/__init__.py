"""The command line: one verb per file group, errors as one line with an exit status.

0 done · 1 failed (endpoint, sandbox, training) · 2 something a person can mend · 3 below a bar.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

import typer
from dotenv import load_dotenv
from rich.console import Console

from llm_as_judge.cli.data import register as register_data
from llm_as_judge.cli.grading import register as register_grading
from llm_as_judge.cli.learning import register as register_learning
from llm_as_judge.cli.models import register as register_models
from llm_as_judge.cli.programs import register as register_programs
from llm_as_judge.cli.serving import register as register_serving
from llm_as_judge.cli.watching import register as register_watching
from llm_as_judge.errors import LlmAsJudgeError, UserError

__all__ = ["app", "main"]

app = typer.Typer(
    name="llm-as-judge",
    help="Trains a language model to write agent workflows, runs and grades them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for register in (
    register_data,
    register_models,
    register_learning,
    register_watching,
    register_programs,
    register_serving,
    register_grading,
):
    register(app)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of ``llm-as-judge`` and of the scripts that are doors to it."""
    signal.signal(signal.SIGTERM, _terminated)
    # Threads that spin while they wait starve the embedded server on the same processors; torch
    # reads this when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    load_dotenv(Path(".env"))
    try:
        app(args=arguments)
    except UserError as error:
        _complain(error, 2)
    except LlmAsJudgeError as error:
        _complain(error, 1)
    except KeyboardInterrupt:
        print("interrupted; finished steps and checkpoints are kept", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away: nobody to tell
        sys.stderr.close()
        sys.exit(1)


def _complain(error: Exception, status: int) -> None:
    Console(stderr=True, soft_wrap=True).print(f"error: {error}", markup=False, highlight=False)
    sys.exit(status)


def _terminated(number: int, frame: FrameType | None) -> None:
    # as after Ctrl-C: servers and sandboxes are closed on the way out
    raise KeyboardInterrupt
