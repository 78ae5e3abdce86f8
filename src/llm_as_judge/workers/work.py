"""The interface: running programs and grading by rules, wherever that happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from llm_as_judge.grading.equality import GradersEquality
from llm_as_judge.grading.rules import RuleGrader, Rules
from llm_as_judge.operators import OperatorSettings, registry
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.sandbox.opening import Mechanism
from llm_as_judge.types import (
    ChatModel,
    Execution,
    IsolationReport,
    Problem,
    Program,
    RunLimits,
    Sandbox,
)
from llm_as_judge.workflow.run import run_program


@dataclass(frozen=True, slots=True)
class RunSettings:
    limits: RunLimits = field(default_factory=RunLimits)
    operators: OperatorSettings = field(default_factory=OperatorSettings)
    enhance: bool = True
    """Operator hints in the operators' prompts."""


class Work(Protocol):
    """Runs programs and grades by rules."""

    @property
    def isolation(self) -> IsolationReport:
        """What was seen to hold wherever programs run."""
        ...

    @property
    def rules(self) -> RuleGrader: ...

    def metrics(self) -> Mapping[str, float]:
        """For the log of a step; empty where there is nothing to say."""
        ...

    async def run(
        self, program: Program, problem: Problem, executor: ChatModel, settings: RunSettings
    ) -> Execution:
        """What happened when a checked program ran; see :func:`run_program`.

        Raises:
            EndpointError: the executor gave no reply.
            SandboxError: the sandbox broke, or every worker that ran it died.
        """
        ...

    async def aclose(self) -> None: ...


class LocalWork:
    """On this machine.

    Args:
        sandbox: closed by :meth:`aclose`.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.rules: RuleGrader = Rules(sandbox)
        self._equality = GradersEquality()

    @property
    def isolation(self) -> IsolationReport:
        return self._sandbox.isolation

    def metrics(self) -> Mapping[str, float]:
        return {}

    async def run(
        self, program: Program, problem: Problem, executor: ChatModel, settings: RunSettings
    ) -> Execution:
        return await run_program(
            program,
            problem,
            executor=executor,
            sandbox=self._sandbox,
            limits=settings.limits,
            settings=settings.operators,
            enhancements=None if settings.enhance else (),
            equality=self._equality,
        )

    async def aclose(self) -> None:
        await self.rules.aclose()
        await self._equality.aclose()
        await self._sandbox.aclose()


async def open_local_work(
    mechanism: Mechanism, concurrency: int, expected: RunLimits | None
) -> LocalWork:
    """Sandbox and rules of this machine, started and probed.

    Args:
        concurrency: programs at once.
        expected: limits of the programs to come; None = none will come.
    Raises:
        IsolationError: the isolation asked for does not hold here.
    """
    return LocalWork(await open_sandbox(mechanism, tuple(registry()), concurrency, expected))
