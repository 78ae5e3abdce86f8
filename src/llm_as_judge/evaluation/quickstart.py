"""A first run: a small task of our own, fixed programs and a policy before and after training.

    a recorded run -> rows -> a bank of fixed programs -> the best fixed one and the others -> the untrained
    policy -> the policy that can write every program of the bank and prefers none -> GRPO -> the trained policy

All answer the same held-out rows; the policy before and after GRPO with greedy programs and with drawn ones.
It puts together what other verbs do one by one. Everything lies below one folder, and what is there
already is gone on with, not paid for again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from llm_as_judge.assembly import open_workbench, program_options
from llm_as_judge.assembly.chat_models import embedded_weights
from llm_as_judge.assembly.preflight import checkpoint_root
from llm_as_judge.assembly.trainer import GRPOTrainer
from llm_as_judge.config import Config, known_model
from llm_as_judge.data.quickstart import write_quickstart
from llm_as_judge.data.selection import problem_file
from llm_as_judge.errors import ConfigError
from llm_as_judge.evaluation.baselines import UNTRAINED, find_system
from llm_as_judge.evaluation.compare import Comparison, compare
from llm_as_judge.evaluation.evaluate import open_evaluation, run_evaluation
from llm_as_judge.evaluation.layout import read_full
from llm_as_judge.evaluation.pages import page_of
from llm_as_judge.evaluation.program_runs import (
    BankRunner,
    Wanted,
    all_runs,
    by_turns,
    conditions,
    key_of,
    program_runner,
)
from llm_as_judge.evaluation.recorded_quickstart import RECORDED, grade_recorded, shipped_recording
from llm_as_judge.evaluation.results import write_results
from llm_as_judge.evaluation.search.choices import DOMAIN, SearchResult, search_choices
from llm_as_judge.evaluation.search.programs import shipped
from llm_as_judge.evaluation.system_results import SystemResults, read_systems
from llm_as_judge.files import write_text
from llm_as_judge.judge.scoring import RIGHT, WRONG
from llm_as_judge.llm.requantized import servable
from llm_as_judge.llm.weights import fetch
from llm_as_judge.policy.checkpoint import latest_checkpoint
from llm_as_judge.policy.unpacking import unpack_gguf
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.rundir import read_run
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.training.run import GRPO, WARM_START
from llm_as_judge.training.warm_start import KEY, losses_in_words
from llm_as_judge.types import Domain, Problem
from llm_as_judge.views.progress import Progress
from llm_as_judge.views.report import write_report

DIRECT, BEST_FIXED, WARM, TRAINED = "direct", "best_fixed", "warm_started", "trained"
WARM_SAMPLED, TRAINED_SAMPLED = f"{WARM}_sampled", f"{TRAINED}_sampled"
SYSTEMS = (DIRECT, BEST_FIXED, UNTRAINED, WARM, TRAINED, WARM_SAMPLED, TRAINED_SAMPLED)
"""In the order of the table; those that end in ``_sampled`` draw their programs at the temperature of training."""
RECORDED_RUN, WEIGHTS, BANK = "a recorded run", "the models' weights", "a bank of programs"
PARTS = (
    *(RECORDED_RUN, WEIGHTS, BANK, DIRECT, BEST_FIXED, UNTRAINED),
    *(WARM_START, WARM, WARM_SAMPLED, GRPO, TRAINED, TRAINED_SAMPLED),
)
"""In the order of their work; a system is a part where it answers the held-out rows."""
SHIPPED = (DIRECT, "cot", "program_of_thought")
"""Workflows that the bank holds: the best fixed program is chosen from them, and the policy learns to write
each of them on every row."""
START = "step_0"
"""Checkpoint after the warm start."""

Work = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine to its end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the held-out rows say."""

    systems: tuple[SystemResults, ...]
    against_untrained: Comparison
    against_warm: Comparison
    against_warm_sampled: Comparison
    """Programs drawn, before and after GRPO."""
    against_fixed: Comparison
    results: Mapping[str, Path]
    run_dir: Path
    checkpoint: Path
    judged: int = 0
    """Answers of all systems on held-out rows that the rules left open and the trained judge decided."""


