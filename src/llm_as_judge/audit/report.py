"""The audit report as JSON and as tables in the terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Column, Table

from llm_as_judge.audit.audit import AuditReport
from llm_as_judge.files import write_text
from llm_as_judge.quoting import quoted
from llm_as_judge.statistics import Interval, proportion
from llm_as_judge.types import to_json

SHOWN_MISTAKES = 8


def write_report(report: AuditReport, path: Path) -> None:
    """Writes ``report`` with its time and verdict; the file appears complete or not at all.

    Raises:
        OutputError: the folder cannot be written.
    """
    document = {"time": time.time(), "passed": report.passed, "failures": report.failures}
    text = json.dumps(to_json({**document, **to_json(report)}), indent=1, ensure_ascii=False)
    write_text(path, text + "\n")


def _shown(interval: Interval) -> str:
    if interval.value is None:
        return "-"
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def verdict_line(report: AuditReport) -> str:
    """The verdict and what it rests on, on one line."""
    required = [bar.passed for bar in report.bars if bar.required]
    held = f"{sum(required)} of {len(required)} bars held"
    aims = [bar.passed for bar in report.bars if not bar.required]
    if aims:
        held += f", {sum(aims)} of {len(aims)} aims"
    taken = sum(cells["accepted"] for cells in report.attacks.values())
    tried = sum(cells["n"] for cells in report.attacks.values())
    return f"judge ({report.mode}): {_outcome(report)}, {held}, {taken} of {tried} attacks accepted"


def _outcome(report: AuditReport) -> str:
    if report.sample is not None and report.passed:
        return "sample, no bar surely missed"
    return "audit passed" if report.passed else "audit failed"


def render_report(report: AuditReport) -> RenderableType:
    """Tables of bars, sources, attacks and mistakes for ``rich.print``."""
    tables = [_bars(report), _sources(report), _attacks(report)]
    if report.by_model:
        tables.append(_by_model(report))
    if report.examples:
        tables.append(_mistakes(report))
    return Group(*tables, *map(escape, search_lines(report)))


def search_lines(report: AuditReport) -> list[str]:
    """Finds of the search for each 1,000 tries, and the cheapest; none where nothing was searched."""
    if not report.searched:
        return []
    share = proportion(len(report.finds), report.searched)
    each = [f"{1000 * (end or 0):.1f}" for end in (share.value, share.low, share.high)]
    told = (
        f"search: accepted {len(report.finds)} of {report.searched} rewrites of wrong answers, {each[0]} of 1,000 "
        f"[{each[1]}, {each[2]}]"
    )
    if not report.finds:
        return [told]
    first = report.finds[0]
    said, asked, gold = (
        quoted(text, 100)
        for text in (first["candidate"], first["question"], " / ".join(first["reference"]))
    )
    cheapest = f'cheapest  "{said}" for "{gold}", asked "{asked}"; rewrites: {first["rewrites"]}'
    return [told, cheapest]


def _bars(report: AuditReport) -> Table:
    color = "green" if report.passed else "red"
    title = f"Judge {report.fingerprint} ({report.mode}): [{color}]{_outcome(report)}[/]"
    table = Table("bar or aim", "found", "of", "wanted", "", title=title, title_justify="left")
    for bar in report.bars:
        found, count = "not measured" if bar.found is None else f"{bar.found:.4g}", ""
        if bar.measured is not None:
            found, count = _shown(bar.measured), str(bar.measured.n)
        missed = "[red]missed[/]" if bar.required else "[yellow]missed aim[/]"
        if bar.found is None and not bar.required:
            missed = ""
        held = "[green]ok[/]" if bar.passed else missed
        table.add_row(bar.name, found, count, bar.wanted, held)
    return table


def _source() -> Column:
    """Long names go on in the next line: their ends alone do not tell them apart."""
    return Column("source", overflow="fold")


def _by_model(report: AuditReport) -> Table:
    title = "What the model was asked: accepted of the right and of the wrong answers"
    table = Table(_source(), "right", "wrong", title=title, title_justify="left")
    for source, cells in report.by_model.items():
        right, wrong = (
            f"{cells[f'{label}_accepted']} of {cells[label]}  "
            + _shown(proportion(cells[f"{label}_accepted"], cells[label]))
            for label in ("right", "wrong")
        )
        table.add_row(source, right, wrong)
    return table


def _sources(report: AuditReport) -> Table:
    table = Table(_source(), "kind", "n", "decided", "precision", "recall", "kappa")
    for source, row in report.sources.items():
        shown = [_shown(row[key]) for key in ("precision", "recall", "kappa")]
        table.add_row(source, row["kind"], str(row["n"]), str(row["decided"]), *shown)
    return table


def _mistakes(report: AuditReport) -> Table:
    shown, kept = report.examples[:SHOWN_MISTAKES], len(report.examples)
    title = f"Mistakes: {len(shown)} of the {kept} that the report keeps"
    heads = ("answer", "gold", "label", "verdict", "rule")
    columns = (Column(name, overflow="fold") for name in heads)
    table = Table(*columns, title=title, title_justify="left")
    for one in shown:
        keys = ("candidate", "reference", *heads[2:])
        table.add_row(*(escape(one[key]) for key in keys))
    return table


def _attacks(report: AuditReport) -> Table:
    accepted = report.attacks_accepted
    title = f"Attacks: {_shown(accepted)} of {accepted.n} accepted"
    table = Table("category", "accepted", "tried", title=title, title_justify="left")
    rows: Mapping[str, Mapping[str, Any]] = report.attacks
    for category, cells in rows.items():
        table.add_row(category, str(cells["accepted"]), str(cells["n"]))
    return table
