"""check, run: programs one at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from llm_as_judge.cli.options import (
    ConfigOption,
    ExecutorOption,
    JsonOption,
    SetOption,
    executor_named,
    say,
)
from llm_as_judge.cli.verbs import verb
from llm_as_judge.config import RULES_ALONE, load_config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.types import (
    Domain,
    Execution,
    IsolationReport,
    Problem,
    Program,
    known_domain,
    to_json,
)

DomainOption = Annotated[str, typer.Option("--domain", help="Kind of problem: math, qa or code.")]
FormOption = Annotated[
    str | None,
    typer.Option(
        "--form",
        help="class: a whole Workflow class; body: the statements of __call__. Default: seen from the file.",
    ),
]
MAX_PROGRAM_BYTES = 8 * 2**20


@verb("Example: llm-as-judge check my_workflow.py --domain math")
def check(
    file: Annotated[Path, typer.Argument(help="File with the program.")],
    domain: DomainOption = "qa",
    form: FormOption = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a program without running it. Exit status: 0 clean, 3 findings."""
    settings = load_config(config, overrides=set_ or ())
    most_calls = settings.workflow.max_worst_case_calls
    program = parse_file(file, wanted_domain(domain), form, most_calls, settings.executors)
    tokens = program.worst_case_calls * settings.executor.max_tokens
    if as_json:
        described = {"file": str(file), **_described(program), "worst_case_tokens": tokens}
        print(json.dumps(described))  # noqa: T201
    else:
        for finding in program.diagnostics:
            hint = f"  ({finding.hint})" if finding.hint else ""
            say(f"{file}:{finding.line}: {finding.code} {finding.message}{hint}")
        for repair in program.repairs:
            say(f"{file}: repaired: {repair}")
        if program.strictly_valid:
            say(
                f"{file}: clean; operators {', '.join(program.operators) or 'none'}; "
                f"at most {program.worst_case_calls} executor calls ({program.expected_calls:g} "
                f"expected), which write at most {tokens} tokens"
            )
    raise typer.Exit(0 if program.strictly_valid else 3)


@verb("Example: llm-as-judge run my_workflow.py --problem '2 + 2?' --executor scripted")
def run(
    file: Annotated[Path, typer.Argument(help="File with the program.")],
    problem: Annotated[str | None, typer.Option("--problem", help="Text of the problem.")] = None,
    problem_file: Annotated[
        Path | None, typer.Option("--problem-file", help="File with the text of the problem.")
    ] = None,
    domain: DomainOption = "qa",
    entry_point: Annotated[
        str, typer.Option("--entry-point", help="For code: name of the function to write.")
    ] = "",
    form: FormOption = None,
    executor: ExecutorOption = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", help="Seconds the program may run, without waiting for the executor."
        ),
    ] = None,
    config: ConfigOption = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a program on one problem: answer, calls, tokens, cost, seconds, status."""
    from llm_as_judge.assembly import open_workbench

    task = wanted_problem(problem, problem_file, wanted_domain(domain), entry_point)
    settings = load_config(
        config,
        overrides=set_ or (),
        flags={
            "executor.model": executor_named(executor),
            "workflow.timeout_s": timeout,
            **RULES_ALONE,
        },
    )
    most_calls = settings.workflow.max_worst_case_calls
    program = parse_file(file, task.domain, form, most_calls, settings.executors)

    async def job() -> tuple[Execution, IsolationReport]:
        async with open_workbench(settings) as bench:
            return await bench.run(program, task, bench.executor), bench.work.isolation

    execution, isolation = asyncio.run(job())
    _print_execution(execution, program, isolation, as_json)
    raise typer.Exit(0 if execution.status == "ok" else 1)


# ------------------------------------------------------------------------------------------ parts
def wanted_domain(name: str) -> Domain:
    domain = known_domain(name)
    if domain is None:
        raise ConfigError(f"--domain {name!r}: wanted math, qa or code")
    return domain


def parse_file(
    file: Path, domain: Domain, form: str | None, max_calls: int, executors: Collection[str]
) -> Program:
    """The checked program of a file; a file that cannot be read is the user's mistake."""
    from llm_as_judge.workflow.program import ProgramForm, form_of, parse_program

    text = read_text(file)
    forms: dict[str | None, ProgramForm] = {None: form_of(text), "class": "class", "body": "body"}
    if form not in forms:
        raise ConfigError(f"--form {form!r}: wanted class or body")
    return parse_program(text, domain, forms[form], max_calls=max_calls, executors=executors)


def read_text(file: Path) -> str:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{file}: no such file") from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None
    # a binary file is a finding of the check, not a crash of ours
    return data[:MAX_PROGRAM_BYTES].decode("utf-8-sig", errors="replace")


def wanted_problem(
    text: str | None,
    file: Path | None,
    domain: Domain,
    entry_point: str,
    answers: tuple[str, ...] = (),
) -> Problem:
    if (text is None) == (file is None):
        raise ConfigError("give the problem once: --problem TEXT or --problem-file FILE")
    question = text if text is not None else read_text(file or Path())
    if not question.strip():
        raise DataError("the problem is empty")
    return Problem("cli/problem/0", "custom", domain, question, answers, entry_point=entry_point)


def _described(program: Program) -> dict[str, Any]:
    return {
        "strictly_valid": program.strictly_valid,
        "operators": list(program.operators),
        "worst_case_calls": program.worst_case_calls,
        "expected_calls": program.expected_calls,
        "hash": program.hash,
        "diagnostics": to_json(program.diagnostics),
        "repairs": list(program.repairs),
    }


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
            "program": _described(program),
            "isolation": to_json(isolation),
        }
        print(json.dumps(summary))  # noqa: T201
        return
    for call in execution.calls:
        asked = f"{call.operator} ({call.executor})" if call.executor else call.operator
        say(
            f"{asked:20} {call.llm_calls} calls {call.prompt_tokens:6} + "
            f"{call.completion_tokens} tokens {call.seconds:7.2f} s {call.error}"
        )
    say(f"sandbox  {isolation.mechanism}")
    say(f"status   {execution.status} {execution.error}")
    for finding in program.diagnostics:
        say(f"{finding.code} line {finding.line}: {finding.message}")
    say(f"answer   {execution.answer}")
