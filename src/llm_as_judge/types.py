"""The values that flow through the system, in the order they arise.

    Problem -> Completion -> Program -> Execution -> Verdict -> Reward

All of them are held by one ``Rollout``; K rollouts of one problem make a ``Group``; groups make a
training step. Every value is a frozen dataclass that survives a round trip through JSON
(:func:`to_json`, :func:`from_json`), so that one rollout is one line of ``rollouts.jsonl``.

Two kinds of misfortune are never mixed:

* the *program's* fault is ``Execution.status`` and earns a low reward;
* *our* fault (endpoint down, sandbox broken) is a ``Failure``: the rollout leaves its group.
"""

from __future__ import annotations

import dataclasses
import types as _types
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

__all__ = [
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Completion",
    "Diagnostic",
    "Domain",
    "Embedder",
    "Execution",
    "ExecutionStatus",
    "Failure",
    "Group",
    "IsolationReport",
    "Json",
    "Limits",
    "Message",
    "OperatorCall",
    "PolicySampler",
    "Problem",
    "Program",
    "PromptFacts",
    "Reward",
    "RewardPart",
    "Rollout",
    "Sandbox",
    "SandboxResult",
    "ServeOperator",
    "StopReason",
    "TestReport",
    "Usage",
    "Verdict",
    "from_json",
    "to_json",
]

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""What crosses a process boundary or a file: never pickled, never evaluated."""

Domain = Literal["math", "qa", "code"]


# --------------------------------------------------------------------------------------- problem
@dataclass(frozen=True, slots=True)
class Problem:
    """One task with its gold answers.

    ``answers`` holds every accepted gold answer; for a QA problem an empty tuple means
    *unanswerable*. Code problems have no ``answers``: their gold is ``hidden_tests``.
    """

    id: str
    """``dataset/split/number``, unique: ``gsm8k/train/42``."""
    dataset: str
    domain: Domain
    question: str
    """What the solver is told, without the context. For code: the task with its signature."""
    answers: tuple[str, ...] = ()
    context: str = ""
    """Passages a QA problem is about, as one text; empty where there is none."""
    options: tuple[str, ...] = ()
    """Multiple choice: the option texts in order (A, B, C ...); the gold answer is the letter."""
    entry_point: str = ""
    """Code: name of the function to write; empty otherwise."""
    setup_code: str = ""
    """Code: source run before the solution (imports, helpers, the stub of the function)."""
    visible_tests: tuple[str, ...] = ()
    """Code: assert statements a solver may see and run (the Test operator)."""
    hidden_tests: tuple[str, ...] = ()
    """Code: Python sources that raise unless the solution is right. Grading only."""
    meta: Mapping[str, str] = field(default_factory=dict)

    def statement(self) -> str:
        """The full text a workflow receives as ``problem``: context, question, options."""
        parts = []
        if self.context:
            parts.append(f"Context:\n{self.context}\n")
        parts.append(f"Question: {self.question}" if self.context else self.question)
        if self.options:
            letters = (f"{chr(65 + i)}. {text}" for i, text in enumerate(self.options))
            parts.append("Options:\n" + "\n".join(letters))
        return "\n".join(parts)


# ------------------------------------------------------------------------------------ completion
StopReason = Literal["stop", "length"]
"""``stop``: the model ended its reply. ``length``: cut off at the token limit."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the policy wrote. The trainer uses these ids; ``text`` is never tokenised again."""

    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    """Sampled ids, the end-of-turn token included when ``stop == "stop"``."""
    logprobs: tuple[float, ...]
    """Nats, one per sampled token, under the distribution it was drawn from."""
    text: str
    stop: StopReason
    policy_version: int = 0


