"""Rollout line, to be read first: from a text that the policy wrote to a graded rollout.

    prompt -> sample K programs -> parse and check -> run -> grade -> reward
    policy/   policy/              `-------- this file -------'     reward.py

``runner.py`` samples the programs and makes groups of what comes back here; ``environment.py`` is
where the programs run; ``wrappers.py`` is what else happens on the way: equal programs run once,
a deadline holds, every call is billed, nothing that was paid for is lost.
"""

from __future__ import annotations

from dataclasses import replace

from llm_as_judge.errors import DeadlineError, EndpointError, GraderError, SandboxError
from llm_as_judge.rollout.environment import Environment
from llm_as_judge.runs.spans import workflow_span
from llm_as_judge.types import Completion, Failure, Problem, Rollout

OUR_FAULT = (EndpointError, SandboxError, DeadlineError, GraderError)
"""What *we* did wrong fails this one rollout, and its siblings go on. What the program does wrong is
the status of its execution."""


def grader_failed(rollout: Rollout) -> bool:
    """Whether a grader raised on its answer: the same code would raise again."""
    return rollout.failure is not None and rollout.failure.kind == GraderError.__name__


def written(env: Environment, problem: Problem, k: int, completion: Completion) -> Rollout:
    """A rollout whose program is checked and has not run."""
    return Rollout(problem.id, k, completion, env.parse(completion.text, problem))


async def rollout(env: Environment, problem: Problem, written: Rollout) -> Rollout:
    """One program, to its verdict; the reward is the whole group's matter."""
    with workflow_span(problem, written.program.hash) as span:
        try:
            # sandbox; operators ask the executor
            execution = await env.run(written.program, problem)
        except OUR_FAULT as error:
            span.failed(error)
            return replace(written, failure=Failure("execute", type(error).__name__, str(error)))
        span.ran(execution)
        try:
            verdict = await env.grade(problem, execution)  # rules, then the judge
        except OUR_FAULT as error:
            failure = Failure("grade", type(error).__name__, str(error))
            return replace(written, execution=execution, failure=failure)
        span.graded(verdict)
    return replace(written, execution=execution, verdict=verdict)
