"""Where an evaluation lies on disk, and reading its results file.

    results/evaluation/
        NAME_results.json      the documented form
        NAME/HASH/plan.json    what is evaluated: configuration, policy, rows, versions
        NAME/HASH/rollouts.jsonl   {"problem", "rollout"}, a line as each rollout ends
        NAME/HASH/ledger.json  what its requests used, failed and repeated ones too
        NAME/HASH/isolation.jsonl  what was seen to hold in the sandbox, a line for each kind
        NAME/HASH/full.json    every figure and one row a problem
        NAME/HASH/NAME_results.json    as above, which another evaluation of this name replaces

HASH stands for everything that decides the figures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from llm_as_judge.errors import ConfigError, DataError

PLAN, ROLLOUTS, FULL = "plan.json", "rollouts.jsonl", "full.json"
LEDGER, ISOLATION = "ledger.json", "isolation.jsonl"
SHOWN = (
    "accuracy",
    "accuracy_low",
    "accuracy_high",
    "strictly_valid",
    "executed",
    "calls",
    "tokens",
)
"""Figures that every results file has, of each set and overall; null where there is nothing to
take the mean of."""


def run_folder(path: Path) -> Path:
    """The folder of an evaluation from itself, a file of it, or its results file.

    Raises:
        DataError: no such file, or it names no folder.
    """
    if path.is_dir():
        return path
    if path.name in (PLAN, ROLLOUTS, FULL) or (path.parent / PLAN).is_file():
        return path.parent
    data = read_results(path)
    if not isinstance(data.get("run"), str):
        raise DataError(f'{path}: names no "run" folder; evaluate again to have one')
    return path.parent / str(data["run"])


def free_name(name: str) -> str:
    """``name``, if it can be a file's.

    Raises:
        ConfigError: it holds a path separator or is no plain name.
    """
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ConfigError(f"--name {name!r}: wanted a plain name; results go to NAME_results.json")
    return name


def read_results(path: Path) -> Any:
    """A results file.

    Raises:
        DataError: missing, or not of the documented form.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run: llm-as-judge evaluate") from None
    except IsADirectoryError:
        raise DataError(f"{path}: a folder; wanted a file NAME_results.json") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("datasets"), list):
        raise DataError(f'{path}: found no "datasets" list; wanted a results file of evaluate')
    entries = [("overall", data.get("overall"))]
    for number, row in enumerate(data["datasets"]):
        named = isinstance(row, dict) and isinstance(row.get("dataset"), str)
        entries.append((f"datasets[{number}]", row.get("metrics") if named else None))
    for where, metrics in entries:
        found = metrics if isinstance(metrics, dict) else {}
        missing = [n for n in SHOWN if not isinstance(found.get(n, ""), (int, float, type(None)))]
        if missing:
            raise DataError(
                f"{path}: {where} has no {missing[0]!r}; wanted a whole results file of evaluate"
            )
    return data
