"""A checked program and a problem -> what happened when it ran."""

from __future__ import annotations

import time

from llm_as_judge.grading.equality import answer_classes
from llm_as_judge.operators import (
    CallLimitError,
    ExecutionContext,
    OperatorService,
    OperatorSettings,
    Registry,
    load_enhancements,
    registry,
)
from llm_as_judge.operators.prompts import Enhancement
from llm_as_judge.types import (
    ChatModel,
    Equality,
    Execution,
    ExecutionStatus,
    Json,
    Problem,
    Program,
    RunLimits,
    Sandbox,
)


async def run_program(
    program: Program,
    problem: Problem,
    *,
    executor: ChatModel,
    sandbox: Sandbox,
    limits: RunLimits,
    settings: OperatorSettings | None = None,
    operators: Registry | None = None,
    enhancements: tuple[Enhancement, ...] | None = None,
    equality: Equality = answer_classes,
) -> Execution:
    """Runs ``program.runnable`` in the sandbox; its operator calls are answered here.

    Args:
        executor: for group-shared draws, wrapped by the caller.
        limits: of the run; the time that the executor takes is not counted.
        settings: how operators call the executor.
        enhancements: operator hints; None = the shipped rules, () = none.
        equality: which answers votes hold equal; the default leaves algebra out.
    Returns:
        ``malformed`` and ``rejected`` without a run. The answer is text, stripped; what the
        program says about its cost is ignored.
    Raises:
        EndpointError: the executor gave no reply.
        SandboxError: the sandbox broke.
    """
    if not program.runnable:
        return _not_run(program)
    rules = load_enhancements() if enhancements is None else enhancements
    asking = settings or OperatorSettings()
    context = ExecutionContext(executor, sandbox, problem, asking, rules, equality)
    service = OperatorService(registry() if operators is None else operators, context)
    started = time.monotonic()
    try:
        result = await sandbox.run_workflow(
            program.runnable, call_arguments(problem), service, limits
        )
    except CallLimitError as error:
        seconds = time.monotonic() - started
        return Execution("call_limit", calls=service.calls, seconds=seconds, error=str(error))
    ok = result.status == "ok"
    answer = answer_text(result.value) if ok else ""
    ended: ExecutionStatus = "timeout" if result.status == "timeout" else "crashed"
    return Execution(
        status=("ok" if answer else "no_answer") if ok else ended,
        answer=answer,
        calls=service.calls,
        seconds=time.monotonic() - started,
        error=result.error,
    )


def _not_run(program: Program) -> Execution:
    first = program.diagnostics[0] if program.diagnostics else None
    error = f"{first.code} line {first.line}: {first.message}" if first else ""
    return Execution("rejected" if program.source else "malformed", error=error)


def call_arguments(problem: Problem) -> dict[str, Json]:
    """Arguments of ``__call__`` by name; the sandbox passes those that its signature has.

    ``test`` is what a solver may see; hidden tests never reach a program.
    """
    arguments: dict[str, Json] = {"problem": problem.statement(), "dataset": problem.dataset}
    if problem.domain == "code":
        arguments["entry_point"] = problem.entry_point
        arguments["test"] = "\n".join(problem.visible_tests)
    return arguments


def answer_text(value: Json) -> str:
    """The answer as text: None is nothing, a whole float loses its ``.0``."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value).strip()