# --------------------------------------------------------------------------------------- program
@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding of the static check."""

    code: str
    """``W101`` and the like; docs/programs.md lists them."""
    line: int
    """1-based line in ``Program.source``; 0 when the finding is about the whole text."""
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """The checked program of one completion."""

    source: str
    """What the policy wrote, extracted from the reply, before any repair."""
    runnable: str
    """The copy that runs: ``source``, or its repaired form; empty when it cannot run."""
    operators: tuple[str, ...] = ()
    """Operator classes called, in order of first appearance."""
    diagnostics: tuple[Diagnostic, ...] = ()
    repairs: tuple[str, ...] = ()
    """Names of the repairs that ``runnable`` needed; empty = it runs as written."""
    worst_case_calls: int = 0
    """Greatest number of executor calls that one run can make."""
    hash: str = ""
    """Hash of the normalised program: equal programs of a group are run once."""

    @property
    def strictly_valid(self) -> bool:
        """True when the text runs as written: no finding, no repair."""
        return bool(self.runnable) and not self.diagnostics and not self.repairs


# ------------------------------------------------------------------------------------- execution
@dataclass(frozen=True, slots=True)
class OperatorCall:
    """One operator call of a workflow, with what its executor calls used."""

    operator: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    """None = the price of the model is unknown (never 0)."""
    seconds: float = 0.0
    llm_calls: int = 0
    cached: int = 0
    """How many of ``llm_calls`` were answered from the group's shared draws or the cache."""
    error: str = ""
    """What went wrong inside the operator; its result is then the empty value."""
    notes: tuple[str, ...] = ()
    """What layer 2 added to the prompt (``enhanced: NAME``), and what the operator remarks."""


ExecutionStatus = Literal["ok", "malformed", "rejected", "timeout", "crashed", "no_answer"]
"""``ok``; ``malformed``: no program in the reply; ``rejected``: the check found it cannot run;
``timeout``; ``crashed``: raised, or broke a limit; ``no_answer``: ended without an answer."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What happened when a program ran on its problem."""

    status: ExecutionStatus
    answer: str = ""
    calls: tuple[OperatorCall, ...] = ()
    seconds: float = 0.0
    error: str = ""

    @property
    def llm_calls(self) -> int:
        return sum(call.llm_calls for call in self.calls)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens of all executor calls, shared replies counted in full."""
        return sum(call.prompt_tokens + call.completion_tokens for call in self.calls)

    @property
    def cost_usd(self) -> float | None:
        """US dollars; None as soon as one call's price is unknown."""
        total = 0.0
        for call in self.calls:
            if call.cost_usd is None:
                return None
            total += call.cost_usd
        return total


# --------------------------------------------------------------------------------------- verdict
@dataclass(frozen=True, slots=True)
class Verdict:
    """Is the answer right? ``correct is None`` means *not graded*: out of loss and accuracy."""

    correct: bool | None
    stage: str
    """Part of the cascade that decided: ``guard``, ``exact``, ``math``, ``qa``, ``code``, ``llm``..."""
    rule: str
    """Identifier of the rule within the stage, e.g. ``number.equal``."""
    explanation: str = ""
    score: float | None = None
    """The set's own graded metric in 0..1 where it has one (F1 for QA)."""
    cost_usd: float | None = 0.0


# ---------------------------------------------------------------------------------------- reward
@dataclass(frozen=True, slots=True)
class RewardPart:
    score: float
    """-10..10"""
    weight: float


@dataclass(frozen=True, slots=True)
class Reward:
    parts: Mapping[str, RewardPart]
    total: float
    """Weighted sum of the parts: at most 10."""


# ------------------------------------------------------------------------------- rollout and group
@dataclass(frozen=True, slots=True)
class Failure:
    """Our fault, not the program's: dropped from the group and counted."""

    stage: Literal["sample", "execute", "grade"]
    kind: str
    """Class of the error: ``EndpointError``, ``SandboxError`` ..."""
    message: str


