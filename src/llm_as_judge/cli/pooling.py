"""pool fill: executor replies that runs share, asked for ahead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from llm_as_judge.assembly import open_workbench, program_options, row_options
from llm_as_judge.assembly.executor_settings import operator_settings
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.evaluating import sums
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.baselines import WAYS, single_call_baselines
from llm_as_judge.evaluation.filling import Asked as Filled
from llm_as_judge.evaluation.filling import (
    Filling,
    Ways,
    filled_estimate,
    problems_to_fill,
)
from llm_as_judge.evaluation.program_runs import conditions
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.rounds import fill_to
from llm_as_judge.runs.table import Bank
from llm_as_judge.types import Problem
from llm_as_judge.views.console import note
from llm_as_judge.views.live import several
from llm_as_judge.views.progress import Progress


def fill(asked: Asked, *, draws: int, way: list[str] | None, everything: bool, bank: Path) -> None:
    mode = "replay" if asked.settings().calls.mode == "replay" else "cache"
    settings = asked.settings({"calls.mode": mode, "workflow.draws": 1})
    if draws > 1 and operator_settings(settings).temperature == 0:
        raise ConfigError(
            f"--draws {draws}: all draws of a greedy executor are the same; set executor.temperature "
            "above 0"
        )
    ways = single_call_baselines(program_options(settings), way or ())
    problems = [one for one in problems_to_fill(row_options(settings)) if one.domain in ways]
    if not problems:
        raise DataError(
            f"--way {', '.join(way or WAYS)}: no problem of {', '.join(ways)} to fill with"
        )
    line = (
        f"replies are kept in {settings.calls.folder}, verdicts in {bank}: the same command goes on"
    )
    with Bank.writing(bank, conditions(settings)) as kept, stoppable(line) as work:
        done = work.run(_fill(settings, problems, ways, draws, kept, everything=everything))
    ended = f". {several(done.agreed, 'problem')} got no further draws, since the first share a verdict; all draws: --all"
    note(f"{several(done.draws, 'draw')} made{ended if done.agreed else ''}")
    if done.ungradable:
        note(
            f"draws that a grader failed on: {done.ungradable}; the first failure: "
            f"{done.first_failure}"
        )
    if done.not_recorded:
        note(
            f"{done.not_recorded} draws are left out: {settings.calls.folder} lacks their replies, and "
            "calls.mode=replay asks nobody"
        )
    if done.failed:
        note(
            f"{done.failed} draws failed at the executor; the first: {done.first_failure}. The same "
            "command asks for them again"
        )
        raise typer.Exit(1)


async def _fill(
    settings: Config,
    problems: Sequence[Problem],
    ways: Ways,
    draws: int,
    bank: Bank,
    *,
    everything: bool,
) -> Filled:
    """Asks what is missing; says before how much that is, and then how far it is."""
    async with open_workbench(settings) as bench:
        assert isinstance(bench.recording, Pool)
        estimate = filled_estimate(settings, problems, ways, draws, bank)
        split = settings.evaluation.split
        asked = (
            f"{several(len(problems), 'problem')} ({split}), {several(draws, 'draw')} of each way"
        )
        if replayed := settings.calls.mode == "replay":
            note(f"{asked}, from the replies in {bench.recording.path}")
        else:
            note(f"{asked}; what is missing is at most:")
            for line in estimate.lines_within(bench.ledger.budget, bench.ledger.total):
                note(line)
        expected = estimate.rollouts
        with Progress() as view:
            view.part("replies and verdicts", expected, "draws")

            def skipped(count: int) -> None:
                nonlocal expected
                expected -= count
                view.expect(expected)

            filling = Filling(
                bench,
                bank,
                ways,
                draws,
                everything=everything,
                on_draw=view.did,
                on_skipped=skipped,
            )
            try:
                done = await filling.fill(problems)
            finally:
                if not replayed:  # of which the ledger counts the replies that were kept, too
                    note(f"asked now: {sums(bench.ledger)}")
        if not (done.failed or replayed):
            others = operator_settings(settings).executors
            for name in {way.name.partition("@")[2] for each in ways.values() for way in each}:
                model = others[name].model if name else bench.executor.name
                fill_to(bench.recording, model, draws)
        return done
