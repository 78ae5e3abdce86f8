"""Layout of an evaluation on disk, and the reader of its results files.

    results/evaluation/
        NAME_results.json      the documented form
        NAME/HASH/plan.json    what is evaluated: configuration, policy, rows, versions
        NAME/HASH/runs.jsonl   a run a line, as each ends, see runs/table.py
        NAME/HASH/problems.jsonl   their problems
        NAME/HASH/ledger.json  what its requests used, failed and repeated ones too
        NAME/HASH/isolation.jsonl  what was seen to hold in the sandbox, a line for each kind
        NAME/HASH/full.json    every figure and one row a problem; read as full.json.gz, too
        NAME/HASH/NAME_results.json    as above, which another evaluation of this name replaces

HASH stands for everything that decides the figures.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.runs.results import FullResults, Results, read_results_file
from llm_as_judge.runs.table import RUNS

PLAN, FULL = "plan.json", "full.json"
PACKED = f"{FULL}.gz"
LEDGER, ISOLATION = "ledger.json", "isolation.jsonl"
RESULTS_SUFFIX = "_results.json"
_COMPARED = ("policy_tokens", "calls", "seconds", "cost_usd")


def run_folder(path: Path) -> Path:
    """The folder of an evaluation from itself, a file of it, or its results file.

    Raises:
        DataError: no such file, or it names no folder.
    """
    if path.is_dir():
        return path
    if path.name in (PLAN, RUNS, FULL, PACKED) or (path.parent / PLAN).is_file():
        return path.parent
    run = read_results(path).run
    if run is None:
        raise DataError(f'{path}: names no "run" folder; evaluate again to have one')
    return path.parent / run


def free_name(name: str) -> str:
    """``name``, if it can be a file's.

    Raises:
        ConfigError: it holds a path separator or is no plain name.
    """
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ConfigError(f"--name {name!r}: wanted a plain name; results go to NAME_results.json")
    return name


def read_results(path: Path) -> Results:
    """A results file.

    Raises:
        DataError: missing, or not whole.
    """
    return read_results_file(Results, path)


def headed(paths: Iterable[Path]) -> dict[str, Results]:
    """Results files by the name of who was evaluated, the heading of a column.

    Raises:
        DataError: see :func:`read_results`.
    """
    return {heading(path): read_results(path) for path in paths}


def heading(path: Path) -> str:
    """The name of who was evaluated."""
    return path.name.removesuffix(RESULTS_SUFFIX)


def full_file(folder: Path) -> Path:
    """Of an evaluation: ``full.json``, or the same packed."""
    packed = folder / PACKED
    return packed if packed.is_file() else folder / FULL


def rows_lie_beside(path: Path) -> bool:
    """False: figures alone, as of a recording that is shipped.

    Raises:
        DataError: see :func:`run_folder`.
    """
    return full_file(run_folder(path)).is_file()


def full_files(folder: Path, evaluations: str) -> list[Path]:
    """Those of the evaluations below a folder that a pattern names, in order."""
    return sorted(
        found for name in (FULL, PACKED) for found in folder.glob(f"{evaluations}/{name}")
    )


def read_full(path: Path) -> FullResults:
    """The full results of an evaluation, from its folder, a file of it, or its results file.

    Raises:
        DataError: a file is missing or not whole, or no rollout is in it.
    """
    file = full_file(run_folder(path))
    if path.is_dir() and not file.is_file() and (found_in := full_files(path, "*")):
        folders = ", ".join(str(one.parent) for one in found_in)
        raise DataError(f"{path}: holds several evaluations or one; name its folder: {folders}")
    if path.is_file() and not file.parent.is_dir():
        raise DataError(
            f"{path}: its folder {file.parent} is not there: the file belongs beside it; copy both, or evaluate "
            "again"
        )
    found = read_results_file(FullResults, file)
    if lacking := [name for name in _COMPARED if name not in found.overall]:
        raise DataError(f"{file}: overall has no {lacking[0]!r}; evaluate again")
    if not any(row.correct for row in found.problems):
        raise DataError(f"{file}: no rollout in it; run: llm-as-judge evaluate")
    return found