@dataclass(frozen=True, slots=True)
class Rollout:
    """One completion with all that followed from it. ``reward`` is None exactly when the rollout
    cannot be scored: it failed (``failure``) or was not graded (``verdict.correct is None``)."""

    problem_id: str
    index: int
    """Position in the group, 0..K-1."""
    completion: Completion
    program: Program
    execution: Execution | None = None
    verdict: Verdict | None = None
    reward: Reward | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """What a prompt showed besides rules and operators."""

    examples: int = 0
    """Solved problems shown, retrieved ones among them."""
    retrieved: tuple[str, ...] = ()
    """Ids of the problems whose programs came from the experience buffer."""
    examples_dropped: int = 0
    """Left out because the prompt would not have fitted the context."""
    cut_characters: int = 0
    """Of the problem's text that the policy did not see; the workflow gets all of it."""


@dataclass(frozen=True, slots=True)
class Group:
    """K rollouts of one problem."""

    problem: Problem
    rollouts: tuple[Rollout, ...]
    prompt: PromptFacts = PromptFacts()

    @property
    def scored(self) -> tuple[Rollout, ...]:
        return tuple(r for r in self.rollouts if r.reward is not None)

    @property
    def rewards(self) -> tuple[float, ...]:
        """Totals of the scored rollouts, in their order."""
        return tuple(r.reward.total for r in self.rollouts if r.reward is not None)


# -------------------------------------------------------------------------------- seam: chat model
@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    json_schema: Mapping[str, Any] | None = None
    """Where given, the reply must be a JSON text of this schema (if the endpoint can)."""
    draw: int = 0
    """0 for the first call with this text inside a rollout, 1 for the second ...: equal requests
    with equal draw may share one reply, so that a group differs by its programs alone."""


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatReply:
    text: str
    finish_reason: str
    """As the endpoint says it: ``stop``, ``length`` ..."""
    usage: Usage
    cost_usd: float | None = None
    seconds: float = 0.0
    cached: bool = False
    attempts: int = 1


class ChatModel(Protocol):
    """Executor or judge. Twin for tests: :class:`llm_as_judge.llm.scripted.ScriptedChat`."""

    @property
    def name(self) -> str: ...

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply.

        Raises:
            EndpointError: no usable reply within the retries and the deadline.
        """
        ...


# ----------------------------------------------------------------------------------- seam: sandbox
@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one sandboxed run."""

    wall_s: float = 60.0
    cpu_s: float = 10.0
    memory_bytes: int = 512 * 2**20
    output_bytes: int = 2**20
    """Printed text kept; a run that prints more is ended."""
    answer_bytes: int = 256 * 2**10
    operator_calls: int = 64


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """``ok``: returned ``value``. ``error``: raised (``error`` = one line, type and message).
    ``timeout``: wall or CPU time. ``limit``: memory, output, calls or answer size.
    ``died``: the process ended without a result."""

    status: Literal["ok", "error", "timeout", "limit", "died"]
    value: Json = None
    output: str = ""
    """What the run printed (capped)."""
    error: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TestReport:
    """Outcome of running tests against a solution."""

    __test__ = False  # a value, not a pytest class
    passed: bool
    total: int
    failed: tuple[int, ...] = ()
    """Indices of the tests that did not pass."""
    error: str = ""
    """First failure, one line, without the expected value of a hidden test."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class IsolationReport:
    """What was *observed* to hold in a probe run, printed at start and saved with the run."""

    mechanism: str
    """``subprocess``, ``bubblewrap+seccomp`` ..."""
    holds: Mapping[str, bool]
    """Property -> seen to hold: ``no_network``, ``no_host_files``, ``memory_limit`` ..."""


ServeOperator = Callable[[str, list[Json], dict[str, Json]], Awaitable[Json]]
"""``await serve("AnswerGenerate", args, kwargs)`` answers one operator call of a program."""


class Sandbox(Protocol):
    """Runs untrusted code; nothing untrusted is executed anywhere else.

    Every method returns a value for whatever the code does; it raises ``SandboxError`` only when
    the sandbox itself is broken.
    """

    @property
    def isolation(self) -> IsolationReport: ...

    async def run_workflow(
        self,
        source: str,
        arguments: Mapping[str, Json],
        serve: ServeOperator,
        limits: Limits,
    ) -> SandboxResult:
        """Create ``Workflow(name, llm_config, dataset)`` of ``source``, await ``__call__``.

        ``arguments`` are passed by name as far as the signature has them (``problem`` always).
        ``value`` is the first element of the returned tuple, or the returned value itself.
        """
        ...

    async def run_function(
        self, source: str, function: str, arguments: list[Json], limits: Limits
    ) -> SandboxResult:
        """Run ``source`` and call ``function(*arguments)``; ``value`` is ``str`` of what it
        returns, or None if it returns None."""
        ...

    async def run_tests(
        self,
        solution: str,
        entry_point: str,
        tests: tuple[str, ...],
        limits: Limits,
        setup_code: str = "",
    ) -> TestReport:
        """Run each test source with ``entry_point`` bound to the solution's function.

        The solution lives in a process of its own and only answers calls; tests and expected
        values are in another one, so that no solution can forge its verdict.
        """
        ...

    async def aclose(self) -> None: ...


# ---------------------------------------------------------------------------- seam: policy sampler
class PolicySampler(Protocol):
    """Writes programs. Twin for tests: :class:`llm_as_judge.policy.scripted.ScriptedSampler`."""

    def sample(
        self,
        prompts_P: list[list[Message]],
        samples_per_prompt: int,
        *,
        temperature: float,
        max_new_tokens: int,
        seed: int,
    ) -> list[list[Completion]]:
        """(P, K) completions. ``temperature == 0`` is greedy."""
        ...


# ------------------------------------------------------------------------------ seam: embedder
class Embedder(Protocol):
    """Texts to vectors whose cosine says how alike the texts are."""

    @property
    def name(self) -> str:
        """Of the model: vectors of two models must not be compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of unit length for each text. May be called from several threads."""
        ...


# ------------------------------------------------------------------------------------------- JSON
def to_json(value: Any) -> Any:
    """Dataclasses to dicts, tuples to lists, recursively; everything else as it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def from_json(kind: Any, data: Any) -> Any:
    """The inverse of :func:`to_json` for the types of this module.

    Raises:
        TypeError: ``data`` has not the shape of ``kind``; the message names the field.
    """
    return _build(kind, data, where=getattr(kind, "__name__", str(kind)))


