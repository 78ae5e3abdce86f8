"""grade RESULTS: kept executions graded again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llm_as_judge.cli.evaluating import say_replaced, show, sums
from llm_as_judge.cli.options import note, status_console
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.errors import ConfigError
from llm_as_judge.views.live import ProgressView

if TYPE_CHECKING:
    from llm_as_judge.evaluation.regrade import Change


def regrade(
    results: Path,
    *,
    rules_only: bool = False,
    judge: str | None = None,
    name: str | None = None,
    as_json: bool = False,
) -> None:
    """Grade the executions of ``results`` again; runs no policy and no executor.

    Every verdict is kept as it is given: the same command again goes on where it was stopped.
    """
    from llm_as_judge.evaluation.records import EvaluationRecord
    from llm_as_judge.evaluation.regrade import plan_regrade
    from llm_as_judge.evaluation.regrade import regrade as run_regrade
    from llm_as_judge.evaluation.results import write_results

    if rules_only and judge is not None:
        raise ConfigError("give --rules-only or --judge, not both")
    record = EvaluationRecord.read(results)
    folder = record.folder.parent.parent
    wanted = f"{record.plan.name}_regraded" if name is None else name
    planned = plan_regrade(record, folder, wanted, "none" if rules_only else judge)
    count = len(planned.executions)
    kept = f"verdicts given so far are kept in {planned.folder}: the same command goes on there"
    with (
        stoppable(kept) as work,
        ProgressView(status_console, count, each="answer", counted="answers graded") as view,
    ):

        def begun(missing: int) -> None:
            view.expect(missing)
            if missing < count:
                note(f"{count - missing} of {count} verdicts are on disk: {planned.folder}")

        new, changes = work.run(run_regrade(planned, begun, view.rollout))
    path = write_results(new, folder, say_replaced)
    show(new, path, as_json)
    if (asked := new.ledger()).total.attempts:
        note(f"asked of the judge for these verdicts: {sums(asked)}")
    _tell(changes, count)


def _tell(changes: list[Change], count: int) -> None:
    note(f"{len(changes)} of {count} verdicts changed")
    for change in changes[:20]:
        before = change.before.correct if change.before else None
        after = change.after.correct if change.after else None
        rule = change.after.rule if change.after else ""
        note(f"  {change.problem_id}  {before} -> {after}  {rule}")
