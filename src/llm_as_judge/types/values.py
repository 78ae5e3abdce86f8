"""The values, in the order they arise; see the package."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from llm_as_judge.types.datasets import DatasetInfo, Domain, dataset_info
from llm_as_judge.types.plain import omit_default

Budget = Literal["low", "middle", "high"]
"""How much calls may cost: a word of the policy's prompt."""
BUDGETS: tuple[Budget, ...] = get_args(Budget)
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""What crosses a process boundary or a file: never pickled, never evaluated."""


# --------------------------------------------------------------------------------------- problem
AnswerKind = Literal[
    "number",
    "quantity",
    "money",
    "percentage",
    "date",
    "time",
    "duration",
    "bound",
    "set",
    "sequence",
    "named_values",
    "choice",
    "yes_no",
    "short_text",
    "long_text",
    "expression",
]
"""What an answer is a value of. Two answers of one kind are compared as values of it."""
ANSWER_KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)
GraderName = Literal["exact", "typed", "judge", "tests"]
"""Who grades a row: equality of texts alone; typed values, else exact; the judge after the rules; hidden
tests."""
GRADER_NAMES: tuple[GraderName, ...] = get_args(GraderName)


@dataclass(frozen=True, slots=True)
class AnswerSpec:
    """What the owner of a row says of its answers; what is left out is read from the answers themselves."""

    kind: AnswerKind | None = None
    tolerance: float | None = None
    """Greatest absolute difference of two numbers that count as equal, in the unit of the gold answer."""
    unit: str = ""
    """Of answers without one: ``km/h``, ``EUR``, ``%``."""
    grader: GraderName | None = None

    @property
    def contradiction(self) -> str:
        """Why its parts do not fit together, as one line; empty where they do."""
        if self.tolerance is not None and not 0 <= self.tolerance < math.inf:
            return f"'tolerance' is {self.tolerance:g}, wanted a number from 0 on"
        said = {"tolerance": self.tolerance, "unit": self.unit or None}
        for name, value in said.items():
            if value is None:
                continue
            if self.kind not in _MEASURED:
                return f"'{name}' is {value!r}, but a {self.kind} is no number; leave it out"
            if self.grader in ("exact", "judge"):
                return (
                    f"'{name}' is {value!r}, but 'grader' is {self.grader!r}, which compares no numbers; "
                    "leave one of them out"
                )
        return ""


_MEASURED: frozenset[AnswerKind | None] = frozenset(
    [None, "number", "quantity", "money", "percentage", "duration", "bound"]
)
"""Kinds that may have a tolerance or a unit; None: the kind is read from the answer."""


UNSPECIFIED = AnswerSpec()
"""Of a row whose owner says nothing: all is read from the answers."""


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
    """Code: Python sources that raise unless the solution is right. They alone grade, and what of them
    is no visible test, no solver sees."""
    meta: Mapping[str, str] = field(default_factory=dict)
    spec: AnswerSpec = omit_default(UNSPECIFIED)  # noqa: RUF009 - a field
    """How the owner of the row wants its answers compared."""

    @property
    def dataset_info(self) -> DatasetInfo:
        """What is known of all problems of this one's set."""
        return dataset_info(self.dataset, self.domain)

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
    """What the policy wrote. The trainer uses these ids; ``text`` is never tokenized again."""

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
    expected_calls: float = 0.0
    """The same, if each operator that may stop early does so with an even chance."""
    hash: str = ""
    """Hash of the normalized program: equal programs of a group are run once."""

    @property
    def strictly_valid(self) -> bool:
        """True when the text runs as written: no finding, no repair."""
        return bool(self.runnable) and not self.diagnostics and not self.repairs


# ------------------------------------------------------------------------------------- execution
DEFAULT_EXECUTOR = "default"
"""What a program calls the executor that is asked where it names none."""
PROMPT_PRICE = 0.25
"""Of a prompt token, in written tokens, where the prices of an endpoint are not known."""