def _build(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if kind is Any:
        return data
    if dataclasses.is_dataclass(kind):
        if not isinstance(data, Mapping):
            raise TypeError(f"{where}: found {type(data).__name__}, wanted an object")
        hints = typing.get_type_hints(kind)
        unknown = set(data) - set(hints)
        if unknown:
            raise TypeError(f"{where}: unknown field {sorted(unknown)[0]!r}")
        values = {k: _build(hints[k], v, f"{where}.{k}") for k, v in data.items()}
        try:
            return typing.cast(Any, kind)(**values)
        except TypeError as error:
            raise TypeError(f"{where}: {error}") from None
    if origin is tuple:
        if not isinstance(data, (list, tuple)):
            raise TypeError(f"{where}: found {type(data).__name__}, wanted a list")
        item = typing.get_args(kind)[0]
        return tuple(_build(item, x, f"{where}[{i}]") for i, x in enumerate(data))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, Mapping):
            raise TypeError(f"{where}: found {type(data).__name__}, wanted an object")
        item = typing.get_args(kind)[1]
        return {str(k): _build(item, v, f"{where}.{k}") for k, v in data.items()}
    if origin is Literal:
        if data not in typing.get_args(kind):
            raise TypeError(f"{where}: found {data!r}, wanted one of {typing.get_args(kind)}")
        return data
    if origin in (typing.Union, _types.UnionType):
        if data is None and type(None) in typing.get_args(kind):
            return None
        inner = [arm for arm in typing.get_args(kind) if arm is not type(None)]
        return _build(inner[0], data, where)
    if kind is float and isinstance(data, (int, float)) and not isinstance(data, bool):
        return float(data)
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise TypeError(f"{where}: found {type(data).__name__}, wanted {kind.__name__}")
    return data
