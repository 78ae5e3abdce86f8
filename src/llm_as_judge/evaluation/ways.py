"""The ways of answering in one step: shipped programs that call one operator once, of each executor.

Votes, agreement and hand-written chains are made of them, so a pool that holds their first requests
holds most of what other programs ask.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from llm_as_judge.errors import ConfigError
from llm_as_judge.evaluation.baselines import program_files, program_of, workflows_dir
from llm_as_judge.evaluation.program_runs import bank_program
from llm_as_judge.runs.table import BankProgram
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.program import ProgramOptions

WAYS = ("direct", "cot", "program_of_thought")
"""Names of shipped programs; each is a way in the domains in which it is one operator call."""


def ways_of(options: ProgramOptions, names: Sequence[str] = ()) -> dict[Domain, list[BankProgram]]:
    """By domain its ways; domains without any are left out.

    Args:
        names: ``cot`` asks the default executor, ``cot@small`` the executor ``small``; empty = each way
            of each executor.
    Raises:
        ConfigError: a name is of no way.
    """
    known = [*WAYS, *(f"{way}@{executor}" for executor in options.executors for way in WAYS)]
    found: dict[Domain, list[BankProgram]] = {}
    for name in names or known:
        if name not in known:
            raise ConfigError(f"--way {name!r}: wanted some of {', '.join(known)}")
        for way in _ways_named(name, options):
            found.setdefault(way.domain, []).append(way)
    return {domain: found[domain] for domain in DOMAINS if domain in found}


def _ways_named(name: str, options: ProgramOptions) -> Iterator[BankProgram]:
    shipped, _, executor = name.partition("@")
    for domain, path in program_files(workflows_dir() / shipped).items():
        text = program_of(path, domain, options)
        if len(options.parse(text, domain).operators) != 1:
            continue
        if executor:
            text = _asking(text, executor)
        way = bank_program(domain, text, name, "shipped", options)
        assert way is not None, "program_of has checked it"
        yield way


def _asking(text: str, executor: str) -> str:
    """The program with its one operator call made of this executor."""
    tree = ast.parse(text)
    (call,) = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Await) and isinstance(node.value, ast.Call)
    )
    call.keywords.append(ast.keyword("executor", ast.Constant(executor)))
    return ast.unparse(ast.fix_missing_locations(tree))