def quickstart(settings: Config, view: Progress, work: Work) -> Outcome:
    """All of it; what an earlier call has finished is taken as it is.

    Args:
        settings: every path of it below the quickstart's folder.
        view: with the parts ``PARTS``.
        work: runs what waits; where the run is stopped, it raises.
    Raises:
        UserError: a folder, a model or the configuration is not as wanted.
    """
    root = settings.output.logs.parent
    _show_recorded(settings, root, view, work)
    _fetch_weights(settings, view)
    write_quickstart(settings.data.data_dir, settings.training.seed)
    fixed = _chosen(settings, root / BEST_FIXED, view, work)
    results = {DIRECT: _evaluated(settings, DIRECT, DIRECT, view, work)}
    results[BEST_FIXED] = _evaluated(settings, str(fixed), BEST_FIXED, view, work)
    results[UNTRAINED] = _evaluated(settings, UNTRAINED, UNTRAINED, view, work)
    run_dir = settings.output.logs / "train"
    warm = _warm_started(settings, run_dir, view, work)
    results |= _greedy_and_drawn(settings, warm, (WARM, WARM_SAMPLED), view, work)
    checkpoint = _trained(settings, run_dir, view, work)
    results |= _greedy_and_drawn(settings, checkpoint, (TRAINED, TRAINED_SAMPLED), view, work)
    return _outcome(results, run_dir, checkpoint)


def _greedy_and_drawn(
    settings: Config, checkpoint: Path, names: tuple[str, str], view: Progress, work: Work
) -> dict[str, Path]:
    """A policy's held-out rows with its likeliest program, and with one drawn as in training."""
    as_trained = {"temperature": settings.sampling.temperature}
    drawn = settings.model_copy(
        update={"evaluation": settings.evaluation.model_copy(update=as_trained)}
    )
    return {
        name: _evaluated(of, str(checkpoint), name, view, work)
        for name, of in zip(names, (settings, drawn), strict=True)
    }


def _show_recorded(settings: Config, root: Path, view: Progress, work: Work) -> None:
    """A finished quickstart, its answers graded again: what is to come, in seconds."""
    view.part(RECORDED_RUN)
    recorded = shipped_recording()
    paths = work(grade_recorded(recorded, settings, root / "recorded"))
    found = dict(zip(paths, read_systems(list(paths.values())), strict=True))
    rows = ", ".join(f"{name} {right_of(found[name])}" for name in RECORDED)
    page = root / "recorded" / "report.html"
    write_report(page_of(paths, pair=(WARM, TRAINED)), page)
    view.say(f"a run of seed {recorded[0].seed} that ended before: right {rows}")
    view.say(f"this is what the end looks like: {page}")


def _fetch_weights(settings: Config, view: Progress) -> None:
    """Fetched, and rewritten as policy and executor read them: once on a machine."""
    view.part(WEIGHTS)
    cache, shown = settings.output.cache_dir(), partial(view.show, unit="MB")
    policy = fetch(known_model(settings.policy.name, "policy.name"), cache, shown)
    if policy.suffix == ".gguf":
        view.part("as the policy reads them")
        unpack_gguf(policy)
    if (executor := embedded_weights(settings.executor.model)) is not None:
        found = fetch(executor, cache, shown)
        view.part("as the executor reads them")
        servable(found)


def _evaluated(settings: Config, spec: str, name: str, view: Progress, work: Work) -> Path:
    """Results of a system on the held-out rows."""
    system = find_system(spec, program_options(settings))
    with open_evaluation(settings, system, name) as record:
        try:
            total, missing = len(record.plan.ids), len(record.missing())
            view.part(name, total, "held-out rows", total - missing)
            if missing:
                with view.at_work() as wrote:
                    ran = run_evaluation(record, system, lambda _: view.did(), wrote)
                    work(ran)
        finally:
            if any(group.rollouts for group in record.groups()):
                path = write_results(record, settings.output.results / "evaluation")
    found = read_systems([path])[0]
    view.say(f"{name}: {right_of(found)} held-out rows right")
    return path


def right_of(system: SystemResults, dataset: str | None = None) -> str:
    """``14 of 16``; with open answers ``14 to 15 of 16``."""
    rows = [id_ for id_, name in system.datasets.items() if dataset in (None, name)]
    found = [system.right[id_] for id_ in rows if id_ in system.right]
    least, most = sum(one.right for one in found), sum(one.most for one in found)
    return f"{least:.0f}{f' to {most:.0f}' if most > least else ''} of {len(rows)}"


