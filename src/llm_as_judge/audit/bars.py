"""Bars for a judge: those that it must reach before it may train, and those that it should.

It must accept no wrong answers, since a policy learns to write what is accepted, and reject few right ones.
It should also leave few ungraded. What is ungraded rewards nothing and punishes nothing, and rules alone
leave the most. So a missed aim is said, and does not decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from llm_as_judge.statistics import Interval

KAPPA_BARS = {"numeric": 0.98, "hard mathematics": 0.85, "open QA": 0.74, "SQuAD2": 0.90}
"""Least kappa by kind of source; for open QA it is the agreement of human annotators."""
_LEAST_PRECISION = 0.95
_MANY_ATTACKS = 300


@dataclass(frozen=True, slots=True)
class Bar:
    """One requirement or aim. ``found`` None: nothing could be measured, which passes no bar."""

    name: str
    found: float | None
    wanted: str
    passed: bool
    required: bool = True
    """Whether the judge may train only if it is held."""
    measured: Interval | None = None
    """Of which ``found`` is an end."""


def _at_least(name: str, found: float | None, least: float, what: str = "") -> Bar:
    return Bar(name, found, f">= {least:g}{what}", found is not None and found >= least)


def _at_most(name: str, found: float | None, most: float) -> Bar:
    return Bar(name, found, f"<= {most:g}", found is not None and found <= most)


def check_bars(
    mode: str,
    measured: Mapping[str, Interval],
    sources: Mapping[str, Mapping[str, Any]],
    *,
    labeled: bool,
    sampled: bool = False,
) -> tuple[Bar, ...]:
    """The bars of ``mode`` (``rules``, or of a judge behind them) with what was found.

    Precision must be reached by the lower end of its interval, unless only rules decide. A sample is too small
    for that: it fails where the upper end is below. No source may be surely below it, so that many easy rows do
    not hide one kind that is judged badly. A judge must have been measured on rows that people labeled: the
    attacks and controls alone say nothing of its agreement with them.
    """
    precision, attacks = measured["precision"], measured["attacks accepted"]
    bars = [
        _at_most("attacks accepted", attacks.value, 0.0),
        *([] if sampled else [_at_least("attacks tried", attacks.n, _MANY_ATTACKS)]),
        _at_least("controls accepted", measured["controls accepted"].value, 0.96),
        _at_most("flip rate", measured["flip rate"].value, 0.01),
        _at_most("parse failure rate", measured["parse failure rate"].value, 0.005),
    ]
    if mode == "rules":
        return (_at_least("precision", precision.value, 0.98), *bars)
    end, bound = (precision.high, "upper") if sampled else (precision.low, "lower")
    found = end if precision.value is not None else None
    bar = _at_least("precision", found, _LEAST_PRECISION, f" ({bound} bound)")
    bars.insert(0, replace(bar, measured=precision))
    bars.insert(1, _at_most("right answers rejected", measured["right rejected"].value, 0.10))
    for source, row in sources.items():
        if row["precision"].value is not None:
            high = row["precision"].high
            bar = _at_least(f"precision: {source}", high, _LEAST_PRECISION, " (upper bound)")
            bars.append(replace(bar, measured=row["precision"]))
    if not labeled:
        bars.append(Bar("labeled rows", 0, ">= 1", False))
    aims = [
        _at_least("recall", measured["recall"].value, 0.90),
        _at_most("abstain rate", measured["abstain rate"].value, 0.05),
    ]
    for source, row in sources.items():
        least = KAPPA_BARS.get(row["kind"])
        if least is not None:
            aims.append(_at_least(f"kappa, {row['kind']}: {source}", row["kappa"].value, least))
    return (*bars, *(replace(aim, required=False) for aim in aims))
