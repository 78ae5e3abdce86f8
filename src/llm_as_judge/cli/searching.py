"""search: the best fixed program, over a bank of what programs do on problems."""

from __future__ import annotations

from pathlib import Path

from llm_as_judge.assembly import program_options
from llm_as_judge.assembly.executor_settings import operator_settings
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.bank_runs import run_search, say_estimate
from llm_as_judge.config import Config
from llm_as_judge.data.selection import problem_file
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.search.programs import Programs, given, shipped, together
from llm_as_judge.evaluation.search.run import (
    LEAST_ROWS,
    Rows,
    SearchOptions,
    check_options,
    enough,
    too_few,
    usual_draws,
)
from llm_as_judge.runs.table import Bank
from llm_as_judge.types import DOMAINS, Domain, Problem
from llm_as_judge.views.console import note


def search(
    asked: Asked,
    *,
    out: Path,
    bank: Path,
    rows: int,
    split: str,
    draws: int | None,
    count: int,
    programs: Path | None,
) -> None:
    settings = asked.settings()
    temperature = operator_settings(settings).temperature
    options = SearchOptions(count, draws or usual_draws(temperature), settings.training.seed)
    check_options(options, temperature)
    problems = _rows(settings, split, rows, bank)
    few, problems = too_few(problems), enough(problems)
    if not problems:
        do = "raise --rows, or take" if rows < LEAST_ROWS else "take"
        other = " --split train, or add rows" if split == "val" else " more rows"
        raise DataError(
            f"{few} of {split}, wanted {LEAST_ROWS} or more of a type to choose a program on; {do}{other}"
        )
    if few:
        note(f"left out: {few} of {split}, wanted {LEAST_ROWS} or more of a type")
    taking = _programs(settings, options, problems, programs)
    say_estimate(settings, problems, taking, options, bank)
    run_search(settings, out, bank, problems, taking, options)


def _programs(
    settings: Config,
    options: SearchOptions,
    problems: Rows,
    folder: Path | None,
) -> Programs:
    """Those of ``folder``, and those that are shipped.

    Raises:
        ConfigError: none of a domain.
    """
    known = program_options(settings)
    own = given(folder, known, DOMAINS) if folder is not None else {}
    taking = together(own, shipped(known, tuple(problems)) if options.count else {})
    if without := [domain for domain in problems if not taking.get(domain)]:
        raise ConfigError(
            f"--count 0: --programs has no program of {', '.join(without)}; add one, or give --count 1 for the shipped "
            "ones"
        )
    return taking


def _rows(settings: Config, split: str, rows: int, bank: Path) -> Rows:
    """Of each domain those that the bank knows, then the first of the others, in the order of the mix;
    says where there are fewer."""

    if split not in ("val", "train"):
        raise ConfigError(f"--split {split!r}: wanted val or train; nothing is chosen on test rows")
    path = settings.data.val_file if split == "val" else settings.data.train_file
    file = problem_file(path)
    problems: dict[Domain, list[Problem]] = {}
    in_bank = Bank(bank).problems
    known: set[str] = set()
    for of_bank in (True, False):
        for problem in file:
            chosen = problems.setdefault(problem.domain, [])
            if (
                len(chosen) < rows
                and problem.id not in known
                and (problem.id in in_bank) is of_bank
            ):
                known.add(problem.id)
                chosen.append(problem)
            if len(known) == rows * len(set(file.domains)):
                break
    for domain, chosen in problems.items():
        if len(chosen) < rows:
            note(
                f"{domain}: {len(chosen)} row{'s' * (len(chosen) != 1)}, not {rows}: {path} has no more"
            )
    return problems
