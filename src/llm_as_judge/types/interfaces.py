"""The interfaces: what talks to a chat model, runs untrusted code, writes programs, embeds texts.

Each is a Protocol with the values that cross it, and has a scripted or tiny real twin for tests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from llm_as_judge.types.plain import omit_default
from llm_as_judge.types.values import Completion, Json, Problem, PromptFacts, ReplyLogProbs

T = TypeVar("T")


# --------------------------------------------------------------------------- interface: chat model
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
    """Which of the replies to this text is meant: 0 for the first call with it in a run of a program,
    1 for the second ..., counted from where its environment begins. Equal requests with equal draw
    have one reply, whoever asks."""
    executor: str = omit_default("")
    """Which of several executors is asked; empty = the default one. Taken off on the way to the model."""
    top_logprobs: int = omit_default(0)
    """Above 0: so many of the likeliest first tokens are asked for, see :attr:`ChatReply.first_token`."""

    def later(self, by: int) -> ChatRequest:
        """The draw that comes ``by`` after this one."""
        seed = None if self.seed is None else self.seed + by
        return replace(self, draw=self.draw + by, seed=seed)


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompt tokens, those that the endpoint had kept from an earlier request."""

    def cost(self, prompt_price: float) -> float:
        """In written tokens.

        Args:
            prompt_price: of a prompt token, likewise.
        """
        return self.prompt_tokens * prompt_price + self.completion_tokens


@dataclass(frozen=True, slots=True)
class SharedPrompt:
    """Of a request for several draws: its prompt was paid for once."""

    first_draw: int
    """Of the request; tells those with one prompt apart."""
    cost_usd: float | None
    """Of the prompt."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    text: str
    finish_reason: str
    """As the endpoint says it: ``stop``, ``length`` ..."""
    usage: Usage
    cost_usd: float | None = None
    """Of the reply and its whole prompt."""
    seconds: float = 0.0
    cached: bool = False
    attempts: int = 1
    shared_prompt: SharedPrompt | None = omit_default(None)  # noqa: RUF009 - a field
    """None: nobody else's."""
    first_token: Mapping[str, float] | None = omit_default(None)
    """Log-probability, nats, of the likeliest first tokens; None: not asked for, or the endpoint gives
    none."""
    logprobs: ReplyLogProbs | None = omit_default(None)  # noqa: RUF009 - a field
    """Of the reply's tokens; None: likewise, or of a recording of before they were kept."""


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


# ------------------------------------------------------------------------------ interface: sandbox
@dataclass(frozen=True, slots=True)
class RunLimits:
    """Bounds of one sandboxed run."""

    wall_s: float = 60.0
    """Of its own: the time in which the host answers its operator calls does not count, nor what others
    take of the machine."""
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
class StubReport:
    """How tests ended on functions that do nothing of what is asked for."""

    outcomes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Stub -> outcome of each test: ``passed``, ``failed``, or why no solution can pass it. Stubs:
    ``raise`` (raises), ``none`` (returns None), ``raise KIND`` (an exception that a handler of the
    tests names), in this order."""
    error: str = ""
    """Why the tests did not come to their end, where they did not: outcomes are then missing."""


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
    the sandbox itself is broken, or the machine had no time for the run (``OverloadError``).
    """

    @property
    def isolation(self) -> IsolationReport: ...

    async def run_workflow(
        self,
        source: str,
        arguments: Mapping[str, Json],
        serve: ServeOperator,
        limits: RunLimits,
    ) -> SandboxResult:
        """Create ``Workflow(name, llm_config, dataset)`` of ``source``, await ``__call__``.

        ``arguments`` are passed by name as far as the signature has them (``problem`` always).
        ``value`` is the first element of the returned tuple, or the returned value itself.
        """
        ...

    async def run_function(
        self, source: str, function: str | None, arguments: list[Json], limits: RunLimits
    ) -> SandboxResult:
        """Run ``source`` and call ``function(*arguments)``; ``value`` is ``str`` of what it
        returns, or None if it returns None. Function None: ``source`` alone, as a script."""
        ...

    async def run_tests(
        self,
        solution: str,
        entry_point: str,
        tests: tuple[str, ...],
        limits: RunLimits,
        setup_code: str = "",
    ) -> TestReport:
        """Run each test source with ``entry_point`` bound to the solution's function.

        The solution lives in a process of its own and only answers calls; tests and expected
        values are in another one, so that no solution can forge its verdict.
        """
        ...

    async def try_stubs(
        self,
        entry_point: str,
        tests: tuple[str, ...],
        limits: RunLimits,
        setup_code: str = "",
    ) -> StubReport:
        """Run each test source on functions that do nothing of what is asked for: a test that one
        of them passes grades nothing."""
        ...

    async def aclose(self) -> None: ...


# --------------------------------------------------------------------- interface: equal answers
class Equality(Protocol):
    """Which answers are the same answer. The graders' own:
    :class:`llm_as_judge.grading.equality.GradersEquality`."""

    async def __call__(self, problem: Problem, answers: Sequence[str]) -> list[int]:
        """For each answer the number of its class, from 0 in order of first appearance; of
        ``problem`` no gold answer is read."""
        ...


# ----------------------------------------------------------------------- interface: policy sampler
@dataclass(frozen=True, slots=True)
class Prompt:
    """What a policy is asked for one problem."""

    messages: Sequence[Message]
    facts: PromptFacts = PromptFacts()  # noqa: RUF009 - frozen


class Sample(NamedTuple):
    """One program, as it ends."""

    p: int
    """Position of its prompt."""
    k: int
    """Position among the samples of its prompt."""
    completion: Completion


@dataclass(frozen=True, slots=True)
class Sampling:
    """How programs are drawn."""

    samples: int
    """Of each prompt (K)."""
    temperature: float
    """0 is greedy."""
    max_new_tokens: int
    """Of one program at most."""
    seed: int = 0
    """The same seed, prompts and weights give the same programs."""


class SampleStream(Protocol):
    """Programs in the order in which they end: ``async for p, k, completion in stream``.

    Raises, while it is iterated:
        EndpointError: a program could not be written within the retries.
    """

    def __aiter__(self) -> AsyncIterator[Sample]: ...

    async def aclose(self) -> None:
        """End what is still being written."""
        ...


class PolicySampler(Protocol):
    """Writes programs: by the policy's own weights, on vLLM, from a recording, or fixed."""

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        """P x K programs. Returns once the weights that write them are settled: an update that is
        asked for later cannot change them. The writing goes on beside whatever the caller does.
        """
        ...


@runtime_checkable
class MeasuredSampler(PolicySampler, Protocol):
    """A sampler with figures of its own."""

    def metrics(self) -> dict[str, float]:
        """Since the last call; logged with each step."""
        ...


class PolicyTurn(Protocol):
    """Runs work on the policy outside the event loop: ``asyncio.to_thread`` or a thread that can be
    stopped."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


# ------------------------------------------------------------------------- interface: embedder
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
