"""A system on held-out problems: the same rollout code as training, kept as it goes.

evaluated_sets -> plan -> (what an interrupted run has finished) -> rollouts -> figures
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from llm_as_judge.assembly import row_options, under_trained_prompt
from llm_as_judge.config import Config
from llm_as_judge.data.selection import evaluated_sets
from llm_as_judge.errors import ConfigError
from llm_as_judge.evaluation.layout import free_name
from llm_as_judge.evaluation.records import EvaluationRecord, make_plan
from llm_as_judge.evaluation.systems import EvaluatedSystem
from llm_as_judge.files import exclusive, require_writable
from llm_as_judge.grading.answer_hash import AnswerHashes
from llm_as_judge.llm.billing import metered
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.runs.record import RunKey, RunRecord
from llm_as_judge.runs.runner import Keep, fill
from llm_as_judge.types import Problem, Rollout


@contextmanager
def open_evaluation(
    config: Config,
    system: EvaluatedSystem,
    name: str,
    *,
    fresh: bool = False,
    dry_run: bool = False,
) -> Iterator[EvaluationRecord]:
    """The record of this evaluation, with what is already on disk; starts no model. Its folder is
    held until the block ends: of two processes each would run, and pay for, all that is missing.

    Args:
        fresh: put aside what is on disk.
        dry_run: only look: nothing is written, and the folder is not held.
    Raises:
        UserError: rows, policy or folder are not as wanted, or another process holds the folder.
    """
    config = under_trained_prompt(config, system.adapter)
    system.check(config)
    chosen = evaluated_sets(row_options(config), system.domains)
    if not chosen:
        raise ConfigError(
            f"{system.label}: only for {', '.join(sorted(system.domains))}, and no set is"
        )
    plan = make_plan(config, free_name(name), system, chosen)
    folder = config.output.results / "evaluation" / plan.name / plan.hash
    problems = {p.id: p for part in chosen for p in part.problems}
    if dry_run:
        require_writable(folder)
        yield EvaluationRecord.there(folder, plan, config, problems.values())
        return
    AnswerHashes(config.output.cache_dir())  # made before anything is paid for
    with exclusive(folder, "give another --name", doing="evaluating"):
        yield EvaluationRecord.begin(folder, plan, config, problems.values(), fresh=fresh)


async def run_evaluation(
    record: EvaluationRecord,
    system: EvaluatedSystem,
    on_rollout: Callable[[Rollout], None] | None = None,
    on_written: Callable[[], None] = lambda: None,
) -> Ledger:
    """Run what is missing; every rollout is on disk before the next is begun, and what it used of
    executor and judge is added to the bill, but in a replay, which asks nobody.

    Args:
        on_rollout: called with each rollout as it ends.
        on_written: called as the policy has written a program.
    Returns:
        What was used now; in a replay, what the recorded run had used.
    Raises:
        UserError: a model, endpoint or folder is not as wanted.
    """
    now = Ledger()
    missing = record.missing()
    if not missing:
        return now

    with metered() as attempts:
        billed = 0

        def bill() -> None:
            nonlocal billed
            if record.config.calls.mode != "replay":
                new, billed = attempts[billed:], len(attempts)
                record.bill(new)

        def ended(run: RunRecord) -> None:
            bill()  # now, not at the end alone: an evaluation that is killed has paid, too
            if on_rollout is not None and run.rollout is not None:
                on_rollout(run.rollout)

        async def env(wanted: Mapping[RunKey, tuple[Problem, int]], keep: Keep) -> None:
            async with system.open(record.config) as opened:
                record.saw(opened.isolation)
                opened.ledger.total.add(record.ledger().total)  # it counts for the budget, too

                def told(rollout: Rollout) -> None:
                    if rollout.verdict is None and rollout.failure is None:
                        on_written()
                    else:
                        keep(record.record_of(rollout))

                await opened.attempt(list(wanted.values()), told)

        try:
            await fill(record.table, missing, env, ended)
        finally:
            bill()
    for attempt in attempts:
        now.book(attempt)
    return now
