"""pool: executor replies that runs share, asked for ahead, looked at, and what they say is worth training on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llm_as_judge.cli.options import (
    BANK,
    BankOption,
    ConfigOption,
    DataDirOption,
    ExecutorOption,
    JsonOption,
    SetOption,
    note,
    say,
    settings_of,
    status_console,
)
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.cli.tables import show_table
from llm_as_judge.cli.verbs import verbs_of
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.types import to_json
from llm_as_judge.views.live import ProgressView

if TYPE_CHECKING:
    from llm_as_judge.evaluation.filling import Asked
    from llm_as_judge.llm.pool import Pool

pool = verbs_of(
    "pool", "Pool of executor replies that runs share (calls.folder): fill, stats, prune."
)


@pool.command(epilog="Example: llm-as-judge pool fill --config embedded --split train --limit 100")
def fill(
    draws: Annotated[
        int, typer.Option("--draws", min=1, help="Replies to ask for with each program.")
    ] = 4,
    split: Annotated[
        str,
        typer.Option(
            "--split",
            metavar="train|val|test",
            help="Problems to ask about: those that training reads, or those that evaluate takes.",
        ),
    ] = "train",
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="N|all",
            help="Number of problems: of train in total, of val and test for each set.",
        ),
    ] = None,
    way: Annotated[
        list[str] | None,
        typer.Option(
            "--way",
            help="Program to run: direct, cot or program_of_thought, cot@NAME for another executor; may be repeated. "
            "Default: all three for each executor.",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Make all draws, also where the first replies have the same verdict."
        ),
    ] = False,
    bank: BankOption = BANK,
    config: ConfigOption = None,
    executor: ExecutorOption = None,
    data_dir: DataDirOption = None,
    set_: SetOption = None,
) -> None:
    """Fill the pool: ask what one-step programs ask (direct, chain of thought, program of thought).

    Replies go into the pool, verdicts into the bank. The same command again asks only what is missing.
    """
    if settings_of(config, set_, executor=executor, data_dir=data_dir).calls.mode == "replay":
        raise ConfigError(
            "calls.mode: replay asks nobody, and pool fill asks what is missing; leave it out, or see what is "
            "there: llm-as-judge pool stats"
        )
    settings = settings_of(
        config,
        set_,
        executor=executor,
        data_dir=data_dir,
        flags={
            "evaluation.split": split,
            "evaluation.limit_per_set": limit,
            "calls.mode": "cache",
            "workflow.draws": 1,
        },
    )
    from llm_as_judge.assembly import open_workbench
    from llm_as_judge.assembly.executor_settings import operator_settings
    from llm_as_judge.cli.evaluating import sums
    from llm_as_judge.evaluation.filling import Filling, filled_estimate, problems_to_fill
    from llm_as_judge.evaluation.search.cells import conditions
    from llm_as_judge.evaluation.ways import WAYS, ways_of
    from llm_as_judge.llm.pool import Pool
    from llm_as_judge.llm.rounds import fill_to
    from llm_as_judge.runs.bank import Bank

    if draws > 1 and operator_settings(settings).temperature == 0:
        raise ConfigError(
            f"--draws {draws}: all draws of a greedy executor are the same; set executor.temperature "
            "above 0"
        )
    ways = ways_of(settings, way or ())
    problems = [one for one in problems_to_fill(settings) if one.domain in ways]
    if not problems:
        raise DataError(
            f"--way {', '.join(way or WAYS)}: no problem of {', '.join(ways)} to fill with"
        )

    async def job(kept: Bank) -> Asked:
        async with open_workbench(settings) as bench:
            assert isinstance(bench.recording, Pool)
            if dropped := bench.recording.drop_notes("drawn"):
                note(
                    f"{bench.recording.path}: verdicts that an earlier version kept here are dropped "
                    f"({dropped}); the bank {bank} gets them anew, from the replies"
                )
            estimate = filled_estimate(settings, problems, ways, draws, kept)
            note(f"{len(problems)} problems ({split}), {draws} draws of each way; missing at most:")
            note(str(estimate))
            if line := estimate.exceeds(bench.ledger.budget, bench.ledger.total):
                note(line)
            expected = estimate.rollouts
            with ProgressView(status_console, expected, each="draw", counted="draws") as view:

                def skipped(count: int) -> None:
                    nonlocal expected
                    expected -= count
                    view.expect(expected)

                filling = Filling(
                    bench,
                    kept,
                    ways,
                    draws,
                    everything=everything,
                    on_draw=view.rollout,
                    on_skipped=skipped,
                )
                try:
                    asked = await filling.fill(problems)
                finally:
                    note(f"asked now: {sums(bench.ledger)}")
            if not asked.failed:
                others = operator_settings(settings).executors
                for name in {way.name.partition("@")[2] for each in ways.values() for way in each}:
                    model = others[name].model if name else bench.executor.name
                    fill_to(bench.recording, model, draws)
            return asked

    line = (
        f"replies are kept in {settings.calls.folder}, verdicts in {bank}: the same command goes on"
    )
    with Bank.writing(bank, conditions(settings)) as kept, stoppable(line) as work:
        asked = work.run(job(kept))
    note(
        f"{asked.draws} draws made; {asked.agreed} problems whose first replies share a verdict get no "
        "more (--all)"
    )
    if asked.ungradable:
        note(
            f"draws that a grader failed on: {asked.ungradable}; the first failure: "
            f"{asked.first_failure}"
        )
    if asked.failed:
        note(
            f"{asked.failed} draws failed at the executor; the first: {asked.first_failure}. The same "
            "command asks for them again"
        )
        raise typer.Exit(1)


@pool.command(epilog="Example: llm-as-judge pool stats --config embedded --json")
def stats(
    bank: BankOption = BANK,
    config: ConfigOption = None,
    executor: ExecutorOption = None,
    set_: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what the pool holds, where its replies come from, and how often draws of a problem disagree."""
    from llm_as_judge.evaluation.bank_figures import way_figures
    from llm_as_judge.evaluation.ways import ways_of
    from llm_as_judge.grading.version import older_verdicts
    from llm_as_judge.runs.bank import Bank, grading_version

    settings = settings_of(config, set_, executor=executor)
    kept = _opened(settings)
    runs = Bank(bank)
    if line := older_verdicts(bank, grading_version(bank)):
        note(line)
    ways = {way.key for found in ways_of(settings).values() for way in found}
    drawn = [problem for program, problem, _ in runs.cells if program in ways]
    origins = [
        {"model": model, **facts, "replies": replies, "read": read, "written": written}
        for model, facts, replies, read, written in kept.origins()
    ]
    found: dict[str, Any] = {
        "pool": str(kept.path),
        "bytes": kept.bytes_used,
        "replies": len(kept),
        "damaged": kept.check(),
        "origins": origins,
        "bank": str(bank),
        "problems": len(set(drawn)),
        "draws": len(drawn),
        "ways": to_json(way_figures(runs, ways)),
    }
    if as_json:
        print(json.dumps(found))  # noqa: T201
        return
    say(
        f"{found['pool']}: {found['replies']} replies, {found['bytes'] / 2**20:.1f} MB, "
        f"{found['damaged']} damaged"
    )
    for origin in origins:
        say(_origin_line(origin))
    if drawn:
        _show_ways(found["ways"])
    else:
        note(f"{bank}: no verdicts of these ways; run: llm-as-judge pool fill")


