"""Headroom report of a bank, with advice on training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from llm_as_judge.accuracy import Right
from llm_as_judge.evaluation.headroom import DomainTable, Headroom, headroom
from llm_as_judge.evaluation.search.choices import DOMAIN, SearchResult
from llm_as_judge.evaluation.search.halving import mean_of_draws
from llm_as_judge.runs.table import Bank, Table
from llm_as_judge.statistics import paired
from llm_as_judge.types import DOMAINS, Budget

Vectors = Mapping[str, Sequence[float]]
"""Sentence embedding of each problem, by its id."""
PLAIN = "direct"
"""What a person has without this package."""
FEW_ROWS = 30
"""With fewer no interval is narrow enough for an answer."""
HARDLY_RIGHT = 0.05
"""Share of rows; below it something other than the program is wrong."""


def audited(
    table: Table, vectors: Vectors | None, seed: int = 0, *, open_right: bool = False
) -> Headroom | None:
    """Of the programs of each domain that have run on the same cells; None where there is none to
    choose from.

    Args:
        open_right: open answers count as right; else as not right.
    """
    parts = []
    for domain in DOMAINS:
        whole = table.whole(domain)
        known = vectors is not None and all(p.id in vectors for p in whole.problems)
        found = np.array([vectors[p.id] for p in whole.problems]) if vectors and known else None
        calls_J = [float(calls_PD.mean()) if calls_PD.size else 0.0 for calls_PD in whole.calls_JPD]
        right_JPD = whole.right_JPD + whole.open_JPD if open_right else whole.right_JPD
        names = [program.name for program in whole.programs]
        parts.append(DomainTable(right_JPD, whole.cost_JPD, whole.sets, calls_J, found, names))
    return headroom(parts, seed)


def audit_of_search(
    found: SearchResult,
    bank: Bank,
    draws: int,
    vectors: Vectors | None,
    *,
    open_right: bool = False,
) -> Headroom | None:
    """Of a search's finalists, on the problems that it chose on. See :func:`audited`."""
    keys = [p.key for programs in found.finalists.values() for p in programs]
    table = bank.table(keys, list(found.chosen_on), draws)
    return audited(table, vectors, open_right=open_right)


TRAIN, TOO_FEW = "train", "too few rows to say"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do with rows of one's own."""

    answer: str
    """``train``, ``use this fixed program``, ``no room`` or ``too few rows to say``."""
    gain: str
    """Of the best fixed program."""
    reason: str
    """What choosing for each problem would gain; may be empty."""


def advice(
    found: SearchResult, room: Headroom | None, bank: Bank, draws: int, budget: Budget
) -> Advice:
    """By the cross_validated figures, from 30 rows on: training where programs suit problems; else the best fixed program where
    it is shown to be better than a direct call; else nothing."""
    chosen = found.cross_validated[DOMAIN, budget]
    plain = _plain(bank, draws)
    ids = [id_ for id_ in chosen if id_ in plain]
    names = _named(found, budget)
    pair = (
        paired([chosen[id_].verdict for id_ in ids], [plain[id_] for id_ in ids]) if ids else None
    )
    gain = (
        f"a direct call is the best fixed program, chosen on {len(ids)} rows"
        if pair is not None and names == PLAIN
        else f"{names}{': together' if ',' in names else ''} {100 * pair.difference:+.1f} points [{100 * pair.low:+.1f}, {100 * pair.high:+.1f}] against "
        f"a direct call, cross-validated on {len(ids)} rows"
        if pair is not None
        else "no row was answered under both the best fixed program and a direct call"
    )
    reason = room.words if room is not None else ""
    if chosen and fmean([one.verdict.most for one in chosen.values()]) < HARDLY_RIGHT:
        reason += (
            " Hardly a row is right under the best fixed program: look at a reply first (wrong executor, replies "
            "cut at executor.max_tokens, answers that the rules cannot read)."
        )
    if len(chosen) >= FEW_ROWS and room is not None and room.adaptation and room.clear:
        return Advice(TRAIN, gain, reason)
    if len(ids) < FEW_ROWS:
        return Advice(TOO_FEW, f"{gain}; {FEW_ROWS} or more are wanted", reason.strip())
    if pair is not None and pair.low > 0:
        return Advice("use this fixed program", gain, reason)
    return Advice("no room", gain, reason)


def _named(found: SearchResult, budget: Budget) -> str:
    """``direct``, or ``cot for math, direct for qa``"""
    domains: dict[str, list[str]] = {}
    for choice in found.choices:
        if (choice.scope, choice.budget) == (DOMAIN, budget):
            domains.setdefault(choice.name, []).append(choice.of)
    if len(domains) == 1:
        return next(iter(domains))
    return ", ".join(f"{name} for {' and '.join(of)}" for name, of in domains.items())


def _plain(bank: Bank, draws: int) -> dict[str, Right]:
    """Of the draws of a direct call, by problem."""
    keys = [key for key, program in bank.programs.items() if program.name == PLAIN]
    table = bank.table(keys, draws=draws)
    right, left = mean_of_draws(table.right_JPD), mean_of_draws(table.open_JPD)
    return {
        problem.id: Right(float(right[j, p]), float(left[j, p]))
        for j in range(len(keys))
        for p, problem in enumerate(table.problems)
        if not np.isnan(right[j, p])
    }
