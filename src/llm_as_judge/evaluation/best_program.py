"""The best fixed program of each domain, found on validation rows, as a baseline.

What AFlow (arXiv:2410.10762) ends with: one workflow for a whole kind of problem, the best of those that
were tried. Who proposes differs: here the shipped baselines, and the programs that a policy wrote in
training (``export programs``), not a large model. Every program answers the same rows, because
figures of a training run are of whatever problems each happened to be written for. What the search
spends is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.assembly import Workbench
from llm_as_judge.config import Config
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.baselines import program_files, program_of, workflows_dir
from llm_as_judge.evaluation.search import run_on
from llm_as_judge.files import write_text
from llm_as_judge.types import DOMAINS, Domain, Problem
from llm_as_judge.workflow.program import form_of, parse_program

ALWAYS_TRIED = ("direct", "cot", "program_of_thought", "hand_crafted")
"""Shipped workflows that every search begins with. Not self_consistency, whose votes are a choice of
their own, nor free_cot, which wants an executor of other settings."""

Candidates = Mapping[Domain, Mapping[str, str]]
"""By domain the texts of its programs by where they are from."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A program with what it scored."""

    source: str
    """A shipped workflow's name, or the file."""
    correct: int
    problems: int
    tokens: float
    """Executor tokens a problem."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found for one domain."""

    domain: Domain
    best: Tried
    tried: tuple[Tried, ...]
    tokens_spent: int


def candidates(folder: Path | None, config: Config) -> Candidates:
    """The programs of ``folder``, FOLDER/DOMAIN.py and FOLDER/DOMAIN/*.py, after those that are
    always tried; of programs that are equal up to names and layout the first.

    Args:
        folder: None = those that are always tried, alone.

    Raises:
        DataError: no program there, or one that cannot be read.
        ConfigError: a program that does not pass the check, with its finding.
    """
    if folder is not None and not folder.is_dir():
        raise DataError(f"--programs {folder}: no such folder; `export programs` makes one")
    found: dict[Domain, dict[str, str]] = {}
    given = 0
    for domain in DOMAINS:
        files = {name: program_files(workflows_dir() / name).get(domain) for name in ALWAYS_TRIED}
        own = _own_programs(folder, domain) if folder is not None else []
        given += len(own)
        different: dict[str, tuple[str, str]] = {}
        for source, path in [*files.items(), *((str(path), path) for path in own)]:
            if path is not None:
                text = program_of(path, domain, config)
                key = parse_program(text, domain, form_of(text)).hash
                different.setdefault(key, (source, text))
        found[domain] = dict(different.values())
    if folder is not None and not given:
        raise DataError(
            f"--programs {folder}: no program; wanted {', '.join(f'{d}.py' for d in DOMAINS)}, or "
            "folders of these names with programs"
        )
    return found


def _own_programs(folder: Path, domain: Domain) -> list[Path]:
    paths = [folder / f"{domain}.py", *sorted((folder / domain).glob("*.py"))]
    return [path for path in paths if path.is_file()]


async def choose(
    bench: Workbench,
    problems: Mapping[Domain, Sequence[Problem]],
    programs: Candidates,
    folder: Path,
    on_tried: Callable[[Tried], None] | None = None,
    on_choice: Callable[[Choice], None] | None = None,
) -> list[Choice]:
    """The most accurate program of each domain, among equals the one of fewest tokens; written to
    ``FOLDER/DOMAIN.py`` as it stands, for ``evaluate --policy FOLDER``.

    Args:
        problems: validation rows; every program of a domain answers all of its rows.
    Raises:
        DataError: a domain without rows.
        EndpointError: a run failed by our fault, so that its program has no score.
        OutputError: the folder cannot be written.
    """
    found = []
    for domain, rows in problems.items():
        tried: list[Tried] = []
        spent = 0
        for source, text in programs[domain].items():
            score = await run_on(bench, domain, rows, text)
            tried.append(Tried(source, score.correct, len(rows), score.tokens / len(rows)))
            spent += score.tokens
            if on_tried is not None:
                on_tried(tried[-1])
        best = max(tried, key=lambda one: (one.correct, -one.tokens))
        write_text(folder / f"{domain}.py", programs[domain][best.source])
        found.append(Choice(domain, best, tuple(tried), spent))
        if on_choice is not None:
            on_choice(found[-1])
    return found