@pool.command(epilog="Example: llm-as-judge pool prune --config embedded")
def prune(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="File for the remaining problems. Default: beside data.train_file."
        ),
    ] = None,
    bank: BankOption = BANK,
    config: ConfigOption = None,
    executor: ExecutorOption = None,
    data_dir: DataDirOption = None,
    set_: SetOption = None,
) -> None:
    """Write the training problems whose runs in the bank have different verdicts to a file of their own.

    Only these problems tell programs apart. Bank and training file stay as they are.
    """
    from llm_as_judge.assembly import problem_file
    from llm_as_judge.data.files import write_problems
    from llm_as_judge.evaluation.bank_figures import prune as pruned
    from llm_as_judge.evaluation.filling import disputed_file
    from llm_as_judge.grading.version import older_verdicts
    from llm_as_judge.runs.bank import Bank, grading_version

    settings = settings_of(config, set_, executor=executor, data_dir=data_dir)
    train_file = settings.data.train_file
    runs = Bank.named(bank, "--bank")
    if line := older_verdicts(bank, grading_version(bank)):
        note(line)
    problems = {problem.id: problem for problem in problem_file(train_file)}
    found = pruned(list(problems.values()), runs)
    note(
        f"{train_file}: {len(found.disputed)} of {len(problems)} problems are left. Left out: "
        f"{found.right} always right, {found.wrong} always wrong, {found.not_graded} not graded, "
        f"{found.unknown} that the bank was not filled with"
    )
    if not found.disputed:
        raise DataError(f"{train_file}: no problem is left; nothing was written")
    out = out or disputed_file(train_file)
    write_problems(out, found.disputed)
    say(f"{out}; train on them: --set data.train_file={out}")


def _opened(settings: Config) -> Pool:
    """
    Raises:
        ConfigError: there is none.
    """
    from llm_as_judge.llm.pool import Pool, is_pool

    folder = settings.calls.folder
    if not is_pool(folder) and not any(folder.glob("*.jsonl")):
        raise ConfigError(f"calls.folder: no pool in {folder}; run: llm-as-judge pool fill")
    return Pool(folder)


def _origin_line(one: dict[str, Any]) -> str:
    weights, prompts, seed = (str(one.get(key, "-")) for key in ("weights", "prompts", "seed"))
    return (
        f"{one['model']}: {one['replies']:,} replies, {one['read']:,} tokens read, {one['written']:,} written; "
        f"weights {weights[:12]}, prompts {prompts}, seed {seed}"
    )


SHARES = ("right", "vote", "mixed", "solved", "misled")


def _show_ways(ways: list[dict[str, Any]]) -> None:
    rows = []
    for one in ways:
        shares = ["-" if one[key] is None else f"{one[key]:.0%}" for key in SHARES]
        if one["open"]:
            shares[0] += f" to {one['right_if_open_right']:.0%}"
        counts = (str(one["problems"]), str(one["draws"]))
        rows.append((f"{one['dataset']} {one['way']}", *counts, *shares, f"{one['cost']:.0f}"))
    head = ("set and way", "problems", "draws", *SHARES, "cost")
    show_table("Draws by set and way", head, rows, markdown=False)
