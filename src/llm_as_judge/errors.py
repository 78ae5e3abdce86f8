"""One tree of errors, one class per boundary crossed.

    LlmAsJudgeError
    ├── UserError            what a person can mend: exit 2, one line, no traceback
    │   ├── ConfigError      unknown key, wrong type, missing file
    │   ├── DataError        a row or file that cannot be read (file:line)
    │   ├── ModelError       weights or endpoint missing, checksum wrong
    │   │   └── NotRecordedError  a replay was asked what was not recorded
    │   ├── OutputError      the output folder cannot be written
    │   ├── AuditError       the judge has no fresh passing audit
    │   ├── GraderError      a grader, rule or judge raised on one answer: that rollout fails, no run
    │   └── BudgetError      the run has used what it may use
    ├── EndpointError        an executor or judge gave no usable reply
    │   └── RefusedRequestError     no further try changes it: the doing of the request
    │       ├── ContextError        the request is longer than the model's context
    │       └── ContentFilterError  the request or its reply is filtered, or the model refuses
    ├── DeadlineError        a rollout had no verdict in time
    ├── SandboxError         the sandbox itself is broken (never: the program misbehaved)
    │   ├── OverloadError    the machine had no time for a run: it says nothing about the program
    │   └── IsolationError   no sandbox as asked for holds on this machine; also a UserError
    ├── ProcessError         a worker process of ours could not be started, or died
    └── TrainingError        the run must stop: log-probs drifted, loss not finite

A message says where, what was found, what was wanted and what to do.
"""

from __future__ import annotations

from llm_as_judge.quoting import without_keys

_LONGEST = 2000


class LlmAsJudgeError(Exception):
    """Base of all errors raised on purpose.

    A message often quotes what was found, which may be a whole file or no text that can be written:
    it is shown up to a length, what is no character as its number, an address without the user and
    password that it may hold, and a known key or what looks like one as ``***``.
    """

    def __init__(self, message: str = "") -> None:
        text = without_keys(message.encode(errors="backslashreplace").decode())
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 2]} [...] {text[-_LONGEST // 2 :]}"
        super().__init__(text)


class UserError(LlmAsJudgeError):
    """What a person can mend. The command line prints it as one line and exits with 2."""


class ConfigError(UserError):
    """Configuration: unknown key, wrong type, contradiction, missing file."""


class DataError(UserError):
    """A data file or row that cannot be read; the message starts with ``file:line``."""


class ModelError(UserError):
    """Weights that cannot be found or verified, an endpoint that does not answer at start."""


class NotRecordedError(ModelError):
    """A replay was asked for a reply that the pool or recording lacks."""


class OutputError(UserError):
    """An output folder that cannot be written (permission, full disk)."""


class AuditError(UserError):
    """The judge has no fresh passing audit report."""


class GraderError(UserError):
    """A grader, rule or judge raised on one answer. A rollout of it has failed, its siblings go on."""


class BudgetError(UserError):
    """The next call could pass a budget in dollars, tokens or calls: the run stops, resumable."""


class EndpointError(LlmAsJudgeError):
    """An endpoint gave no usable reply within its retries and deadline."""


class RefusedRequestError(EndpointError):
    """This request gets no reply. Trying again cannot help, and unlike its parent it is the doing of
    whoever wrote the request, not of the endpoint."""


class ContextError(RefusedRequestError):
    """The request does not fit the model's context."""


class ContentFilterError(RefusedRequestError):
    """A content filter holds the request or its reply back, or the model refuses to reply."""


ENDPOINT_ERRORS: dict[str, type[EndpointError]] = {
    kind.__name__: kind for kind in (EndpointError, ContextError, ContentFilterError)
}
"""By name, as they cross to another process and back."""


class DeadlineError(LlmAsJudgeError):
    """A rollout had no verdict in the time it may take, waiting for its turn included."""


class SandboxError(LlmAsJudgeError):
    """The sandbox itself is broken; what a program does inside never raises this."""


class OverloadError(SandboxError):
    """The machine gave a run too little processor time to say anything about its program."""


class IsolationError(SandboxError, UserError):
    """No sandbox of the mechanism asked for holds here; says what to install."""


class ProcessError(LlmAsJudgeError):
    """A worker process of this package could not be started, or died."""


class TrainingError(LlmAsJudgeError):
    """The run must stop rather than learn from numbers that are wrong."""
