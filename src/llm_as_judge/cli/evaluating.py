"""evaluate: held-out figures of policies and baselines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean

import typer

from llm_as_judge.assembly import program_options, under_trained_prompt
from llm_as_judge.assembly.chat_models import require_known_models
from llm_as_judge.assembly.executor_settings import estimate_of, limits_of
from llm_as_judge.assembly.preflight import idle_graders
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.dry_run import NOT_CHECKED, policy_lines, require_policy
from llm_as_judge.cli.solving import latest_policy
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.config import Config
from llm_as_judge.dollars import in_dollars
from llm_as_judge.errors import ConfigError, ModelError
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.evaluation.evaluate import open_evaluation, run_evaluation
from llm_as_judge.evaluation.layout import FULL, run_folder
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.evaluation.results import results_of, write_results
from llm_as_judge.evaluation.systems import EvaluatedSystem, ProgramSystem
from llm_as_judge.grading.version import older_verdicts
from llm_as_judge.llm.estimate import ASSUMED_CALLS, means_of_executions
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.refusals import in_words, to_do
from llm_as_judge.rollout.line import grader_failed
from llm_as_judge.runs.judges import grading_version_of
from llm_as_judge.runs.table import RUNS
from llm_as_judge.types import Execution, Problem
from llm_as_judge.views.console import console, note, say, say_json, warn, warn_of_judges
from llm_as_judge.views.live import results_line, results_table, several
from llm_as_judge.views.open_answers import counted, open_answers
from llm_as_judge.views.progress import Progress
from llm_as_judge.views.screen import plain

FREE_COT_TOKENS = 512
"""Of a reply that may take as many steps as it wants."""


def evaluate(
    asked: Asked,
    *,
    policy: str | None,
    checkpoint: Path | None,
    untrained: bool,
    name: str | None,
    fresh: bool,
    record_to: Path | None,
    replay_from: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    settings = asked.settings(_recording(record_to, replay_from))
    if dry_run and fresh:
        raise ConfigError("--dry-run --fresh: the second puts results aside; leave one of them out")
    spec = _policy(policy, checkpoint, untrained, settings)
    system = find_system(spec, program_options(settings))
    settings = under_trained_prompt(settings, system.adapter)
    asked.require_told_budget(settings, None if system.is_prompted else spec)
    _warn_of_settings(spec, settings)
    wanted = _name(spec, settings, asked.flags["reward.budget"]) if name is None else name
    with open_evaluation(settings, system, wanted, fresh=fresh, dry_run=dry_run) as record:
        _announce(record)
        if not record.missing():
            if record_to or replay_from:
                _say_not_asked(record_to)
        else:
            require_known_models(settings)
            if record_to is not None:
                _warn_of_recording(record_to, record, fresh=fresh)
            for line in _estimate(record, system):
                note(line)
        if dry_run:
            for line in policy_lines(settings) if system.is_prompted else []:
                note(line)
            note(NOT_CHECKED)
            if system.is_prompted:
                require_policy(settings)
            return
        before, now = record.ledger(), [Ledger()]
        path = _run_missing(record, system, now, fresh=fresh)
    bill = _bill(now[-1], before, settings.calls.mode == "replay")
    if not as_json and not any(r.verdict for group in record.groups() for r in group.rollouts):
        try:
            _complain_of_failures(record, of_all=to_do(now[-1].failures))
        finally:
            note(bill)
        return
    show(record, path, as_json)
    note(bill)
    if system.is_prompted:
        _say_valid(record)
    _say_without_answer(record)
    _complain_of_cut_replies(record)
    _complain_of_failures(record)


def _run_missing(
    record: EvaluationRecord, system: EvaluatedSystem, bills: list[Ledger], *, fresh: bool
) -> Path:
    """The results file of ``record`` after its missing rollouts, whose bill is added to ``bills``."""
    total, missing = len(record.plan.ids) * record.plan.samples, len(record.missing())

    async def job(view: Progress) -> None:
        view.part(record.plan.name, total, "answers", total - missing)
        with view.at_work() as wrote:
            bills.append(await run_evaluation(record, system, lambda _: view.did(), wrote))

    again = "the same command without --fresh" if fresh else "the same command"
    kept = f"finished rollouts are kept in {record.folder}: {again} goes on there"
    folder = record.folder.parent.parent
    with stoppable(kept) as work:
        try:
            if missing:
                with Progress() as view:
                    work.run(job(view))
        finally:
            if any(g.rollouts for g in record.groups()):  # nothing run is no accuracy of 0
                path = write_results(record, folder, say_replaced)
    return path


def _recording(record_to: Path | None, replay_from: Path | None) -> dict[str, str]:
    if record_to is not None and replay_from is not None:
        raise ConfigError("--record and --replay: give one of the two")
    if record_to is not None:
        return {"calls.mode": "record", "calls.folder": str(record_to)}
    if replay_from is not None:
        if not replay_from.exists():
            raise ConfigError(f"--replay {replay_from}: no such folder; --record makes one")
        return {"calls.mode": "replay", "calls.folder": str(replay_from)}
    return {}


def _say_not_asked(record_to: Path | None) -> None:
    """Everything is on disk, so that nothing is recorded or replayed."""
    if record_to is None:
        note("nothing is replayed: it is on disk; --fresh puts it aside and replays it")
    elif not record_to.exists():
        raise ConfigError(
            f"--record {record_to}: nothing would be recorded, all rollouts are on disk; add --fresh "
            "(it puts them aside), or another --name"
        )


def _warn_of_recording(record_to: Path, record: EvaluationRecord, *, fresh: bool) -> None:
    """What a recording will lack, or has already."""
    done = len(record.plan.ids) * record.plan.samples - len(record.missing())
    if done and not record_to.exists():
        note(
            f"warning: {done} rollouts are on disk, and {record_to} will not hold them; --fresh puts them aside and "
            "records all",
            "yellow",
        )
    elif fresh and record_to.exists():
        note(f"{record_to} holds replies already: these are given again, only others are asked for")


def _bill(now: Ledger, before: Ledger, replayed: bool) -> str:
    """What was asked now, apart from what was asked before or is from a recording."""
    earlier = f"; before: {sums(before)}" if before.total.attempts else ""
    if not now.total.attempts:
        return f"nothing was asked now{earlier}"
    if replayed:
        return f"nothing was asked now; the recording: {sums(now)}{earlier}"
    return f"{sums(now)}{earlier}"


def sums(ledger: Ledger) -> str:
    """Requests, tokens and price on a line."""
    total = ledger.total
    kinds = in_words(ledger.failures)
    failed = f", {total.failed_attempts} failed ({kinds})" if kinds else ""
    cost = "price unknown" if total.cost_usd is None else in_dollars(total.cost_usd)
    estimated = ""
    if total.estimated_tokens:
        priced = "" if total.cost_usd is None else f" and {in_dollars(total.estimated_usd)}"
        estimated = (
            f" (at most: {total.estimated_tokens} tokens{priced} of these are estimated; of "
            f"{total.unmetered_attempts} requests the endpoint told no usage, and each counts at its greatest, "
            "here but not in the figures of a problem)"
        )
    units = f"cost {total.cost:.0f} written tokens"
    return f"requests {total.attempts}{failed}, {total.tokens} tokens, {units}, {cost}{estimated}"


# ------------------------------------------------------------------------------------------ parts
def _policy(policy: str | None, checkpoint: Path | None, untrained: bool, settings: Config) -> str:
    given = [*filter(None, (policy, str(checkpoint or ""), "untrained" * untrained))]
    if len(given) > 1:
        raise ConfigError(f"give one policy, not {' and '.join(given)}")
    if checkpoint is not None and not checkpoint.is_dir():
        raise ModelError(f"{checkpoint}: no such checkpoint folder")
    return given[0] if given else latest_policy(settings, "evaluate --untrained")


def _name(spec: str, settings: Config, budget: str | None) -> str:
    """MODEL for a checkpoint, MODEL_untrained, else the name of baseline, file or folder; with
    _BUDGET where one is asked for."""
    path, told = Path(spec), f"_{budget}" if budget else ""
    if spec == "untrained":
        return f"{settings.policy.label}_untrained{told}"
    if (path / "state.json").is_file():
        return f"{settings.policy.label}{told}"
    return path.stem


def _warn_of_settings(spec: str, settings: Config) -> None:
    executor = settings.executor
    if spec == "free_cot" and (executor.enhance or executor.max_tokens < FREE_COT_TOKENS):
        note(
            f"warning: free_cot with executor.enhance {str(executor.enhance).lower()} and "
            f"executor.max_tokens {executor.max_tokens} is not what it is meant to be: its steps are "
            f"given a form, or cut off; --set executor.enhance=false --set executor.max_tokens="
            f"{FREE_COT_TOKENS}",
            "yellow",
        )


def _announce(record: EvaluationRecord) -> None:
    problems = {(group.problem.domain, group.problem.dataset) for group in record.groups()}
    for line in idle_graders(problems):
        warn(line)
    plan, split = record.plan, record.config.evaluation.split
    if plan.checkpoint:
        note(f"{'checkpoint':14} {plan.checkpoint}")
    for planned in plan.sets:
        seen = planned.seen_in_training
        overlap = f", {seen} of them also in the training mix" if seen else ""
        of_split = "" if split == "test" else f" ({split})"
        note(f"{planned.name + of_split:14} {planned.sample}{overlap}")
    if plan.checkpoint and (
        line := older_verdicts(plan.checkpoint, grading_version_of(Path(plan.checkpoint)))
    ):
        note(f"rewarded by {line}")
    if any(planned.seen_in_training is None for planned in plan.sets):
        note(f"seen in training: not known, no training mix ({record.config.data.train_file})")
    limit = record.config.evaluation.limit_per_set
    if limit is not None and any(len(planned.ids) < planned.rows for planned in plan.sets):
        note(
            f"at most {several(limit, 'row')} of each set (evaluation.limit_per_set); every row: --limit all"
        )
    total, missing = len(plan.ids) * plan.samples, len(record.missing())
    if missing < total:
        note(f"{total - missing} of {several(total, 'rollout')} are on disk: {record.folder}")


def _estimate(record: EvaluationRecord, system: EvaluatedSystem) -> list[str]:
    """What the missing rollouts will ask of the executor, as those on disk did; without any on disk,
    what fixed programs are expected to ask."""
    groups, config = record.groups(), record.config
    means = means_of_executions([r.execution for g in groups for r in g.rollouts if r.execution])
    written = (
        system.expected_calls(program_options(config)) if isinstance(system, ProgramSystem) else {}
    )
    problems = [group.problem for group in groups]
    calls = round(fmean(written.get(one.domain, ASSUMED_CALLS) for one in problems), 1)
    found = estimate_of(
        config, len(record.missing()), problems, means, config.workflow.draws, calls
    )
    return found.lines_within(limits_of(config), record.ledger().total)


def say_replaced(earlier: Path) -> None:
    """Results of another evaluation had the name that these have now."""
    note(
        f"another evaluation had this name (other settings, rules or code); its results stay in {earlier}"
    )


def show(record: EvaluationRecord, path: Path, as_json: bool) -> None:
    data = results_of(record)
    if as_json:
        say_json(data.as_json())
        return
    if line := results_line(record.plan.name, data):
        say(line, "bold")
    console.print(results_table({record.plan.name: data}))
    if told := open_answers(record.groups(), record.folder / RUNS):
        say(told)
    if run_folder(path) == record.folder:
        say(f"results  {path}")
    else:
        note(f"not complete: {path} keeps the results of before; figures in {record.folder / FULL}")
    warn_of_judges(data.judges)


VALID_SHARE = 0.9
"""Of the programs that a policy writes; below it GRPO has little to compare."""


def _say_valid(record: EvaluationRecord) -> None:
    """Whether this model writes programs at all, which accuracy alone does not show."""
    programs = [r.program for group in record.groups() for r in group.rollouts]
    valid = sum(program.strictly_valid for program in programs)
    repaired = sum(bool(program.runnable) for program in programs) - valid
    found = Counter(d.code for program in programs for d in program.diagnostics).most_common(3)
    line = f"programs {len(programs)} written, {valid} valid, {repaired} repaired"
    if found:
        line += f"; found: {counted(dict(found))} (docs/programs.md)"
    if valid < VALID_SHARE * len(programs):
        line += ". A warm start teaches them (docs/TRAINING.md#warm-start)"
    note(line)


def _say_without_answer(record: EvaluationRecord) -> None:
    """How programs ended that gave no answer, and the first of them."""
    ended = _runs(record)
    without = [(problem, run) for problem, run in ended if run.status != "ok"]
    if not without:
        return
    problem, first = without[0]
    why = f": {plain(first.error, 120)}" if first.error else ""
    note(
        f"{len(without)} of {len(ended)} runs of programs gave no answer "
        f"({counted([run.status for _, run in without])}); the first, {problem.id}{why}"
    )


def _runs(record: EvaluationRecord) -> list[tuple[Problem, Execution]]:
    return [
        (group.problem, run)
        for group in record.groups()
        for rollout in group.rollouts
        if rollout.execution
        for run in rollout.execution.runs
    ]


CUT_SHARE = 0.05
"""Of the executor's replies; more that end at the limit are said."""


