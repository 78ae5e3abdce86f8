"""Advice on a run: what to look at, each with what to do about it. Pure: figures in, sentences out.

What only training can judge (entropy, variance, drift) it judges itself and writes beside its
metrics; here is what a reader sees: losses, silence, the bill.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from llm_as_judge.runs.rundir import RunDir, finite

WINDOW = 5
"""Steps that a warning looks back over."""
QUIET_STEPS = 4.0
"""A run is called quiet after this many usual steps without a write ..."""
QUIET_S = 120.0
"""... and at least this many seconds."""


NEARLY = 0.9
"""Share of a budget from which on it is warned of."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something a person should look at."""

    found: str
    advice: str = ""
    """Empty: ``found`` says it already."""

    def __str__(self) -> str:
        return f"{self.found} -> {self.advice}" if self.advice else self.found


def _for_open_answers(run: RunDir) -> str:
    """The shipped judge comes first, in a run that has no judge."""
    judge = run.config.get("judge")
    told = judge if isinstance(judge, dict) else {}
    if told.get("kind") in ("llm", "rules") and told.get("model") == "none":
        return (
            "turn on the shipped judge (judge.kind: scoring, judge.model: none), or leave sets out that rules "
            "cannot grade"
        )
    return "see `verdict` in rollouts.jsonl; ask for the answer alone, or leave sets out that stay open"


_RULES: Sequence[tuple[str, Callable[[float], bool], str, str | Callable[[RunDir], str]]] = (
    (
        "rollout/failed",
        lambda v: v > 0.02,
        "{:.0%} of rollouts failed outside of their programs",
        "see `failure` in rollouts.jsonl: endpoint or sandbox",
    ),
    (
        "rollout/not_graded",
        lambda v: v > 0.05,
        "{:.0%} of rollouts were left open",
        _for_open_answers,
    ),
    (
        "rollout/strictly_valid",
        lambda v: v < 0.5,
        "{:.0%} of programs run as written",
        "see the findings in rollouts.jsonl; lower sampling.temperature",
    ),
    (
        "execution/timeout",
        lambda v: v > 0.1,
        "{:.0%} of programs ran out of time",
        "look at what they wait for (their traces), or raise workflow.timeout_s",
    ),
)
"""Metric, of whose mean in the window a warning is raised, when, and the words of it."""


def warnings(run: RunDir, now: float) -> list[Alarm]:
    """What ``run`` warns of at ``now`` (seconds since 1970), the gravest first."""
    last = run.steps[-WINDOW:]
    found = [*_not_finite(last), *_quiet(run, now), *_nearly_spent(run)]
    for key, is_raised, words, advice in _RULES:
        if (value := mean(last, key)) is not None and is_raised(value):
            found.append(
                Alarm(words.format(value), advice if isinstance(advice, str) else advice(run))
            )
    found += [Alarm(text) for text in run.warnings]
    if run.broken_lines:
        found.append(
            Alarm(f"{run.broken_lines} lines of the log cannot be read", "they are left out")
        )
    return found


def mean(steps: Sequence[Mapping[str, float]], key: str) -> float | None:
    """Mean of the finite values of a metric; None where there is none."""
    values = [v for row in steps if (v := finite(row.get(key))) is not None]
    return fmean(values) if values else None


def _not_finite(last: Sequence[Mapping[str, float]]) -> list[Alarm]:
    bad = sorted({key for row in last for key, value in row.items() if not math.isfinite(value)})
    if not bad:
        return []
    return [
        Alarm(
            f"{', '.join(bad[:3])}: not a finite number",
            "stop; go on from an earlier checkpoint with a lower training.learning_rate",
        )
    ]


def _quiet(run: RunDir, now: float) -> list[Alarm]:
    times = [v for row in run.steps[-20:] if (v := finite(row.get("time/step_s"))) is not None]
    planned = planned_steps(run)
    done = run.steps[-1]["step"] if run.steps else 0.0
    if run.written_at is None or not times or (planned is not None and done >= planned):
        return []
    silent = now - run.written_at
    if silent < max(QUIET_S, QUIET_STEPS * median(times)):
        return []
    return [
        Alarm(
            f"nothing written for {duration(silent)}, a step takes {duration(median(times))}",
            "is it still running? llm-as-judge train --resume goes on from the checkpoint",
        )
    ]


def spent(run: RunDir) -> dict[str, tuple[float, float]]:
    """Key of ``budget`` -> (used, limit), for each limit that the run has."""
    total, limits = run.ledger.get("total"), run.config.get("budget")
    if not isinstance(total, dict) or not isinstance(limits, dict):
        return {}
    used = {
        "usd": dollars_counted(total),
        "tokens": tokens_counted(total),
        "calls": finite(total.get("attempts")) or 0.0,
    }
    limited = {key: finite(limits.get(key)) for key in used}
    return {key: (used[key], most) for key, limit in limited.items() if (most := limit)}


def tokens_counted(total: Mapping[str, object]) -> float:
    """Tokens of a bill's sums that count for a budget: those said, and those estimated."""
    kinds = ("prompt", "completion", "estimated")
    return sum(finite(total.get(f"{kind}_tokens")) or 0.0 for kind in kinds)


def dollars_counted(total: Mapping[str, object]) -> float:
    """Dollars of a bill's sums that count for a budget: those said, and those estimated."""
    return sum(finite(total.get(f"{kind}_usd")) or 0.0 for kind in ("priced", "estimated"))


def _nearly_spent(run: RunDir) -> list[Alarm]:
    return [
        Alarm(
            f"{used / most:.0%} of budget.{key} is used",
            "at its end the run stops with a checkpoint; raise it and go on by --resume",
        )
        for key, (used, most) in spent(run).items()
        if used >= NEARLY * most
    ]


def planned_steps(run: RunDir) -> int | None:
    """Steps that the run's configuration asks for; None where it does not say."""
    training = run.config.get("training")
    steps = training.get("steps") if isinstance(training, dict) else None
    return steps if isinstance(steps, int) else None


def duration(seconds: float) -> str:
    """``45 s``, ``3 min``, ``2 h 5 min``, ``4 d``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{hours // 24} d"