@dataclass(frozen=True, slots=True)
class ReplyLogProbs:
    """How sure a model was of the tokens of a reply, in nats, by its own distribution."""

    tokens: int
    """Listed by the endpoint: those of thoughts, and the one that ends the reply, where it lists them."""
    mean: float
    """Log-probability of the tokens that were drawn."""
    entropy: float | None = omit_default(None)
    """Mean over the tokens, of the likeliest ones that the endpoint lists and the rest as one; None: it
    lists the drawn ones alone."""

    def __post_init__(self) -> None:
        if not -math.inf < self.mean <= 0 or not math.isfinite(self.entropy or 0):
            raise ValueError(f"mean {self.mean}, entropy {self.entropy}: no log-probabilities")

    @property
    def likelihood(self) -> float:
        """Of a token, 0 to 1: geometric mean."""
        return math.exp(self.mean)


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
    """How many of ``llm_calls`` were answered from the group's shared draws, the pool or a recording: which of two
    equal calls came first is a matter of timing."""
    error: str = ""
    """What went wrong inside the operator; its result is then the empty value."""
    notes: tuple[str, ...] = ()
    """Which operator hints the prompt got (``enhanced: NAME``), and what the operator remarks."""
    cost: float | None = None
    """In written tokens of the default executor: those written, and at its price each prompt that this execution had not asked
    before; all at the price of the executor that was asked. None in files of before it was kept."""
    executor: str = omit_default("")
    """Which of several executors it asked; empty = the default one."""
    logprobs: tuple[ReplyLogProbs, ...] = omit_default(())
    """Of its replies in their order; those of an endpoint that gives none are left out."""


ExecutionStatus = Literal[
    "ok", "malformed", "rejected", "timeout", "crashed", "call_limit", "no_answer"
]
"""``ok``; ``malformed``: no program in the reply; ``rejected``: the check found it cannot run;
``timeout``; ``crashed``: raised, or broke a limit; ``call_limit``: wanted one executor call more than a
run may make; ``no_answer``: ended without an answer."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What happened when a program ran on its problem."""

    status: ExecutionStatus
    answer: str = ""
    calls: tuple[OperatorCall, ...] = ()
    seconds: float = 0.0
    error: str = ""
    again: tuple[Execution, ...] = ()
    """Further runs of the program on the problem, each from the next draw on."""

    @property
    def runs(self) -> tuple[Execution, ...]:
        """This one and the further ones."""
        return (self, *self.again)

    @property
    def llm_calls(self) -> int:
        return sum(call.llm_calls for call in self.calls)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens of all executor calls, shared replies counted in full."""
        return sum(call.prompt_tokens + call.completion_tokens for call in self.calls)

    @property
    def cost(self) -> float:
        """In written tokens; of a call that does not say it, its prompts as often as they were asked."""
        return sum(
            call.prompt_tokens * PROMPT_PRICE + call.completion_tokens
            if call.cost is None
            else call.cost
            for call in self.calls
        )

    @property
    def cost_usd(self) -> float | None:
        """US dollars; None as soon as one call's price is unknown."""
        known = [call.cost_usd for call in self.calls if call.cost_usd is not None]
        return sum(known, 0.0) if len(known) == len(self.calls) else None


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
    share: float | None = None
    """Of right ones among the graded runs, where a program is run several times; ``correct`` is of the
    first."""
    again: tuple[Verdict, ...] = ()
    """Of the further runs, as in ``Execution.again``; none in files of before they were kept."""
    confidence: float | None = None
    """Probability of being right, 0..1, where the judge that decided knows one."""
    kind: AnswerKind | None = omit_default(None)  # noqa: RUF009 - a field
    """As values of which kind gold answer and answer were compared; None = they were not (code, guard, a judge)."""

    @property
    def right(self) -> float | None:
        """0..1: the share, of one run 0 or 1; None = not graded."""
        if self.correct is None:
            return None
        return float(self.correct) if self.share is None else self.share


# ---------------------------------------------------------------------------------------- reward
@dataclass(frozen=True, slots=True)
class RewardPart:
    score: float
    """-10..10; under the scheme ``priced`` a share, or thousands of written tokens"""
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

    def each_draw(self, draws: int) -> tuple[Rollout, ...]:
        """One rollout for each of ``draws`` runs of the program. A program that was run once, or not
        at all, came to the same in each."""
        execution, verdict = self.execution, self.verdict
        if execution is None or not execution.again:
            return (self,) * draws
        executions = (replace(execution, again=()), *execution.again)
        verdicts: tuple[Verdict | None, ...] = (None,)
        if verdict is not None:
            verdicts = (replace(verdict, share=None, again=()), *verdict.again)
        graded = (*verdicts, *[None] * (len(executions) - len(verdicts)))
        return tuple(
            replace(self, execution=one, verdict=its)
            for one, its in zip(executions, graded, strict=True)
        )


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
    budget: Budget | None = None
    """That it named; None = none."""


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
