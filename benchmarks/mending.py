"""`until_mended` against `until_passed` at equal cost: rows of MBPP, the embedded executor.

    nice -n 19 python benchmarks/mending.py RAW/mbpp/mbpp.jsonl --out results/mending [--rows 150] [--draws 2]

Replies and runs are kept in --out: the same command goes on where it was stopped. Both write from the same draws, so
a first try is the same in both. Between two numbers of tries `until_passed` is a mixture of both. Cost is in written
tokens, a quarter of what is read with them: a mending prompt holds the failed code, and is read for each mending. Rows
are drawn by a seed from those that show a test. Intervals (95 %) are bootstraps over rows.

Expected, before it was run, for the 1.5B executor at four tries: +1 point [-2, +4] at equal cost. One mending passes
in about a fifth of failures, as one more draw does, and costs half as much again to read; it gains where a
draw repeats the same mistake. With two tries level. Above +2 with an interval clear of zero the searched programs
should take it in place of `until_passed`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from llm_as_judge.assembly import open_workbench, program_options
from llm_as_judge.config import Config, load_config
from llm_as_judge.data.code import mbpp_full
from llm_as_judge.data.rows import RowError, read_rows
from llm_as_judge.errors import DataError, UserError
from llm_as_judge.evaluation.program_runs import (
    BankRunner,
    all_runs,
    bank_program,
    conditions,
    program_runner,
)
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Problem

TRIES = (1, 2, 3, 4, 6)
RESAMPLES = 2000
Array = npt.NDArray[np.float64]


def rows_of(file: Path, count: int) -> list[Problem]:
    """
    Raises:
        DataError: the file holds no row of MBPP that shows a test.
    """
    found = []
    for row in read_rows(file):
        try:
            problem = mbpp_full(row, "rows")
        except RowError:
            continue
        if problem.visible_tests:
            found.append(problem)
    if not found:
        raise DataError(f"{file}: no row of MBPP with a test to show; wanted mbpp.jsonl")
    random.Random(0).shuffle(found)
    return found[:count]


def settings(out: Path, executor: str) -> Config:
    return load_config(
        "embedded",
        overrides=[
            f"executor.model={executor}",
            "executor.max_tokens=512",
            "executor.timeout_s=1800",
            "calls.mode=cache",
            f"calls.folder={out / 'calls'}",
            "judge.kind=rules",
        ],
    )


def programs(config: Config) -> dict[str, BankProgram]:
    """``until_passed 4`` and the like by what they are called."""
    found = {}
    for tries in TRIES:
        for operator in ("until_passed", "until_mended"):
            asked = f"problem=problem, entry_point=entry_point, most={tries}"
            text = f'code = await {operator}({asked})\nreturn code["solution"]\n'
            name = f"{operator} {tries}"
            program = bank_program("code", text, name, "given", program_options(config))
            assert program is not None
            found[name] = program
    return found


async def run_missing(
    config: Config, bank: Bank, given: Mapping[str, BankProgram], rows: list[Problem], draws: int
) -> None:
    async with open_workbench(config) as bench:
        runner = BankRunner(bank, program_runner(bench, bank), config.workflow.concurrency)
        for tries in TRIES:  # the cheap ones first: a run that is stopped has whole columns
            some = [one for name, one in given.items() if name.endswith(f" {tries}")]
            await runner.fill(all_runs(some, rows, draws))
            print(f"{tries} tries: {runner.ran} runs made", file=sys.stderr)


def at_equal_cost(
    right_PJ: Array, cost_PJ: Array, right_P: Array, cost_P: Array
) -> tuple[float, float, float]:
    """(points, its interval) of one program against the mixtures of several, the cheapest first."""
    chance = np.random.default_rng(0)
    picks = [np.arange(len(right_P))]
    picks += [chance.integers(0, len(right_P), len(right_P)) for _ in range(RESAMPLES)]
    gains = [
        100
        * (
            right_P[pick].mean()
            - np.interp(
                cost_P[pick].mean(), cost_PJ[pick].mean(axis=0), right_PJ[pick].mean(axis=0)
            )
        )
        for pick in picks
    ]
    low, high = np.quantile(gains[1:], [0.025, 0.975])
    return gains[0], float(low), float(high)


def table(bank: Bank, given: Mapping[str, BankProgram], rows: list[Problem], draws: int) -> str:
    """Figures of each program, over the rows that all programs were run on at every draw.

    Raises:
        DataError: there is none.
    """
    whole = bank.table([one.key for one in given.values()], [row.id for row in rows], draws)
    there_P = np.logical_not(np.isnan(whole.right_JPD).any(axis=(0, 2)))
    if not there_P.any():
        raise DataError(f"{bank.folder}: no row has a run of each program; run this command again")
    right_PJ = whole.right_JPD[:, there_P].mean(axis=2).T
    cost_PJ = whole.cost_JPD[:, there_P].mean(axis=2).T
    names = list(given)
    passed = [n for n, name in enumerate(names) if name.startswith("until_passed")]
    lines = [f"{there_P.sum()} rows, {draws} draws", "program | right, % | cost | at equal cost"]
    for n, name in enumerate(names):
        gain = ""
        if n not in passed and not name.endswith(" 1"):
            points, low, high = at_equal_cost(
                right_PJ[:, passed], cost_PJ[:, passed], right_PJ[:, n], cost_PJ[:, n]
            )
            gain = f"{points:+.1f} [{low:+.1f}, {high:+.1f}]"
        figures = f"{100 * right_PJ[:, n].mean():.1f} | {cost_PJ[:, n].mean():.0f}"
        lines.append(f"{name} | {figures} | {gain}")
    return "\n".join(lines)


def measured(
    file: Path, out: Path, count: int, draws: int, executor: str, *, only_shown: bool
) -> str:
    config = settings(out, executor)
    rows, given = rows_of(file, count), programs(config)
    if only_shown:
        return table(Bank.named(out / "bank", "--out"), given, rows, draws)
    with Bank.writing(out / "bank", conditions(config)) as bank:
        asyncio.run(run_missing(config, bank, given, rows, draws))
        return table(bank, given, rows, draws)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--executor", default="qwen25-coder-1.5b")
    parser.add_argument("--show", action="store_true", help="what there is, without asking")
    given = parser.parse_args()
    asked = (given.file, given.out, given.rows, given.draws, given.executor)
    print(measured(*asked, only_shown=given.show))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
