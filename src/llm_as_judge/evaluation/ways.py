"""The ways of answering in one step: shipped programs that call one operator once.

Votes, agreement and hand-written chains are made of them, so a pool that holds their first requests
holds most of what other programs ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError
from llm_as_judge.evaluation.baselines import program_files, program_of, workflows_dir
from llm_as_judge.types import DOMAINS, Domain, Program
from llm_as_judge.workflow.program import form_of, parse_program

__all__ = ["WAYS", "Way", "ways_of"]

WAYS = ("direct", "cot", "program_of_thought")
"""Names of shipped programs; each is a way in the domains in which it is one operator call."""


@dataclass(frozen=True, slots=True)
class Way:
    """One program of one domain."""

    name: str
    program: Program


def ways_of(config: Config, names: Sequence[str] = WAYS) -> dict[Domain, list[Way]]:
    """By domain its ways, in the order of ``names``; domains without any are left out.

    Raises:
        ConfigError: a name is of no shipped program, or of one that is a way nowhere.
    """
    found: dict[Domain, list[Way]] = {}
    for name in names:
        folder = workflows_dir() / name
        files = program_files(folder) if name in WAYS else {}
        for domain, path in files.items():
            text = program_of(path, domain, config)
            program = parse_program(
                text, domain, form_of(text), max_calls=config.workflow.max_worst_case_calls
            )
            if len(program.operators) == 1:
                found.setdefault(domain, []).append(Way(name, program))
        if not files:
            raise ConfigError(f"--way {name!r}: wanted some of {', '.join(WAYS)}")
    return {domain: found[domain] for domain in DOMAINS if domain in found}
