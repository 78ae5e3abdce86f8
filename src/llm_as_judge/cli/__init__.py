"""The command line: one verb per file group, errors as one line with an exit status.

0 done · 1 failed (endpoint, sandbox, training) · 2 something a person can mend · 3 below a bar ·
130 stopped by Ctrl-C · 143 stopped by SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import typer
from dotenv import load_dotenv
from rich.console import Console

from llm_as_judge.cli.comparing import register as register_comparing
from llm_as_judge.cli.data import register as register_data
from llm_as_judge.cli.evaluating import register as register_evaluating
from llm_as_judge.cli.exporting import register as register_exporting
from llm_as_judge.cli.grading import register as register_grading
from llm_as_judge.cli.learning import register as register_learning
from llm_as_judge.cli.models import register as register_models
from llm_as_judge.cli.optimising import register as register_optimising
from llm_as_judge.cli.planning import register as register_planning
from llm_as_judge.cli.programs import register as register_programs
from llm_as_judge.cli.replicas import register as register_replicas
from llm_as_judge.cli.rescoring import register as register_rescoring
from llm_as_judge.cli.serving import register as register_serving
from llm_as_judge.cli.watching import register as register_watching
from llm_as_judge.config import load_config
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
    register_evaluating,
    register_comparing,
    register_optimising,
    register_planning,
    register_watching,
    register_replicas,
    register_rescoring,
    register_programs,
    register_serving,
    register_exporting,
    register_grading,
):
    register(app)


KEPT = {
    "train": "finished rollouts, steps and checkpoints are kept",
    "evaluate": "finished rollouts are kept",
    "audit": "verdicts given so far are kept",
    "optimise": "programs of the domains searched to the end are kept",
}
"""Of a verb that is stopped, where something is. The others keep nothing, or write at their end."""


class Stopped(SystemExit):
    """Ctrl-C or SIGTERM. No ``Exception``, so that nothing below takes it for a failure; and no
    ``KeyboardInterrupt``, which typer would turn into a silent exit."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of ``llm-as-judge`` and of the scripts that are doors to it."""
    # Threads that spin while they wait starve the embedded server on the same processors; torch
    # reads this when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    load_dotenv(Path(".env"))
    given = sys.argv[1:] if arguments is None else arguments
    try:
        with _signals():
            app(args=arguments)
    except UserError as error:
        _complain(f"{error}{_smaller(str(error), given)}", 2)
    except LlmAsJudgeError as error:
        _complain(str(error), 1)
    except Stopped as stop:
        print(stopped_line(given), file=sys.stderr)  # noqa: T201
        sys.exit(stop.code)
    except BrokenPipeError:  # the reader of our output went away: nobody to tell
        sys.stderr.close()
        sys.exit(1)


def stopped_line(arguments: Sequence[str]) -> str:
    """The last words of a command line that was stopped: what of it is on disk, if anything."""
    kept = KEPT.get(arguments[0]) if arguments else None
    return f"stopped; {kept}" if kept else "stopped"


@contextmanager
def _signals() -> Iterator[None]:
    """Servers and sandboxes are closed on the way out of Ctrl-C and of SIGTERM alike."""
    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)  # a shell's background job ignores it, and so do we
    before = {number: signal.signal(number, _stopped) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _smaller(message: str, arguments: list[str]) -> str:
    """What to add to ``message`` where it is about a model of the full-size configuration that
    nobody asked for: a newcomer's next command after `make run` has no --config."""
    if any(argument.startswith("--config") for argument in arguments):
        return ""
    try:
        usual = load_config()
    except UserError:  # then that is what the message says
        return ""
    names = (usual.policy.name, usual.executor.model, usual.judge.model)
    if not any(name in message for name in names):
        return ""
    return " (full-size configuration; for small models on this machine add --config embedded)"


def _complain(message: str, status: int) -> None:
    Console(stderr=True, soft_wrap=True).print(f"error: {message}", markup=False, highlight=False)
    sys.exit(status)


def _stopped(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)
