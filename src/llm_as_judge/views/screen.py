"""One look at a run, for a terminal of 80 columns.

Only the end of rollouts.jsonl is read, so that a run of any length can be watched. What programs and
models wrote is stripped of control characters: a terminal obeys them.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from llm_as_judge.accuracy import accuracy
from llm_as_judge.dollars import in_dollars
from llm_as_judge.jsonl import Broken, JsonLines, is_whole
from llm_as_judge.quoting import quoted
from llm_as_judge.runs.rundir import RunDir, finite
from llm_as_judge.runs.runlog import ROLLOUTS
from llm_as_judge.types import DOMAINS
from llm_as_judge.views.advice import (
    WINDOW,
    dollars_counted,
    duration,
    mean,
    planned_steps,
    spent,
    tokens_counted,
    warnings,
)
from llm_as_judge.views.live import step_table
from llm_as_judge.views.report.curves import right_shares
from llm_as_judge.views.report.rollouts import StepSums, count_rollout

TAIL_BYTES = 8 * 2**20
"""Of rollouts.jsonl: some hundred rollouts."""
KEYS = {"a": "all", "m": "math", "t": "qa", "c": "code"}
"""Key -> domain shown. ``q`` ends."""
HELP = "keys: a all · m math · t qa (text) · c code · q quit"
_BARS = "▁▂▃▄▅▆▇█"
_NEWEST = 3
_KEPT = 12


@dataclass(frozen=True, slots=True)
class Tail:
    """The newest rollouts: sums by step, and the last programs of the chosen domain."""

    sums: Mapping[int, StepSums]
    newest: Sequence[tuple[int, str, Mapping[str, Any]]]
    """(step, domain, rollout), newest last."""
    broken: int = 0


def read_tail(run: RunDir, domain: str, last_bytes: int = TAIL_BYTES) -> Tail:
    """The end of the run's rollouts, of ``domain`` or ``all``."""
    sums: dict[int, StepSums] = {}
    newest: list[tuple[int, str, Mapping[str, Any]]] = []
    broken = Broken()
    for row in JsonLines(run.folder / ROLLOUTS).sound_rows(broken, last_bytes=last_bytes):
        step, rollout, of = row.get("step"), row.get("rollout"), row.get("domain")
        if not is_whole(step) or not isinstance(rollout, dict) or not isinstance(of, str):
            broken.lines += 1
        elif domain in ("all", of):
            count_rollout(sums.setdefault(step, StepSums()), rollout, of)
            newest = [*newest[-_KEPT + 1 :], (step, of, rollout)]
    if last_bytes < _size(run):  # the first step of a tail may lack its beginning
        sums.pop(min(sums, default=0), None)
    return Tail(sums, newest, broken.lines)


def look(
    run: RunDir,
    tail: Tail,
    *,
    domain: str = "all",
    now: float,
    size: tuple[int, int] | None = None,
) -> RenderableType:
    """The whole view, or what of it fits a screen: warnings whole, long lines cut, the newest steps.

    Args:
        size: columns and lines of the screen; None: everything.
    """
    parts: list[RenderableType] = [_head(run, tail, now)]
    if not run.steps and not tail.newest:
        parts.append(Text("no step finished yet", style="dim"))
    title = f"domain {domain}" if domain != "all" else ""
    lines = [*_figures(run, tail, domain), *_programs(tail)]
    found = warnings(replace(run, broken_lines=run.broken_lines + tail.broken), now)
    alarms = [("warning", plain(str(alarm), 400)) for alarm in found]
    steps = 0
    if size is not None:
        columns, height = size
        under = sum(math.ceil(len(text) / (columns - _LABEL)) for _, text in alarms)
        heads = 2 + bool(title)  # of the view and of the table
        steps = max(1, height - under - len(lines) - heads)
    if shown := run.steps if domain == "all" else _rows_of(tail):
        parts.append(step_table(shown[-steps:], title=title))
    told = _grid(lines, cut=size is not None), _grid(alarms, "yellow")
    return Group(*parts, *told)


