"""headroom: is there anything to learn on these rows, or in a folder of what programs did?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shlex import quote

from llm_as_judge.assembly import program_options, row_options
from llm_as_judge.assembly.executor_settings import operator_settings
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.data import wanted_type
from llm_as_judge.cli.searching import run_search, say_estimate, vectors_of
from llm_as_judge.config import Config
from llm_as_judge.data.files import own_problems
from llm_as_judge.data.rows import TABLES
from llm_as_judge.data.selection import problem_file, without_test_rows
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.compare import headroom_of, headroom_rows
from llm_as_judge.evaluation.layout import full_files
from llm_as_judge.evaluation.search.audit import FEW_ROWS, TOO_FEW, TRAIN, audited
from llm_as_judge.evaluation.search.choices import not_graded_by_set
from llm_as_judge.evaluation.search.halving import mixed_order
from llm_as_judge.evaluation.search.programs import shipped
from llm_as_judge.evaluation.search.run import (
    LEAST_ROWS,
    Rows,
    SearchOptions,
    check_options,
    enough,
    too_few,
    usual_draws,
)
from llm_as_judge.evaluation.system_results import read_systems
from llm_as_judge.grading.version import older_verdicts
from llm_as_judge.runs.table import Bank, grading_version, is_bank
from llm_as_judge.told import told_once
from llm_as_judge.types import Domain, Problem
from llm_as_judge.views.console import note, say
from llm_as_judge.views.live import several
from llm_as_judge.views.open_answers import open_runs


def headroom(
    asked: Asked,
    *,
    source: Path,
    type_: str | None,
    skip_bad: bool,
    limit: str,
    draws: int | None,
    out: Path,
    dry_run: bool,
) -> None:
    settings = asked.settings()
    if source.is_dir():
        if dry_run:
            raise ConfigError(
                f"--dry-run {source}: a folder's audit asks nobody; leave --dry-run out"
            )
        _of_folder(source, settings)
        return
    problems = _own_rows(source, wanted_type(type_), skip_bad, limit, settings)
    temperature = operator_settings(settings).temperature
    # all of the shipped programs, and no others: a small bank
    repeated = draws or usual_draws(temperature)
    options = SearchOptions(count=1, draws=repeated, halving=False, seed=settings.training.seed)
    check_options(options, temperature)
    taking = shipped(program_options(settings), tuple(problems))
    say_estimate(settings, problems, taking, options, out / "bank")
    if dry_run:
        return
    told, any_right = run_search(settings, out, out / "bank", problems, taking, options)
    if not any_right:
        say(
            "next   no program was right on any row. Read some replies before you train: llm-as-judge evaluate "
            "--policy direct --limit 5 keeps them in results/evaluation/direct/HASH/runs.jsonl"
        )
    elif told.answer in (TRAIN, TOO_FEW) and settings.data.train_file.is_file():
        say(
            f"next   llm-as-judge train --set training.warm_start={quote(str(out / 'bank'))} "
            "(begins with its best programs)"
        )


def _of_folder(folder: Path, settings: Config) -> None:
    """The audit of what is there; nobody is asked."""
    apart: list[str] = []
    if is_bank(folder):
        bank = Bank(folder)
        if line := older_verdicts(folder, grading_version(folder)):
            note(line)
        room = audited(bank.table(), vectors_of(settings, bank.problems.values()))
        of_sets = not_graded_by_set(bank, bank.runs)
        left = open_runs(of_sets, len(bank.runs))
        reach = audited(bank.table(), None, open_right=True) if of_sets else None
        one_for = "each domain"
    elif files := sorted(folder.glob("*_results.json")) or full_files(folder, "*/*"):
        systems = read_systems(files)
        room = headroom_of(systems)
        taken, ids = headroom_rows(systems)
        runs = [
            (one.datasets[id_], right)
            for one in taken
            for id_ in ids
            for right in one.verdicts[id_]
        ]
        open_ = Counter(name for name, right in runs if right is None)
        apart = [one.name for one in systems if one not in taken]
        reach = headroom_of(systems, open_right=True) if open_ else None
        left = open_runs(open_, len(runs))
        one_for = "everything"
    else:
        raise DataError(f"{folder}: neither a bank nor results of evaluate (*_results.json)")
    if room is None:
        raise DataError(f"{folder}: fewer than two programs ran on the same problems")
    *figures, verdict = room.lines(one_for)
    if room.problems < FEW_ROWS:
        few = f"too few rows to say: {room.problems}, wanted {FEW_ROWS} or more; what follows may be luck"
        figures += [verdict] if room.interaction is None else []  # else it draws a conclusion
        verdict = few
    say(verdict, "bold")
    without = (
        f"; left out, with fewer problems or more failures: {', '.join(apart)}" if apart else ""
    )
    say(
        f"{room.problems} problems, {room.programs} programs, {several(room.draws, 'draw')}{without}"
    )
    could = room.if_open_right(reach, one_for) if reach is not None else ""
    for line in filter(None, [*figures, left, could]):
        say(line)


def _own_rows(
    path: Path, type_: Domain | None, skip_bad: bool, limit: str, settings: Config
) -> Rows:
    most = int(limit) if limit.isdecimal() else 0
    if limit != "all" and most < 2:
        raise ConfigError(f"--limit {limit}: wanted how many rows, at least 2, or all")
    bad: list[tuple[str, str]] | None = [] if skip_bad else None
    read_as_own = type_ or skip_bad or path.suffix in TABLES
    given = own_problems(path, type_, bad) if read_as_own else problem_file(path)
    for line in told_once(bad or ()):
        note(f"left out {line}")
    there = {problem.id: problem for problem in given}
    kept = without_test_rows(row_options(settings), there.values())
    if there and not kept:
        raise DataError(
            f"{path}: each of its {len(there)} rows is a test row of {settings.data.data_dir}; wanted rows "
            "that no evaluation is made on. Name the whole file of your rows"
        )
    if len(kept) < len(there):
        note(f"{len(there) - len(kept)} of {len(there)} rows are left out: they are the test rows")
    rows = mixed_order(kept, settings.training.seed)
    taken = rows if limit == "all" else rows[:most]
    if len(taken) < len(rows):
        note(f"{len(taken)} of {len(rows)} rows, a seeded sample; every row: --limit all")
    problems: dict[Domain, list[Problem]] = {}
    for problem in taken:
        problems.setdefault(problem.domain, []).append(problem)
    few, found = too_few(problems), enough(problems)
    if not found:
        raise DataError(
            f"{path}: {TOO_FEW}: {few or 'no row'}, wanted {LEAST_ROWS} or more of a type, and "
            f"{FEW_ROWS} or more for an answer; add rows"
        )
    if few:
        note(f"left out: {few}, wanted {LEAST_ROWS} or more of a type to choose a program on")
    return found
