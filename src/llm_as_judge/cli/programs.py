"""check: a program of a file, read and checked without running it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import typer

from llm_as_judge.cli.asking import Asked
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.types import Domain, Problem, Program, known_domain, to_json
from llm_as_judge.views.console import say, say_json
from llm_as_judge.views.live import several
from llm_as_judge.workflow.program import form_of, parse_program, text_of_file


def check(asked: Asked, *, file: Path, domain: str, as_json: bool) -> None:
    settings = asked.settings()
    most_calls = settings.workflow.max_worst_case_calls
    program = parse_file(file, wanted_domain(domain), most_calls, settings.executors)
    tokens = program.worst_case_calls * settings.executor.max_tokens
    if as_json:
        say_json({"file": str(file), **described(program), "worst_case_tokens": tokens})
    else:
        for finding in program.diagnostics:
            hint = f"  ({finding.hint})" if finding.hint else ""
            say(f"{file}:{finding.line}: {finding.code} {finding.message}{hint}")
        for repair in program.repairs:
            say(f"{file}: repaired: {repair}")
        if program.strictly_valid:
            say(
                f"{file}: clean; operators {', '.join(program.operators) or 'none'}; "
                f"at most {several(program.worst_case_calls, 'executor call')} ({program.expected_calls:g} "
                f"expected), which write at most {tokens} tokens"
            )
    raise typer.Exit(0 if program.strictly_valid else 3)


def wanted_domain(name: str) -> Domain:
    domain = known_domain(name)
    if domain is None:
        raise ConfigError(f"--domain {name!r}: wanted math, qa or code")
    return domain


def parse_file(file: Path, domain: Domain, max_calls: int, executors: Collection[str]) -> Program:
    """The checked program of a file; a file that cannot be read is the user's mistake."""

    text = text_of_file(file)
    return parse_program(text, domain, form_of(text), max_calls=max_calls, executors=executors)


def wanted_problem(
    text: str | None,
    file: Path | None,
    domain: Domain,
    entry_point: str,
    answers: tuple[str, ...] = (),
) -> Problem:
    if (text is None) == (file is None):
        raise ConfigError("give the problem once: --problem TEXT or --problem-file FILE")
    question = text if text is not None else text_of_file(file or Path())
    if not question.strip():
        raise DataError("the problem is empty")
    return Problem("cli/problem/0", "custom", domain, question, answers, entry_point=entry_point)


def described(program: Program) -> dict[str, Any]:
    return {
        "strictly_valid": program.strictly_valid,
        "operators": list(program.operators),
        "worst_case_calls": program.worst_case_calls,
        "expected_calls": program.expected_calls,
        "hash": program.hash,
        "diagnostics": to_json(program.diagnostics),
        "repairs": list(program.repairs),
    }
