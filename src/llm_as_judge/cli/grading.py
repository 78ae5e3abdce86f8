"""grade: answers in, verdicts out, of a file or of an evaluation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import typer

from llm_as_judge.assembly import open_judge
from llm_as_judge.assembly.code_tests import CodeTestCheck
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.evaluating import say_replaced, show, sums
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.config import RULES_ALONE
from llm_as_judge.errors import ConfigError, DataError, ModelError
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.evaluation.regrade import Change, plan_regrade
from llm_as_judge.evaluation.regrade import regrade as run_regrade
from llm_as_judge.evaluation.results import write_results
from llm_as_judge.grading.graders import FAILED
from llm_as_judge.judge.rows import (
    GradedRows,
    grade_file,
    judge_failure,
    placed_rows,
    read_answer,
    refuse_rows,
)
from llm_as_judge.quoting import quoted
from llm_as_judge.views.console import note, say
from llm_as_judge.views.live import several
from llm_as_judge.views.open_answers import POINTER
from llm_as_judge.views.progress import Progress


def grade(
    asked: Asked,
    *,
    results: Path | None,
    in_path: Path | None,
    out_path: Path | None,
    rules_only: bool,
    judge: str | None,
    name: str | None,
    as_json: bool,
) -> None:
    rows_only = {
        "--in": in_path,
        "--out": out_path,
        "--config": asked.config,
        "--set": asked.overrides or None,
    }
    results_only = {"--judge": judge, "--name": name, "--json": as_json or None}
    if results is not None:
        _refuse_given("grade RESULTS", rows_only)
        regrade(results, rules_only=rules_only, judge=judge, name=name, as_json=as_json)
        return
    if judge is not None:
        raise ConfigError(
            "grade --in: takes no --judge; the shipped judge: --set judge.kind=scoring --set judge.model=none; a "
            "model: --set judge.kind=llm --set judge.model=MODEL (docs/judge.md)"
        )
    _refuse_given("grade --in", results_only)
    if in_path is not None and out_path is None:
        raise ConfigError(
            f"grade --in {in_path}: no --out; name a file for the verdicts: --out FILE"
        )
    if out_path is not None and in_path is None:
        raise ConfigError(f"grade --out {out_path}: no --in; name the file of answers: --in FILE")
    if in_path is None or out_path is None:
        raise ConfigError(
            "grade: nothing to grade; give a results file of an evaluation, "
            "or --in ROWS.jsonl and --out VERDICTS.jsonl"
        )
    _grade_rows(in_path, out_path, rules_only, asked)


def _refuse_given(form: str, options: Mapping[str, object]) -> None:
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise ConfigError(f"{form}: takes no {', '.join(given)}; leave it out")


def _grade_rows(in_path: Path, out_path: Path, rules_only: bool, asked: Asked) -> None:
    settings = asked.settings(RULES_ALONE if rules_only else {})
    if in_path.exists() and not in_path.is_file():
        raise DataError(f"--in {in_path}: wanted a file, which can be read twice")
    # broken rows are told of before a judge is started
    rows = placed_rows(in_path, read_answer)
    if not rows:
        raise DataError(f"--in {in_path}: holds no row; wanted one answer a line (docs/grading.md)")
    if read := [(place, one.problem.answers[0]) for place, one in rows if one.read_of_solution]:
        note(
            f"{len(read)} of {len(rows)} references are whole solutions, of which the answer is read: {read[0][0]} "
            f"gives {quoted(read[0][1], 40)!r}"
        )
    code = [(place, one.problem) for place, one in rows if one.problem.domain == "code"]
    if code:
        tests = CodeTestCheck(settings.workflow.sandbox, settings.output.cache_dir())
        faults = tests([problem for _, problem in code])
        refuse_rows([(p, fault) for (p, _), fault in zip(code, faults, strict=True) if fault])

    async def job() -> GradedRows:
        async with open_judge(settings) as judge:
            with Progress() as view:
                return await grade_file(
                    in_path, out_path, judge, lambda done, total: view.show("grading", done, total)
                )

    try:
        counts = asyncio.run(job())
    except ModelError as error:
        raise ModelError(f"{error}. To grade by rules alone: --rules-only") from None
    say(
        f"{several(counts.rows, 'row')} graded: {counts.correct} right, {counts.incorrect} wrong, "
        f"{counts.not_graded} not graded; verdicts in {out_path}"
    )
    if counts.failed:
        note(f'rows that a grader failed on: {counts.failed}; they have "rule": "{FAILED}"')
    if counts.failed == counts.rows:
        raise typer.Exit(3)
    if counts.not_graded > counts.failed:
        note(f'not graded: the lines with "correct": null say why. What to do: {POINTER}')
    _complain_of_judge(counts.judge_failure)


def _complain_of_judge(failure: str) -> None:
    """Exit status 3 where the judge's model gave no verdict at all."""
    if failure:
        note(f"error: the judge graded none of the answers it was asked about: {failure}")
        raise typer.Exit(3)


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
        Progress() as view,
    ):

        def begun(missing: int) -> None:
            view.part("grading", count, "answers", count - missing)
            if missing < count:
                note(f"{count - missing} of {count} verdicts are on disk: {planned.folder}")

        new, changes = work.run(run_regrade(planned, begun, lambda _: view.did()))
    path = write_results(new, folder, say_replaced)
    show(new, path, as_json)
    if (asked := new.ledger()).total.attempts:
        note(f"asked of the judge for these verdicts: {sums(asked)}")
    _print_changes(changes, count)
    _complain_of_judge(
        judge_failure([r.verdict for g in new.groups() for r in g.rollouts if r.verdict])
    )


def _print_changes(changes: list[Change], count: int) -> None:
    note(f"{len(changes)} of {count} verdicts changed")
    for change in changes[:20]:
        before = change.before.correct if change.before else None
        after = change.after.correct if change.after else None
        rule = change.after.rule if change.after else ""
        note(f"  {change.problem_id}  {before} -> {after}  {rule}")
