"""The page: what was gathered, drawn and embedded, put into the templates.

Text from models, rows and endpoints reaches the page in two ways only: through the template engine,
which escapes it, or as JSON in which ``<``, ``>`` and ``&`` are written as escapes, read by a script
that sets text and never markup. A content security policy names that one script by its hash and
allows no request at all, so markup that slipped through could still do nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from llm_as_judge.files import write_text
from llm_as_judge.runs.judges import judges_of, unaudited_warning
from llm_as_judge.runs.results import Results
from llm_as_judge.runs.rundir import RunDir, read_run
from llm_as_judge.views.report import charts, curves
from llm_as_judge.views.report.results import Changes, results_view
from llm_as_judge.views.report.rollouts import Gathered, gather, part_of

MAX_ROLLOUTS = 20_000
"""Rollouts in the browser of one page, the newest; the curves hold all."""
CHANGES_SHOWN = 8
"""Problems won, and lost, that are seen at once; the others unfold."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What a page is made from; each part may be missing."""

    run_dir: Path | None = None
    results: Mapping[str, Results] = field(default_factory=dict)
    """By their heading, in the order of the columns."""
    verdict: str = ""
    """The sentence that the page opens with."""
    changes: Changes | None = None


def write_report(sources: Sources, path: Path) -> None:
    """Write the page to ``path``, whole or not at all."""
    write_text(path, render(sources))


def render(sources: Sources, *, max_rollouts: int = MAX_ROLLOUTS) -> str:
    """The page as text.

    Raises:
        DataError: the run's folder holds no run.
    """
    run = read_run(sources.run_dir) if sources.run_dir else None
    found = gather(run.folder, run.config, limit=max_rollouts) if run else Gathered()
    results = results_view(sources.results) if sources.results else None
    style, script = template_text("style.css"), template_text("browse.js")
    page = (
        environment()
        .get_template("page.html")
        .render(
            title=f"Run {run.folder.resolve().name}"
            if run
            else f"Results {', '.join(sources.results)}",
            policy=page_policy(style, script),
            style=Markup(style),
            script=Markup(script),
            data=embedded({"groups": found.groups}),
            run=run,
            found=found,
            verdict=sources.verdict,
            summary=_summary(run, found) if run else [],
            charts=_charts(run, found) if run else [],
            changes=sources.changes,
            most=CHANGES_SHOWN,
            results=results,
            config=yaml.safe_dump(run.config, sort_keys=False) if run else "",
            facts=json.dumps(run.facts, indent=2, sort_keys=True) if run else "",
        )
    )
    return str(page)


def embedded(data: Any) -> Markup:
    """``data`` as JSON that cannot end its script element, whatever its texts hold."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


# ------------------------------------------------------------------------------------------ parts
def _charts(run: RunDir, found: Gathered) -> Sequence[charts.Chart]:
    bins = curves.pool(found.sums)
    pooled = max((b.last - b.first + 1 for b in bins), default=1)
    per = f"One point pools up to {pooled} steps. " if pooled > 1 else ""
    priced = part_of(run.config, "reward").get("scheme") == "priced"
    most = "at most 1: the share of right runs less their price" if priced else "at most 10"
    band = f"{per}Band: 95 % Wilson interval over problems, not programs."
    share_chart = partial(charts.line_chart, unit=charts.PERCENT, bounds=(0.0, 1.0))
    made = [
        share_chart("accuracy", "Accuracy", band, [curves.accuracy(bins)]),
        charts.line_chart(
            "reward", "Reward", f"{per}Mean of the graded programs (reward/mean); {most}. Band: its 95 % interval over problems.",
            [curves.reward_mean(bins)],
        ),
        *(
            share_chart(f"accuracy-{n}", f"Accuracy: {one.name}", band, [one], first_color=n + 1)
            for n, one in enumerate(curves.accuracy_by_domain(bins))
        ),
        charts.line_chart(
            "parts", "Reward parts", f"{per}What each part adds to the reward: its mean score times its weight.",
            curves.reward_parts(bins),
        ),
        share_chart(
            "programs", "Programs", f"{per}Shares of all rollouts; failed: our fault, left out of training. Band: 95 % interval over problems.",
            curves.program_shares(bins),
        ),
        charts.stacked_chart(
            "operators", "Operators", f"{per}Share of all operator calls of executed programs.",
            curves.operator_mix(bins),
        ),
        *_log_charts(run),
    ]  # fmt: skip
    return [chart for chart in made if chart is not None]


def _log_charts(run: RunDir) -> list[charts.Chart | None]:
    times = {
        "time/sample_s": "sampling",
        "time/execute_and_grade_s": "running and grading",
        "time/update_s": "update",
        "time/step_s": "whole step",
    }
    health = {
        "rollout/distinct_programs": "distinct programs",
        "update/entropy": "entropy (nats a token)",
        "rollout/truncated": "cut at the token limit",
    }
    return [
        charts.line_chart(
            "variety", "Variety", "Of the programs of a group; entropy under the policy.",
            curves.logged(run.steps, health),
        ),
        charts.line_chart(
            "tokens", "Executor tokens", "Tokens a program used, mean.",
            curves.logged(run.steps, {"executor/tokens": "tokens a program"}),
        ),
        charts.line_chart(
            "times", "Seconds a step", "Waiting time of each stage.", curves.logged(run.steps, times)
        ),
    ]  # fmt: skip


def _summary(run: RunDir, found: Gathered) -> list[tuple[str, str]]:
    judged = sum(s.judged["all"] for s in found.sums.values())
    left = sum(s.not_graded for s in found.sums.values())
    correct = sum(s.correct["all"] for s in found.sums.values())
    facts = [
        ("folder", str(run.folder)),
        ("policy", str(run.facts.get("policy", "-"))),
        ("executor", str(run.facts.get("executor", "-"))),
        ("judge", str(run.facts.get("judge", "-"))),
        ("steps", str(len(run.steps))),
        ("rollouts", f"{found.rollouts:,}"),
        ("right", f"{correct:,} of {judged:,}" + (f", {left:,} open" if left else "")),
        ("operator calls", f"{sum(sum(s.operators.values()) for s in found.sums.values()):,}"),
    ]
    if warning := unaudited_warning(judges_of(run.folder)):
        facts.append(("warning", warning))
    broken = run.broken_lines + found.broken_lines
    if broken:
        facts.append(("lines left out", f"{broken} that are no rows of a run"))
    return facts


def page_policy(style: str, script: str) -> str:
    """No request to anywhere, no script and no style but ours."""
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def template_text(name: str) -> str:
    folder = resources.files("llm_as_judge.views.report") / "templates"
    return (folder / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def environment() -> Environment:
    return Environment(
        loader=PackageLoader("llm_as_judge.views.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
