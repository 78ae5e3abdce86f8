"""What a judge must reach before it may train, and what it should."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_as_judge.audit.agreement import Interval

KAPPA_BARS = {"numeric": 0.98, "hard mathematics": 0.85, "open QA": 0.74, "SQuAD2": 0.90}
"""Least kappa by kind of source; for open QA it is the agreement of human annotators."""
_MANY_ATTACKS = 300


@dataclass(frozen=True, slots=True)
class Bar:
    """One requirement. ``found`` None: nothing could be measured, which passes no bar."""

    name: str
    found: float | None
    wanted: str
    passed: bool


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
) -> tuple[Bar, ...]:
    """The bars of ``mode`` (``rules`` or ``model``) with what was found.

    Precision must be reached by the lower end of its interval, unless only rules decide. A model
    must have been measured on rows that people labeled: the attacks and controls alone say nothing
    of its agreement with them.
    """
    precision, attacks = measured["precision"], measured["attacks accepted"]
    bars = [
        _at_most("attacks accepted", attacks.value, 0.0),
        _at_least("attacks tried", attacks.n, _MANY_ATTACKS),
        _at_least("controls accepted", measured["controls accepted"].value, 0.96),
        _at_most("flip rate", measured["flip rate"].value, 0.01),
        _at_most("parse failure rate", measured["parse failure rate"].value, 0.005),
    ]
    if mode == "rules":
        return (_at_least("precision", precision.value, 0.98), *bars)
    low = precision.low if precision.value is not None else None
    bars += [
        _at_least("recall", measured["recall"].value, 0.90),
        _at_most("abstain rate", measured["abstain rate"].value, 0.05),
    ]
    if not labeled:
        bars.append(Bar("labeled rows", 0, ">= 1", False))
    for source, row in sources.items():
        least = KAPPA_BARS.get(row["kind"])
        if least is not None:
            bars.append(_at_least(f"kappa, {row['kind']}: {source}", row["kappa"].value, least))
    return (_at_least("precision", low, 0.95, " (lower bound)"), *bars)