def _complain_of_cut_replies(record: EvaluationRecord) -> None:
    """A reply that ends at the limit has no answer yet: the figure is then the limit's."""
    executor = record.config.executor
    asked = cut = 0
    for problem, run in _runs(record):
        limit = executor.max_tokens_of.get(problem.dataset, executor.max_tokens)
        calls = [call for call in run.calls if call.llm_calls]
        asked += len(calls)
        cut += sum(call.completion_tokens >= limit * call.llm_calls for call in calls)
    if cut > CUT_SHARE * asked:
        note(
            f"{cut} of {asked} operator calls were cut at executor.max_tokens "
            f"({executor.max_tokens}), most likely before the answer: raise it, with "
            f"--set executor.max_tokens={8 * executor.max_tokens} or in the configuration file"
        )


def _complain_of_failures(record: EvaluationRecord, of_all: str | None = None) -> None:
    """Failures outside of programs are no figures: say so, and end with 1 where they are many.

    Args:
        of_all: every answer failed, and this is to be done; None: some came.
    """

    failed = [
        (r.failure, grader_failed(r)) for g in record.groups() for r in g.rollouts if r.failure
    ]
    raised = [failure for failure, of_grader in failed if of_grader]
    others = [failure for failure, of_grader in failed if not of_grader]
    if others:
        none = "nothing was graded: " if of_all is not None else ""
        first = "; the first" if len(others) > 1 else ""
        note(
            f"{none}{several(len(others), 'answer')} failed outside of programs (executor, judge or "
            f"sandbox){first}: {'; '.join(filter(None, [others[0].message, of_all]))}. Once that is mended, "
            "the same command asks again"
        )
    if raised:
        note(
            f"answers that a grader failed on: {len(raised)}; the first: "
            f"{raised[0].message}. The answers are kept. Once it is mended: llm-as-judge grade {record.folder}"
        )
    allowed = record.config.training.max_failed_fraction
    if len(failed) > allowed * len(record.plan.ids) * record.plan.samples:
        raise typer.Exit(1)