_LABEL = 9
"""Columns before the text of a warning."""


def _grid(lines: Sequence[tuple[str, str]], style: str = "", *, cut: bool = False) -> Table:
    """A long line goes on under its own beginning, or is cut."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(min_width=max((len(label) for label, _ in lines), default=0), no_wrap=True)
    grid.add_column(no_wrap=cut, overflow="ellipsis" if cut else "fold")
    for label, text in lines:
        grid.add_row(label, Text(text, style=style))
    return grid


def plain(text: str, limit: int) -> str:
    """``text`` on one line without control characters, at most ``limit`` characters."""
    return quoted("".join(" " if unicodedata.category(c)[0] == "C" else c for c in text), limit)


# ------------------------------------------------------------------------------------------ parts
def _head(run: RunDir, tail: Tail, now: float) -> Text:
    ago = f"written {duration(now - run.written_at)} ago" if run.written_at else "nothing written"
    # where it is comes last: a long name is cut, or goes on below
    return Text(
        f"{_reached(run, tail)} · {ago} · {run.folder}",
        style="bold",
        no_wrap=True,
        overflow="ellipsis",
    )


def _reached(run: RunDir, tail: Tail) -> str:
    """The last step with figures; where there are none, that of the newest rollout."""
    planned = planned_steps(run)
    of = f" of {planned}" if planned else ""
    if run.steps or not tail.newest:
        return f"step {int(run.steps[-1]['step']) if run.steps else 0}{of}"
    return f"rollouts of step {tail.newest[-1][0]}{of}, no figures of steps"


def _figures(run: RunDir, tail: Tail, domain: str) -> list[tuple[str, str]]:
    last = run.steps[-WINDOW:]
    right = _accuracies(tail, domain)
    lines: list[tuple[str, str]] = [("right", right)] if right else []
    rewards = [v for row in run.steps[-24:] if (v := finite(row.get("reward/mean"))) is not None]
    if tail.sums and (newest := _reward(tail.sums[max(tail.sums)])):
        lines.append(("reward", newest))
    if domain == "all" and rewards:
        lines.append(("course", sparkline(rewards)))
    whole = [("programs", _shares(last)), ("time", _times(last)), ("executor", _bill(run))]
    whole.append(("budget", _budget(run)))
    of = "" if domain == "all" else " (all domains)"
    return [*lines, *((name, text + of) for name, text in whole if text)]


def _reward(step: StepSums) -> str:
    """``-1.55 = correctness -2.60 efficiency +1.00 format +0.05``: the mean total of a step and what each
    part adds to it, the greatest first; empty without a reward."""
    rewards = [reward for p in step.problems.values() for reward in p.rewards]
    if not rewards:
        return ""
    added = {name: sum(scores) / len(rewards) for name, scores in step.parts.items()}
    shown = sorted(added.items(), key=lambda part: -abs(part[1]))
    parts = " ".join(f"{plain(name, 20)} {value:+.2f}" for name, value in shown)
    return f"{sum(rewards) / len(rewards):+.2f} = {parts}"


def _accuracies(tail: Tail, domain: str) -> str:
    whole = StepSums()
    for step in sorted(tail.sums)[-WINDOW:]:
        whole.add(tail.sums[step])
    found = []
    for name in ("all", *DOMAINS) if domain == "all" else (domain,):
        if right := accuracy(right_shares(whole, name)):
            found.append(f"{name} {right.text()}")
    return f"{' · '.join(found)} (last {WINDOW} steps)" if found else ""


def _shares(last: Sequence[Mapping[str, float]]) -> str:
    named = {
        "valid": "rollout/strictly_valid",
        "ran": "execution/ok",
        "open": "rollout/not_graded",
        "failed": "rollout/failed",
        "distinct": "rollout/distinct_programs",
    }
    means = [(name, mean(last, key)) for name, key in named.items() if name != "distinct"]
    runnable = [row for row in last if row.get(named["distinct"])]  # 0: no program of the step ran
    means.append(("distinct", mean(runnable, named["distinct"])))
    return " · ".join(f"{name} {value:.0%}" for name, value in means if value is not None)


def _times(last: Sequence[Mapping[str, float]]) -> str:
    """Idle: the share of a step in which the policy neither samples nor learns, but waits."""
    step = mean(last, "time/step_s")
    if not step:
        return ""
    named = {
        "sampling": "time/sample_s",
        "running": "time/execute_and_grade_s",
        "update": "time/update_s",
    }
    seconds = {name: mean(last, key) for name, key in named.items()}
    parts = [f"{name} {value:.0f} s" for name, value in seconds.items() if value is not None]
    busy = (seconds["sampling"] or 0.0) + (seconds["update"] or 0.0)
    idle = max(0.0, 1 - busy / step)
    return " · ".join([f"step {step:.0f} s", *parts, f"policy idle {idle:.0%}"])


def _bill(run: RunDir) -> str:
    total = run.ledger.get("total")
    if not isinstance(total, dict):
        return ""
    calls = finite(total.get("calls")) or 0.0
    unpriced = finite(total.get("unpriced_tokens")) or 0.0
    dollars = dollars_counted(total)
    cost = " · price unknown" if unpriced else f" · {in_dollars(dollars)}" if dollars else ""
    guessed = finite(total.get("estimated_tokens")) or 0.0
    part = f" · {guessed:,.0f} tokens of these estimated" if guessed else ""
    return f"{calls:,.0f} calls · {tokens_counted(total):,.0f} tokens{cost}{part}"


def _budget(run: RunDir) -> str:
    units = {"usd": "", "tokens": " tokens", "calls": " requests"}
    parts = []
    for key, (used, most) in spent(run).items():
        of, whole = (in_dollars(n) if key == "usd" else f"{n:,.0f}" for n in (used, most))
        parts.append(f"{of} of {whole}{units[key]} ({used / most:.0%})")
    return " · ".join(parts)


def _programs(tail: Tail) -> list[tuple[str, str]]:
    """The newest programs, equal ones once with their number."""
    told: dict[str, int] = {}
    for step, domain, rollout in reversed(tail.newest):
        verdict, program = rollout.get("verdict"), rollout.get("program")
        correct = verdict.get("correct") if isinstance(verdict, dict) else None
        word = ("right" if correct else "wrong") if isinstance(correct, bool) else "open"
        source = program.get("source") if isinstance(program, dict) else ""
        text = f"step {step} {plain(domain, 6)} {word}: {plain(str(source), 150)}"
        told[text] = told.get(text, 0) + 1
    lines = [(f"{count} x " if count > 1 else "") + text for text, count in told.items()]
    return [("newest" if i == 0 else "", text) for i, text in enumerate(lines[:_NEWEST])]


def _rows_of(tail: Tail) -> list[dict[str, float]]:
    """Rows of the step table for one domain, from its rollouts."""
    made = []
    for step in sorted(tail.sums):
        sums = tail.sums[step]
        row = {
            "step": float(step),
            "rollout/strictly_valid": sums.valid / sums.count,
            "execution/ok": sums.executed / sums.count,
        }
        for name in sums.judged:
            row[f"accuracy/{name}"] = sums.correct[name] / sums.judged[name]
        if rewards := [reward for p in sums.problems.values() for reward in p.rewards]:
            row["reward/mean"] = sum(rewards) / len(rewards)
        made.append(row)
    return made


def sparkline(values: Sequence[float]) -> str:
    """One block a value, the lowest to the highest; all equal: the middle."""
    low, high = min(values), max(values)
    if high == low:
        return _BARS[3] * len(values)
    return "".join(_BARS[round((v - low) / (high - low) * (len(_BARS) - 1))] for v in values)


def _size(run: RunDir) -> int:
    try:
        return (run.folder / ROLLOUTS).stat().st_size
    except OSError:
        return 0
