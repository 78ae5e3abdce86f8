"""Programs that take part in a search: shipped, given, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from llm_as_judge.data.mix import named_rng
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.baselines import (
    program_files,
    program_of,
    workflows_dir,
)
from llm_as_judge.evaluation.program_runs import bank_program
from llm_as_judge.evaluation.random_workflow import random_body
from llm_as_judge.runs.table import BankProgram
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.program import ProgramOptions

NOT_TAKEN = ("free_cot",)
"""Wants an executor of other settings."""
WANTS: Mapping[str, set[str]] = {"small_first": {"small"}}
"""Workflow -> executors that it names."""
_TRIES = 10
"""Programs drawn at most for each that is wanted: some are there already, or call what is not shown."""
Programs = Mapping[Domain, Sequence[BankProgram]]


def shipped(options: ProgramOptions, domains: Sequence[Domain]) -> dict[Domain, list[BankProgram]]:
    """The workflows of ``workflows/``, of each domain."""
    found: dict[Domain, list[BankProgram]] = {domain: [] for domain in domains}
    for folder in sorted(path for path in workflows_dir().iterdir() if path.is_dir()):
        if folder.name in NOT_TAKEN or not WANTS.get(folder.name, set()) <= set(options.executors):
            continue
        for domain, path in program_files(folder).items():
            if domain in found:
                found[domain].append(_of_file(path, domain, folder.name, "shipped", options))
    return {domain: _different(programs) for domain, programs in found.items()}


def given(folder: Path, options: ProgramOptions, domains: Sequence[Domain]) -> Programs:
    """The programs of ``folder``: FOLDER/DOMAIN.py and FOLDER/DOMAIN/*.py.

    Raises:
        DataError: no program there, or one that cannot be read.
        ConfigError: a program that does not pass the check, with its finding.
    """
    if not folder.is_dir():
        raise DataError(f"--programs {folder}: no such folder; `export programs` makes one")
    found: dict[Domain, list[BankProgram]] = {}
    for domain in domains:
        paths = [folder / f"{domain}.py", *sorted((folder / domain).glob("*.py"))]
        for path in (path for path in paths if path.is_file()):
            one = _of_file(path, domain, str(path), "given", options)
            found.setdefault(domain, []).append(one)
    if not found:
        raise DataError(
            f"--programs {folder}: no program; wanted {', '.join(f'{d}.py' for d in DOMAINS)}, or "
            "folders of these names with programs"
        )
    return found


def _of_file(
    path: Path, domain: Domain, name: str, origin: str, options: ProgramOptions
) -> BankProgram:
    return bank_program(domain, program_of(path, domain, options), name, origin, options)


def widened(
    programs: Sequence[BankProgram], count: int, options: ProgramOptions, seed: int
) -> list[BankProgram]:
    """At least ``count`` different programs of one domain, where there are so many: the given ones,
    then programs drawn from the grammar, of ``sampling.operators`` alone."""
    found = {program.hash: program for program in programs}
    if not programs:
        return []
    domain = programs[0].domain
    chance = named_rng(seed, "search", domain)
    for _ in range(_TRIES * count):
        if len(found) >= count:
            break
        body = random_body(domain, options.drawn_calls, chance, options.executors)
        made = bank_program(domain, body, "", "drawn", options)
        # of operators that the policy is shown, too
        used = options.parse(body, domain).operators
        if options.operators is None or set(used) <= set(options.operators):
            found.setdefault(made.hash, replace(made, name=f"drawn~{made.hash[:6]}"))
    return list(found.values())


def together(*parts: Programs) -> dict[Domain, list[BankProgram]]:
    """All of them by domain; of equal ones the first."""
    domains = dict.fromkeys(domain for part in parts for domain in part)
    return {d: _different([p for part in parts for p in part.get(d, ())]) for d in domains}


def _different(programs: Sequence[BankProgram]) -> list[BankProgram]:
    found: dict[str, BankProgram] = {}
    for program in programs:
        found.setdefault(program.hash, program)
    return list(found.values())