def _chosen(settings: Config, folder: Path, view: Progress, work: Work) -> Path:
    """The best fixed program of each domain, from the bank of ``training.warm_start``, which is
    filled here: on rows that are not held out."""
    place = settings.training.warm_start
    if place is None:
        raise ConfigError(f"{KEY}: the quickstart wants a folder for its bank; leave it out")
    rows = _rows(settings)
    programs = {
        domain: [program for program in found if program.name in SHIPPED]
        for domain, found in shipped(program_options(settings), tuple(rows)).items()
    }

    wanted = all_runs(chain.from_iterable(programs.values()), by_turns(rows), 1)

    def ran(cell: RunRecord, now: bool) -> None:
        if now:
            view.did()

    async def everybody(
        runner: BankRunner, domain: Domain, seen: Sequence[Problem]
    ) -> list[BankProgram]:
        await runner.fill(all_runs(programs[domain], seen, 1))
        return programs[domain]

    async def job(bank: Bank) -> SearchResult:
        async with open_workbench(settings) as bench:
            at_once = settings.workflow.concurrency
            runner = BankRunner(bank, program_runner(bench, bank), at_once, ran)
            await runner.fill(wanted)
            return await search_choices(runner, rows, everybody, draws=1, seed=0)

    with Bank.writing(place, conditions(settings)) as bank:
        kept = sum(bank.holds(key_of(*run)) for run in wanted)
        view.part(BANK, len(wanted), "runs", kept)
        with view.at_work():
            found: SearchResult = work(job(bank))
    for domain in rows:
        program = found.chosen(DOMAIN, domain, "high").program
        write_text(folder / f"{domain}.py", program.text)
    view.say(_bank_summary(bank, rows, wanted))
    choices = [found.chosen(DOMAIN, domain, "high") for domain in rows]
    said = ", ".join(f"{choice.of} {choice.name}" for choice in choices)
    view.say(f"best fixed program of each domain, chosen on them: {said}")
    return folder


def _bank_summary(
    bank: Bank,
    rows: Mapping[Domain, Sequence[Problem]],
    wanted: Sequence[Wanted],
) -> str:
    right: dict[str, set[str]] = {}
    for program, row, draw in wanted:
        ids = right.setdefault(program.name, set())
        if bank.runs[key_of(program, row, draw)].right:
            ids.add(row.id)
    said = ", ".join(f"{name} {len(ids)}" for name, ids in right.items())
    return (
        f"bank of {sum(map(len, rows.values()))} rows: right {said}; some program is right on "
        f"{len(set().union(*right.values()))}"
    )


def _rows(settings: Config) -> dict[Domain, list[Problem]]:
    """Rows that are not held out, by domain; at most as many of each set as an evaluation takes."""
    rows: dict[Domain, list[Problem]] = {}
    most = settings.evaluation.limit_per_set or math.inf
    for file in (settings.data.train_file, settings.data.val_file):
        of_set: Counter[str] = Counter()
        for problem in problem_file(file):
            of_set[problem.dataset] += 1
            if of_set[problem.dataset] <= most:
                rows.setdefault(problem.domain, []).append(problem)
    return rows


def _warm_started(settings: Config, run_dir: Path, view: Progress, work: Work) -> Path:
    """The checkpoint of the policy that has imitated the bank, before its first step."""
    view.part(WARM_START)
    root = checkpoint_root(settings)
    found = latest_checkpoint(root)
    if found is None or found.name == START:
        trainer = GRPOTrainer(config=settings, run_dir=run_dir, resume=found is not None, view=view)
        work(trainer.train(0))
    told = read_run(run_dir).facts["warm_start"]
    view.say(
        f"warm start: {told['warm_start/programs']:.0f} programs imitated alike on "
        f"{told['warm_start/problems']:.0f} rows{losses_in_words(told)}"
    )
    return root / START


def _trained(settings: Config, run_dir: Path, view: Progress, work: Work) -> Path:
    """The checkpoint after the last step."""
    view.part(GRPO)
    found = latest_checkpoint(checkpoint_root(settings))
    if found is not None and found.name == f"step_{settings.training.steps}":
        view.say(f"trained already: {found}")
        return found
    trainer = GRPOTrainer(config=settings, run_dir=run_dir, resume=found is not None, view=view)
    checkpoint: Path = work(trainer.train()).checkpoint
    return checkpoint


def _outcome(results: Mapping[str, Path], run_dir: Path, checkpoint: Path) -> Outcome:
    ordered = {name: results[name] for name in SYSTEMS}
    systems = dict(zip(ordered, read_systems(list(ordered.values())), strict=True))

    def against(name: str, trained: str = TRAINED) -> Comparison:
        return compare([systems[trained], systems[name]], systems[name])[0]

    return Outcome(
        tuple(systems.values()),
        against(UNTRAINED),
        against(WARM),
        against(WARM_SAMPLED, TRAINED_SAMPLED),
        against(BEST_FIXED),
        ordered,
        run_dir,
        checkpoint,
        sum(map(judged, ordered.values())),
    )


def judged(results: Path) -> int:
    """Answers of an evaluation that the rules left open and a trained judge decided."""
    rows = read_full(results).problems
    return sum(rule in (RIGHT, WRONG) for row in rows for rule in row.rule)
