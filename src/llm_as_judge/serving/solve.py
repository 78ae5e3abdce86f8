"""One problem, every stage shown as it ends: prompt, program, execution, verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llm_as_judge.build import System, Workbench, open_system, open_workbench
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError
from llm_as_judge.types import Execution, Problem, Program
from llm_as_judge.workflow.program import parse_program

Show = Callable[[str, Any], None]
"""``show(stage, value)``; stages: prompt, reply, program, execution, verdict."""


async def solve(
    config: Config, problem: Problem, policy: str, show: Show, *, graded: bool
) -> Execution:
    """Solve ``problem``.

    Args:
        policy: ``untrained``, a checkpoint folder, or a program file (``.py``, class form).
        graded: the problem has a gold answer: also show a verdict.
    Raises:
        ConfigError: ``policy`` is none of these.
    """
    path = Path(policy)
    if path.suffix == ".py" and path.is_file():
        async with open_workbench(config) as bench:
            program = parse_program(
                path.read_text(encoding="utf-8"),
                problem.domain,
                "class",
                max_calls=config.workflow.max_worst_case_calls,
            )
            return await _run(bench, problem, program, show, graded)
    if policy != "untrained" and not path.is_dir():
        raise ConfigError(
            f"--policy {policy!r}: wanted untrained, a checkpoint folder or a program file"
        )
    async with open_system(config, adapter=None if policy == "untrained" else path) as system:
        program = await _write(system, problem, show)
        return await _run(system.bench, problem, program, show, graded)


async def _write(system: System, problem: Problem, show: Show) -> Program:
    config = system.bench.config
    messages = system.prompt.messages(problem)
    show("prompt", messages)
    completions = await asyncio.to_thread(
        system.sampler.sample,
        [messages],
        1,
        temperature=config.evaluation.temperature,
        max_new_tokens=config.sampling.max_new_tokens,
        seed=config.training.seed,
    )
    show("reply", completions[0][0].text)
    return system.bench.parse(completions[0][0].text, problem)


async def _run(
    bench: Workbench, problem: Problem, program: Program, show: Show, graded: bool
) -> Execution:
    show("program", program)
    execution = await bench.run(program, problem, bench.executor)
    show("execution", execution)
    if graded and execution.status == "ok":
        show("verdict", await bench.judge.grade(problem, execution.answer))
    return execution
