"""report --by-domain: a training run by domain, early and late."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llm_as_judge.cli.tables import number_cell, show_table
from llm_as_judge.types import to_json

if TYPE_CHECKING:
    from llm_as_judge.evaluation.by_domain import DomainRow


def show_by_domain(runs: Sequence[Path], parts: int, markdown: bool, as_json: bool) -> None:
    """What was valid, right and dear in each domain, in each of ``parts`` parts of the steps.

    Raises:
        DataError: a path names no run, or a line of it cannot be read.
    """
    from llm_as_judge.evaluation.by_domain import rows_by_domain, runs_of

    found = [row for run in runs_of(runs) for row in rows_by_domain(run, parts)]
    if as_json:
        print(json.dumps(to_json(found)))  # noqa: T201
        return
    head = ["steps", "domain", "programs", "valid", "ran", "right, % [95 %]", "reward"]
    head += ["calls", "tokens"]
    if markdown:
        rows = [[row.run, *_domain_cells(row), ", ".join(row.operators)] for row in found]
        show_table("By domain", ["run", *head, "operators"], rows, markdown)
        return
    for run in dict.fromkeys(row.run for row in found):  # two tables a run: 80 columns hold each
        of_run = [row for row in found if row.run == run]
        show_table(run, head, [_domain_cells(row) for row in of_run], markdown)
        used = [[row.steps, row.domain, ", ".join(row.operators)] for row in of_run]
        show_table("", ["steps", "domain", "operators, of programs that ran"], used, markdown)


def _domain_cells(row: DomainRow) -> list[str]:
    right = "-"
    if row.accuracy is not None:
        shares = (row.accuracy, row.accuracy_low, row.accuracy_high)
        right = "{:.0f} [{:.0f}, {:.0f}]".format(*(100 * share for share in shares))
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
