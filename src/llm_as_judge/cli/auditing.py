"""judge audit: the judge is measured, and what to do then."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

import typer

from llm_as_judge.assembly import judge_fingerprint, open_judge
from llm_as_judge.assembly.executor_settings import CALLS_A_VERDICT
from llm_as_judge.audit.audit import AuditReport, run_audit
from llm_as_judge.audit.labeled import cases_sha256, read_labeled, shipped_labeled
from llm_as_judge.audit.report import render_report, verdict_line, write_report
from llm_as_judge.audit.status import find_audit_status, measured_on, report_path
from llm_as_judge.cli.asking import Asked
from llm_as_judge.config import RULES_ALONE, Config
from llm_as_judge.files import output_errors, write_text
from llm_as_judge.judge.kinds import judging_mode
from llm_as_judge.runs.table import Runs
from llm_as_judge.views.console import console, note, say
from llm_as_judge.views.progress import Progress


def audit(
    asked: Asked,
    *,
    labeled: Path | None,
    rules_only: bool,
    attack_numbers: int,
    sample: float | None,
    search: int,
    out: Path | None,
    if_needed: bool,
) -> None:
    # an answer of yesterday says nothing of the judge of today
    settings = asked.settings({**(RULES_ALONE if rules_only else {}), "calls.mode": "off"})
    shipped, own = shipped_labeled(), read_labeled(labeled) if labeled else []
    cases = [*shipped, *own]
    if if_needed:
        fingerprint = judge_fingerprint(settings)
        audit_status = find_audit_status(settings.output.results, fingerprint)
        if measured_on(audit_status, cases_sha256(cases)):
            say(f"report  {audit_status.report}: passed before")
            return

    async def job(runs: Runs, view: Progress) -> AuditReport:
        kept = len(runs.runs)

        def graded(done: int, total: int) -> None:
            if done == 0:
                _begin(view, total, kept, settings)
            elif done > kept:
                view.did()

        async with open_judge(settings) as judge:
            return await run_audit(
                judge.fresh,
                judge.fingerprint,
                judging_mode(settings.judge),
                shipped,
                own=own,
                attack_numbers=attack_numbers,
                sample=sample,
                tries=search if sample is None else round(search * sample),
                runs=runs,
                progress=graded,
            )

    whole = report_path(settings.output.results, judge_fingerprint(settings))
    stem = whole.stem if sample is None else f"{whole.stem}.sample"
    partial = (out or whole).with_name(f"{stem}.partial.jsonl")
    with output_errors(partial):
        partial.parent.mkdir(parents=True, exist_ok=True)
    runs = Runs(partial, leave_out_broken=True)
    if runs.runs:
        note(f"going on after {len(runs.runs)} verdicts")
    with Progress() as view:
        report = asyncio.run(job(runs, view))
    path = out or (whole if sample is None else _sample_path(whole, report))
    write_report(report, path)
    runs.keep_only(())
    _print_report(report, path, brief=if_needed and report.passed)
    raise typer.Exit(0 if report.passed else 3)


def _sample_path(whole: Path, report: AuditReport) -> Path:
    """Named by the rows that were graded: the reports of two samples do not overwrite each other."""
    rows = hashlib.sha256(json.dumps(report.data_sha256, sort_keys=True).encode()).hexdigest()[:8]
    return whole.with_name(f"{whole.stem}.{rows}.sample.json")


def _print_report(report: AuditReport, path: Path, *, brief: bool) -> None:
    console.print(verdict_line(report) if brief else render_report(report), highlight=not brief)
    say(f"report  {path}")
    if report.finds:
        finds = path.with_suffix(".finds.jsonl")
        write_text(finds, "".join(json.dumps(row) + "\n" for row in report.finds))
        say(f"finds   {finds}: rows for judge train --labeled")
    if not brief:
        for line in what_now(report):
            say(line)


def _begin(view: Progress, total: int, kept: int, settings: Config) -> None:
    """Says before the first verdict how many there will be, beside those kept of an earlier part."""
    left = total - kept
    line = f"{left:,} answers to grade"
    if settings.judge.model != RULES_ALONE["judge.model"]:
        line += f"; at most {CALLS_A_VERDICT * left:,} calls of the judge's model, none where rules decide"
    note(line)
    view.part("the audit", total, "answers", kept)


UNREAD = "parse failure rate"
"""The bar that a judge misses whose replies cannot be read; labels do not move it."""


def what_now(report: AuditReport) -> list[str]:
    """What a person can do after an audit; nothing: nothing has to be done."""
    if report.sample is not None and report.passed:
        told = (
            "next    a sample gives no permission to train: the same command without --sample does"
        )
        return [f"{told} where all its bars hold"]
    if report.passed:
        return []
    lines = []
    if report.wrong_by_rule:
        rules = sum(report.wrong_by_rule.values())
        shown = ", ".join(f"{rule} {count}" for rule, count in report.wrong_by_rule.items())
        lines.append(
            f"        rules accepted {rules} of the {report.wrong_accepted} wrong answers that were accepted ({shown}). "
            "No judge changes these; a grader of your own does: docs/extending.md#a-grader"
        )
    missed = f"next    below a bar: {', '.join(report.failures)}. "
    if UNREAD in report.failures:
        missed += (
            "Its model does not answer in the form that is asked for: take one that follows a JSON schema; "
            "llm-as-judge models probe tells whether one does. "
        )
    if report.failures == (UNREAD,):
        return [missed.rstrip(), *lines]
    do = "Leave such answers ungraded (judge.kind: rules)"
    if report.sample is not None:
        do = "To train, the whole audit would have to pass, which after this is unlikely. Label more rows"
    return [f"{missed}{do}, or take another judge: docs/judge.md", *lines]
