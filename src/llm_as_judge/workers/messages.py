"""Messages between driver and worker: data as JSON text, every field checked on arrival.

Nothing that a model, a program or a row said is ever pickled: Ray carries these bytes as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from llm_as_judge.errors import SandboxError
from llm_as_judge.types import (
    ChatReply,
    ChatRequest,
    Execution,
    IsolationReport,
    Problem,
    Program,
    RunLimits,
    Verdict,
    from_json,
    to_json,
)
from llm_as_judge.workers.work import RunSettings


# ------------------------------------------------------------------------------ opening a worker
@dataclass(frozen=True, slots=True)
class Options:
    sandbox: str
    """``workflow.sandbox``."""
    concurrency: int
    """Programs at once, and as many gradings beside them."""
    limits: RunLimits
    """Of the programs to come."""
    plugins: tuple[str, ...] = ()
    """Modules to import first."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a worker is, once open."""

    node: str
    pid: int
    version: str
    rules: str
    """Fingerprint of its rules: workers that grade otherwise than the driver are refused."""
    isolation: IsolationReport


# ------------------------------------------------------------------------------- driver to worker
@dataclass(frozen=True, slots=True)
class Run:
    job: int
    program: Program
    problem: Problem
    """Without gold answers and hidden tests: no program needs them."""
    executor: str
    """Name of the model, which prompts may depend on."""
    settings: RunSettings


@dataclass(frozen=True, slots=True)
class Grade:
    job: int
    problem: Problem
    answer: str


@dataclass(frozen=True, slots=True)
class Cancel:
    job: int


@dataclass(frozen=True, slots=True)
class Replied:
    job: int
    call: int
    reply: ChatReply


@dataclass(frozen=True, slots=True)
class Refused:
    """The executor gave no reply."""

    job: int
    call: int
    kind: str
    """Name of the error's class."""
    error: str


# ------------------------------------------------------------------------------- worker to driver
@dataclass(frozen=True, slots=True)
class Asked:
    job: int
    call: int
    """Counts the calls of the job."""
    operator: str
    """Whom the call is billed to."""
    request: ChatRequest


@dataclass(frozen=True, slots=True)
class Ran:
    job: int
    execution: Execution


@dataclass(frozen=True, slots=True)
class Graded:
    job: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Broke:
    """No result: our failure, by the name of its error."""

    job: int
    kind: str
    message: str


Message = Run | Grade | Cancel | Replied | Refused | Asked | Ran | Graded | Broke
Ask = Run | Grade


def encode(messages: Sequence[Message | Options | Facts]) -> bytes:
    rows = [[type(message).__name__, to_json(message)] for message in messages]
    return json.dumps(rows, separators=(",", ":")).encode("ascii")


def decode(data: object, *kinds: type[Any]) -> list[Any]:
    """The messages of :func:`encode`, of these kinds and no others; without kinds: any message.

    Raises:
        SandboxError: it is none, or a field has a wrong type.
    """
    known = {kind.__name__: kind for kind in kinds or get_args(Message)}
    try:
        if not isinstance(data, bytes):
            raise TypeError(f"found {type(data).__name__}, wanted bytes")  # noqa: TRY301
        return [from_json(known[name], value) for name, value in json.loads(data)]
    except (TypeError, ValueError, KeyError, RecursionError) as error:
        raise SandboxError(f"a worker's message cannot be read: {error}") from None
