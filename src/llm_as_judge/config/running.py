"""Configuration sections of executor, sandbox, kept replies, budget, learned stop and workers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from llm_as_judge.config.reading import Number, Section
from llm_as_judge.quoting import quoted
from llm_as_judge.reward import PRICES
from llm_as_judge.types import DEFAULT_EXECUTOR

_EXECUTOR_NAME = re.compile(r"[A-Za-z][\w-]{0,31}", re.ASCII)


class ExecutorConfig(Section):
    """The frozen model that operators call."""

    model: str = Field(
        "gpt-oss-120b",
        description="Name or model_name of an endpoint; GGUF weights, named like policy.name; or "
        "`scripted`.\n"
        "Endpoints stand in aflow_llm.yaml or [below](#endpoints). GGUF weights run in the "
        "embedded server.",
    )
    temperature: Number | None = Field(
        None,
        ge=0,
        description="Temperature of operators that draft. Default: the endpoint's, else 0.\n"
        "Operators that draft: custom, answer_generate, custom_code_generate, programmer, "
        "until_passed.\n"
        "Other operators take the endpoint's, else 0, and never a higher one than those that draft.",
    )
    seed: int | None = Field(
        None,
        ge=0,
        description="Seed of the executor's replies, and part of the key of every kept reply. Default: "
        "training.seed.\n"
        "With the default each training seed asks anew.",
    )
    draw_offset: int = Field(
        0,
        ge=0,
        description="Index of the first draw that a program sees.\n"
        "Equal calls of one run get this draw, then the next ones.\n"
        "Run k of workflow.draws begins k draws later.",
    )
    top_p: Number | None = Field(
        None,
        gt=0,
        le=1,
        description="Nucleus (top_p) of operator calls. Default: the endpoint's, else 1.",
    )
    max_tokens: int = Field(2048, ge=1, description="Maximum tokens of an operator reply.")
    max_tokens_of: dict[str, Annotated[int, Field(ge=1)]] = Field(
        {}, description="Maximum tokens of a reply by data set, for sets with longer solutions."
    )
    enhance: bool = Field(
        True,
        description="Add the operator hints that fit operator, domain and executor.\n"
        "The hints are lines of config/prompts/operators/enhancements.yaml. The `notes` of "
        "each call name those added.",
    )
    concurrency: int = Field(
        64,
        ge=1,
        description="Maximum requests in flight. An embedded server gets at most its slots.",
    )
    context_tokens: int = Field(4096, ge=256, description="Embedded server: tokens a slot holds.")
    slots: int = Field(8, ge=1, description="Embedded server: requests served at once.")
    start_timeout_s: Number = Field(
        180.0,
        gt=0,
        description="Embedded server: seconds until it has read its weights and answers; then the run ends.",
    )
    draws_at_once: int | None = Field(
        None,
        ge=1,
        description="Maximum draws of one prompt in one request (`n`), which pays for the prompt once. 1: "
        "one request a draw.\n"
        "Default: up to 8, where a first request shows that the endpoint can.\n"
        "With a number above 1 the endpoint must.",
    )
    timeout_s: Number = Field(120.0, gt=0, description="Deadline of one request.")
    retries: int = Field(3, ge=0, description="Tries after the first, with backoff.")


class NamedExecutorConfig(Section):
    """One executor beside the default one; all else is as `executor` says."""

    model: str = Field(description="Like executor.model, but another one.")
    price: Number | None = Field(
        None,
        gt=0,
        description="Price of a written token, in written tokens of `executor.model`. Default: from the "
        "dollar prices of both endpoints.",
    )
    strength: str = Field(
        "", max_length=200, description="What it is good at, for the policy's prompt: one line."
    )

    @field_validator("strength")
    @classmethod
    def _one_line(cls, text: str) -> str:
        if not text.isprintable():
            raise ValueError("wanted one line of plain text")
        return text


def checked_executor_names(named: Iterable[str]) -> None:
    """
    Raises:
        ValueError: a name that a program cannot use.
    """
    for name in named:
        if name == DEFAULT_EXECUTOR:
            raise ValueError(
                f"executors.{name}: this is what programs call executor.model; take another name"
            )
        if not _EXECUTOR_NAME.fullmatch(name):
            raise ValueError(
                f"executors.{quoted(name, 40)}: wanted a name of letters, digits, _ and -, a letter first, "
                "32 characters at most"
            )


class WorkflowConfig(Section):
    """Running a program on a problem."""

    sandbox: Literal["auto", "jail", "landlock", "subprocess"] = Field(
        "auto",
        description="`auto`: `jail`, else `landlock`. `subprocess`: limits alone. A run does not start "
        "where it does not hold.\n"
        "The jail is namespaces and a filter of system calls.",
    )
    timeout_s: Number = Field(
        180.0,
        gt=0,
        description="Wall time of one run; waiting for answers to its operator calls is not counted.",
    )
    cpu_s: Number = Field(10.0, gt=0, description="Processor time of one run.")
    memory_mb: int = Field(512, ge=64, description="Address space of one run.")
    code_timeout_s: Number = Field(
        10.0, gt=0, description="Wall time of one run of code that the executor wrote."
    )
    code_cpu_s: Number = Field(5.0, gt=0, description="Processor time of such a run.")
    max_operator_calls: int = Field(32, ge=1, description="Operator calls of one run.")
    max_calls: int = Field(
        32,
        ge=1,
        description="Maximum executor calls of a run. One more ends it (`call_limit`).\n"
        "So a program may have a high worst case that it hardly ever reaches.",
    )
    max_worst_case_calls: int = Field(
        96,
        ge=1,
        description="Maximum executor calls that a program could make at worst. A program above it is "
        "rejected without a run.",
    )
    draws: int = Field(
        1,
        ge=1,
        description="Runs of each program on its problem, in training and evaluation, each on the "
        "executor's next draws.\n"
        "Accuracy, costs and the reward scheme `priced` take their mean.\n"
        "More than 1 needs executor.temperature above 0.",
    )
    concurrency: int = Field(8, ge=1, description="Programs in flight at once.")
    rollout_timeout_s: Number | None = Field(
        3600.0,
        gt=0,
        description="Maximum seconds from a program's last token to its verdict, waiting included. null: "
        "no limit.\n"
        "A later verdict counts as our failure, and the rollout leaves its group.",
    )

    @property
    def most_calls(self) -> int:
        """That one run can make."""
        return min(self.max_calls, self.max_worst_case_calls)


# YAML 1.1 reads a bare off as false
CallsMode = Annotated[
    Literal["off", "cache", "record", "replay"],
    BeforeValidator(lambda value: "off" if value is False else value),
]


class CallsConfig(Section):
    """Keeping what executor and judge say."""

    mode: CallsMode = Field(
        "off",
        description="`off`, or one of `cache`, `record`, `replay`, which keep replies or answer from kept "
        "ones.\n"
        "With `cache` the pool in the folder answers known calls. Others are asked and kept.\n"
        "With `record` one run is recorded, failures and timeouts too.\n"
        "With `replay` pool or recording answers alone, without any server.",
    )
    folder: Path = Field(Path("logs/calls"), description="Folder of the kept replies.")


class StopConfig(Section):
    """The learned stop of `until_worth` (docs/programs.md)."""

    table: Path | None = Field(
        None, description="Table that `stop learn` wrote. null: no program can call `until_worth`."
    )
    price: Number | None = Field(
        None,
        gt=0,
        description="What 1,000 written tokens take from a right answer. null: that of the budget: "
        + ", ".join(f"`{word}` {price:g}" for word, price in PRICES.items())
        + ".",
    )
    round: int = Field(
        1,
        ge=1,
        le=8,
        description="Draws asked for at once. More take less time, and the stop is looked up less often.",
    )


class BudgetConfig(Section):
    """What a run may use; a call that could pass a limit is not made, and the run stops. What an
    endpoint does not say counts at its worst case."""

    usd: Number | None = Field(None, gt=0, description="US dollars; every price must be known.")
    tokens: int | None = Field(None, ge=1, description="Prompt and completion tokens together.")
    calls: int | None = Field(None, ge=1, description="Requests, retries included.")
    cost: Number | None = Field(
        None,
        gt=0,
        description="In written tokens: a prompt token counts at its price (docs/models.md).",
    )


class WorkersConfig(Section):
    """Where programs run and rules grade."""

    backend: Literal["local", "ray"] = Field(
        "local",
        description="`local`: this machine; `ray`: workers of a Ray cluster (extra `ray`).\n"
        "Each Ray worker has a sandbox of its own and runs workflow.concurrency programs at "
        "once.",
    )
    count: int = Field(1, ge=1, description="ray: workers to keep; a lost one is replaced.")
    address: str | None = Field(
        None,
        description="ray: HOST:PORT of the cluster, or `auto`; default RAY_ADDRESS, else a Ray of "
        "this process alone.",
    )
    cpus: Number = Field(1.0, gt=0, description="ray: processors set aside for one worker.")
    resource: str | None = Field(
        None, description="ray: only on nodes started with this resource, one for each worker."
    )
    start_s: Number = Field(
        120.0, gt=0, description="ray: time in which the first worker must be ready."
    )
