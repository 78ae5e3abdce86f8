"""A training run by domain: what was valid, right and dear, early in the run and late.

    python recipes/by_domain.py logs/train_NAME [--parts 5] [--markdown | --json]

Without a run the newest under logs/ is shown. `python analyze_by_domain.py` is a door to it.
"""

from __future__ import annotations

import glob
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from llm_as_judge.accuracy import Accuracy, accuracy, right_of
from llm_as_judge.accuracy import runs_of as verdicts_of
from llm_as_judge.errors import DataError
from llm_as_judge.runs.runlog import ROLLOUTS, newest_run, read_rollouts
from llm_as_judge.types import Rollout, to_json
from llm_as_judge.views.tables import number_cell, show_table
from recipe import parser_of, run

ALL = "all"


@dataclass(frozen=True, slots=True)
class DomainRow:
    """One domain in one part of a run; shares in 0..1, means per rollout."""

    run: str
    steps: str
    """``1-10``"""
    domain: str
    rollouts: int
    strictly_valid: float
    executed: float
    accuracy: Accuracy | None
    """Of rollouts that did not fail, each problem weighing the same; None where there is none."""
    reward: float | None
    calls: float
    tokens: float
    operators: tuple[str, ...]
    """Most used first: ``Custom 52 %`` of runnable programs."""


def runs_of(paths: Sequence[Path]) -> list[Path]:
    """Run folders from folders, files in them, ``logs/train_X.log`` (the folder ``logs/train_X``),
    or a pattern that a shell has left as it is.

    Raises:
        DataError: a path names no run.
    """
    found: list[Path] = []
    for path in paths:
        shaped = [Path(p) for p in sorted(glob.glob(str(path)))] or [path]  # noqa: PTH207
        if not shaped[0].exists() and path.suffix == ".log":
            shaped = [Path(p) for p in sorted(glob.glob(str(path.with_suffix(""))))]  # noqa: PTH207
        runs = [run for one in shaped for run in (one, one.parent) if (run / ROLLOUTS).is_file()]
        if not runs:
            raise DataError(
                f"{path}: no run there (no {ROLLOUTS}); wanted a folder logs/train_MODEL_TIME"
            )
        found += runs
    return list(dict.fromkeys(found))


def rows_by_domain(run: Path, parts: int = 2) -> list[DomainRow]:
    """For each of ``parts`` equal parts of the steps a row for each domain, and one for all.

    Raises:
        DataError: the run has no rollout, or a line cannot be read.
    """
    rollouts = list(read_rollouts(run))
    steps = sorted({step for step, _, _ in rollouts})
    if not steps:
        raise DataError(f"{run / ROLLOUTS}: no rollout in it")
    size = -(-len(steps) // max(1, min(parts, len(steps))))
    rows = []
    for start in range(0, len(steps), size):
        window = steps[start : start + size]
        by_domain: dict[str, list[Rollout]] = defaultdict(list)
        for step, domain, rollout in rollouts:
            if window[0] <= step <= window[-1]:
                by_domain[domain].append(rollout)
        named = f"{window[0]}-{window[-1]}"
        rows += [_row(run.name, named, name, by_domain[name]) for name in sorted(by_domain)]
        rows.append(_row(run.name, named, ALL, [r for part in by_domain.values() for r in part]))
    return rows


def _row(run: str, steps: str, domain: str, rollouts: Sequence[Rollout]) -> DomainRow:
    of_problem: dict[str, list[bool | None]] = defaultdict(list)
    for rollout in rollouts:
        of_problem[rollout.problem_id] += verdicts_of(rollout.verdict)
    right = accuracy([one for one in map(right_of, of_problem.values()) if one is not None])
    executions = [r.execution for r in rollouts if r.execution]
    rewards = [r.reward.total for r in rollouts if r.reward]
    runnable = [r.program for r in rollouts if r.program.runnable]
    used = Counter(name for program in runnable for name in program.operators)
    return DomainRow(
        run,
        steps,
        domain,
        len(rollouts),
        fmean(r.program.strictly_valid for r in rollouts),
        sum(e.status == "ok" for e in executions) / len(rollouts),
        right,
        fmean(rewards) if rewards else None,
        sum(e.llm_calls for e in executions) / len(rollouts),
        sum(e.tokens for e in executions) / len(rollouts),
        tuple(f"{name} {count / len(runnable):.0%}" for name, count in used.most_common(3)),
    )


def show(found: Sequence[DomainRow], markdown: bool) -> None:
    head = ["steps", "domain", "programs", "valid", "ran", "right, % [95 %]", "reward"]
    head += ["calls", "tokens"]
    if markdown:
        rows = [[row.run, *_domain_cells(row), ", ".join(row.operators)] for row in found]
        show_table("By domain", ["run", *head, "operators"], rows, markdown)
        return
    for name in dict.fromkeys(row.run for row in found):  # two tables a run: 80 columns hold each
        of_run = [row for row in found if row.run == name]
        show_table(name, head, [_domain_cells(row) for row in of_run], markdown)
        used = [[row.steps, row.domain, ", ".join(row.operators)] for row in of_run]
        show_table("", ["steps", "domain", "operators, of programs that ran"], used, markdown)


def _domain_cells(row: DomainRow) -> list[str]:
    right = "-" if row.accuracy is None else row.accuracy.text().replace("%", "")
    return [
        row.steps,
        row.domain,
        str(row.rollouts),
        f"{row.strictly_valid:.0%}",
        f"{row.executed:.0%}",
        right,
        number_cell(row.reward, "{:+.2f}"),
        f"{row.calls:.1f}",
        f"{row.tokens:.0f}",
    ]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("runs", nargs="*", type=Path, help="run folders, or logs/train_*.log")
    parser.add_argument("--parts", type=int, default=2, help="equal parts of the steps")
    parser.add_argument("--markdown", action="store_true", help="a table for a document")
    parser.add_argument("--json", action="store_true", help="for scripts")
    options = parser.parse_args()
    runs = runs_of(options.runs or [newest_run(Path("logs"))])
    found = [row for one in runs for row in rows_by_domain(one, options.parts)]
    if options.json:
        print(json.dumps(to_json(found)))
    else:
        show(found, options.markdown)


if __name__ == "__main__":
    run(main)
