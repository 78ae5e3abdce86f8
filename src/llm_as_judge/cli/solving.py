"""solve: one problem, every stage shown as it ends; run: a program on one problem."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import typer

from llm_as_judge.assembly import Workbench, open_system, open_workbench, under_trained_prompt
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.programs import described, parse_file, wanted_domain, wanted_problem
from llm_as_judge.config import RULES_ALONE, Config
from llm_as_judge.errors import ConfigError, ModelError
from llm_as_judge.policy.checkpoint import latest_checkpoint
from llm_as_judge.solving.solve import solve as run_solve
from llm_as_judge.solving.writers import FileWriter, PolicyWriter, ProgramWriter, WritingOptions
from llm_as_judge.types import Execution, IsolationReport, Program, to_json
from llm_as_judge.views.console import console, say, say_json
from llm_as_judge.views.live import several


def solve(
    asked: Asked,
    *,
    problem: str | None,
    problem_file: Path | None,
    domain: str,
    entry_point: str,
    reference: list[str] | None,
    policy: str | None,
    as_json: bool,
) -> None:
    # without a reference nothing is graded
    settings, writes = chosen(policy, asked, {} if reference else RULES_ALONE, "solve")
    text = sys.stdin.read() if problem == "-" else problem
    task = wanted_problem(
        text, problem_file, wanted_domain(domain), entry_point, tuple(reference or ())
    )

    def show(stage: str, value: Any) -> None:
        if as_json:
            say_json({"stage": stage, "value": to_json(value)})
        else:
            show_stage(stage, to_json(value))

    async def solved() -> int:
        async with open_writer(settings, writes) as (bench, writer):
            execution = await run_solve(bench, writer, task, show, graded=bool(reference))
        return 0 if execution.status == "ok" else 1

    raise typer.Exit(asyncio.run(solved()))


def chosen(
    policy: str | None, asked: Asked, flags: Mapping[str, Any], verb: str
) -> tuple[Config, str]:
    """Settings under the prompt that a policy was trained with, and the policy: the latest checkpoint
    where none is named.

    Raises:
        ModelError: there is no checkpoint.
    """
    settings = _settings_for(policy or UNTRAINED, asked, flags)
    if policy is not None:
        return settings, policy
    latest = latest_policy(settings, f"{verb} --policy untrained")
    return _settings_for(latest, asked, flags), latest


def _settings_for(policy: str, asked: Asked, flags: Mapping[str, Any]) -> Config:
    path = Path(policy)
    settings = under_trained_prompt(asked.settings(flags), path if path.is_dir() else None)
    asked.require_told_budget(settings, policy if path.suffix == ".py" else None)
    return settings


def run(
    asked: Asked,
    *,
    file: Path,
    problem: str | None,
    problem_file: Path | None,
    domain: str,
    entry_point: str,
    as_json: bool,
) -> None:
    task = wanted_problem(problem, problem_file, wanted_domain(domain), entry_point)
    settings = asked.settings(RULES_ALONE)
    most_calls = settings.workflow.max_worst_case_calls
    program = parse_file(file, task.domain, most_calls, settings.executors)

    async def job() -> tuple[Execution, IsolationReport]:
        async with open_workbench(settings) as bench:
            return await bench.run(program, task, bench.executor), bench.work.isolation

    execution, isolation = asyncio.run(job())
    _print_execution(execution, program, isolation, as_json)
    raise typer.Exit(0 if execution.status == "ok" else 1)


def _print_execution(
    execution: Execution, program: Program, isolation: IsolationReport, as_json: bool
) -> None:
    if as_json:
        summary = {
            "status": execution.status,
            "answer": execution.answer,
            "calls": execution.llm_calls,
            "tokens": execution.tokens,
            "cost": execution.cost,
            "cost_usd": execution.cost_usd,
            "seconds": round(execution.seconds, 3),
            "error": execution.error,
            "trace": to_json(execution.calls),
            "program": described(program),
            "isolation": to_json(isolation),
        }
        say_json(summary)
        return
    for call in execution.calls:
        asked = f"{call.operator} ({call.executor})" if call.executor else call.operator
        say(
            f"{asked:20} {several(call.llm_calls, 'call')} {call.prompt_tokens:6} + "
            f"{call.completion_tokens} tokens {call.seconds:7.2f} s {call.error}"
        )
    say(f"sandbox  {isolation.mechanism}")
    # of a rejected program the error is the first finding
    reason = "" if execution.status == "rejected" and program.diagnostics else execution.error
    say(f"status   {execution.status} {reason}".rstrip())
    for finding in program.diagnostics:
        say(f"{finding.code} line {finding.line}: {finding.message}")
    say(f"answer   {execution.answer}")


def show_stage(stage: str, value: Any) -> None:
    """A stage for people; what a model wrote is printed as it is, without terminal codes."""
    console.rule(stage)
    lines: list[str] = []
    if isinstance(value, str):
        lines = [value]
    elif stage == "prompt":
        lines = [f"[{message['role']}]\n{message['content']}" for message in value]
    elif stage == "program":
        lines = [value["source"] or "(no program in the reply)"]
        lines += [f"{d['code']} line {d['line']}: {d['message']}" for d in value["diagnostics"]]
        lines += [f"repaired: {name}" for name in value["repairs"]]
    elif stage == "call":
        used = f"{value['prompt_tokens']} + {value['completion_tokens']} tokens"
        lines = [value["asked"], f"-> {value['replied']}", f"({used}, {value['seconds']:.2f} s)"]
    elif stage == "execution":
        lines = [f"status  {value['status']} {value['error']}", f"answer  {value['answer']}"]
    else:
        lines = [json.dumps(value, indent=2)]
    for line in lines:
        say(_printable(line))


def _printable(text: str) -> str:
    """Without control characters but line ends and tabs: a terminal obeys them."""
    return "".join(
        c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text
    )


# --------------------------------------------------------------------- who writes the programs
UNTRAINED = "untrained"


def latest_policy(config: Config, untrained: str) -> str:
    """Folder of the model's latest checkpoint; ``untrained`` is the command that takes the base model."""
    root = config.output.checkpoints / config.policy.label / "grpo_mixed"
    latest = latest_checkpoint(root)
    if latest is None:
        raise ModelError(f"{root}: no checkpoint; train first, or {untrained}")
    return str(latest)


@asynccontextmanager
async def open_writer(
    config: Config, policy: str
) -> AsyncIterator[tuple[Workbench, ProgramWriter]]:
    """Executor, judge and sandbox, and what writes the programs.

    Args:
        policy: ``untrained``, a checkpoint folder, or a program file (``.py``, in either form); only
            the first two load a policy.
    Raises:
        ConfigError: ``policy`` is none of these.
        UserError: a model or file is missing.
    """
    path = Path(policy)
    if path.suffix == ".py" and path.is_file():
        async with open_workbench(config) as bench:
            most = config.workflow.max_worst_case_calls
            yield bench, FileWriter(path, most, config.executors)
        return
    if policy != UNTRAINED and not path.is_dir():
        found = "no such file or folder" if not path.exists() else "no Python file"
        raise ConfigError(
            f"--policy {policy}: {found}; wanted untrained, a checkpoint folder or a program file (.py)"
        )
    async with open_system(config, adapter=None if policy == UNTRAINED else path) as system:
        options = WritingOptions(
            config.evaluation.temperature, config.training.seed, config.sampling.max_new_tokens
        )
        writer = PolicyWriter(system.sampler, system.prompt, system.bench.parse, options)
        try:
            yield system.bench, writer
        finally:
            await writer.aclose()
