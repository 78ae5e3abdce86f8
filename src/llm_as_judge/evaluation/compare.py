"""Evaluations side by side: paired tests, accuracy for tokens, what choosing among them could reach.

Comparisons are over all problems that both have answered, so that a difference is never one of rows. An open
answer is not right; how far the open ones could change a difference stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean

import numpy as np

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.headroom import DomainTable, Headroom, headroom
from llm_as_judge.evaluation.system_results import SystemResults
from llm_as_judge.statistics import Paired, holm, paired


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Paired):
    """A system against the reference, on the problems of which neither failed."""

    name: str
    reference: str
    problems: int
    only_other: int | None
    """Problems that only the system got right; None where shares are not 0 or 1."""
    only_reference: int | None
    p_holm: float
    """Adjusted for the number of comparisons."""
    p_most_holm: float
    token_ratio: float | None
    cost_ratio: float | None
    """In written tokens; None: the files of one do not say it."""
    open: int
    """Problems that either left open, in some run."""

    @property
    def figures(self) -> str:
        """``+36 points [+22, +52], wins : losses 13 : 0, p < 0.001``; where answers are open, interval and p are
        those that hold whatever these are."""
        won = (
            f", wins : losses {self.only_other} : {self.only_reference}"
            if self.only_other is not None
            else ""
        )
        interval = f"[{100 * self.low:+.0f}, {100 * self.high:+.0f}]"
        points = f"{100 * self.difference:+.0f} points"
        if self.open:
            return (
                f"{points}{won}, with open answers (on {self._open_on}) not right; whatever they are: "
                f"{self._reach}, 95 % interval {interval}, {self._p_reach}"
            )
        p = f"{'' if self.p < 0.001 else '= '}{p_text(self.p)}"
        return f"{points} {interval}{won}, p {p}"

    @property
    def open_words(self) -> str:
        """What the open answers could change; empty without any."""
        if not self.open:
            return ""
        return (
            f"open answers on {self._open_on} count as not right; whatever they are, the difference is "
            f"{self._reach}, {self._p_reach}"
        )

    @property
    def _open_on(self) -> str:
        return f"{self.open} problem{'' if self.open == 1 else 's'}"

    @property
    def _reach(self) -> str:
        return f"{100 * self.least:+.1f} to {100 * self.most:+.1f} points"

    @property
    def _p_reach(self) -> str:
        return f"p {'' if self.p_most < 0.001 else 'at most '}{p_text(self.p_most)}"


def p_text(p: float) -> str:
    """Never 0: an exact p is not."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def compare(
    systems: Sequence[SystemResults], reference: SystemResults, domain: str | None = None
) -> list[Comparison]:
    """Every other system against ``reference``, but those that share no problem with it.

    Args:
        domain: on its problems alone.
    Raises:
        DataError: none of several shares a problem with it, of whatever domain.
    """
    everyone = [other for other in systems if other is not reference]
    others = [other for other in everyone if _common(other, reference, domain)]
    if everyone and not others and domain is None:
        raise DataError(_nothing_common([*everyone, reference]))
    pairs = [_compare(other, reference, domain) for other in others]
    adjusted = holm([pair.p for pair in pairs]), holm([pair.p_most for pair in pairs])
    return [
        replace(pair, p_holm=p, p_most_holm=most)
        for pair, p, most in zip(pairs, *adjusted, strict=True)
    ]


def _nothing_common(systems: Sequence[SystemResults]) -> str:
    """Why no two of them can be compared, and what to do."""
    if dead := next((one for one in systems if one.datasets and not one.right), None):
        return (
            f"{dead.name}: all rollouts on its {len(dead.datasets)} problems failed; the first: {dead.failed}. Mend "
            "this and give its evaluate command again, which tries them again"
        )
    *others, reference = (one.name for one in systems)
    return (
        f"{', '.join(others)} and {reference}: no problem that both have answered; evaluate both on the same rows "
        "(sets, --split, --limit, data.seed)"
    )


def _common(other: SystemResults, reference: SystemResults, domain: str | None) -> list[str]:
    """Problems of which neither failed."""
    return [
        id_
        for id_ in reference.right
        if id_ in other.right and domain in (None, reference.domains[id_])
    ]


def _compare(other: SystemResults, reference: SystemResults, domain: str | None) -> Comparison:
    common = _common(other, reference, domain)
    first = [other.right[id_] for id_ in common]
    second = [reference.right[id_] for id_ in common]
    both = list(zip(first, second, strict=True))
    found = paired(first, second)
    single = all(one.right in (0.0, 1.0) for one in (*first, *second))
    only_first = sum(a.right > b.right for a, b in both) if single else None
    only_second = sum(a.right < b.right for a, b in both) if single else None
    spent = fmean(other.tokens.get(id_, 0.0) for id_ in common)
    base = fmean(reference.tokens.get(id_, 0.0) for id_ in common)
    cost, base_cost = _mean_cost(other, common), _mean_cost(reference, common)
    return Comparison(
        **{field.name: getattr(found, field.name) for field in fields(found)},
        name=other.name,
        reference=reference.name,
        problems=len(common),
        only_other=only_first,
        only_reference=only_second,
        p_holm=found.p,
        p_most_holm=found.p_most,
        token_ratio=spent / base if base else None,
        cost_ratio=cost / base_cost if cost is not None and base_cost else None,
        open=sum(a.open + b.open > 0 for a, b in both),
    )


def _mean_cost(system: SystemResults, ids: Sequence[str]) -> float | None:
    """In written tokens; None: the files of one do not say it."""
    known = [system.costs[id_] for id_ in ids if id_ in system.costs]
    return fmean(known) if len(known) == len(ids) else None


@dataclass(frozen=True, slots=True)
class Front:
    """Those that nobody beats in accuracy at no more cost, or in cost at no less accuracy. Cost is in
    written tokens, the policy's own beside it; where one's files do not say it, executor tokens."""

    names: tuple[str, ...]
    problems: int
    """Of which nobody who takes part failed; the front is of these."""
    apart: tuple[str, ...]
    """Who does not take part: evaluated on fewer problems, or failed on more than half of them."""
    priced: bool
    """By cost; False: by tokens."""


def pareto_front(systems: Sequence[SystemResults]) -> Front:
    """Of those who were evaluated on as many problems as the widest; a few runs that failed put nobody
    out."""
    taking, common = _widest(systems)
    costs = {c.name: _mean_cost(c, common) for c in taking} if common else {}
    priced = None not in costs.values()
    points = {
        c.name: (
            fmean(c.right[id_].right for id_ in common),
            (costs[c.name] or 0.0) + c.policy_tokens
            if priced
            else fmean(c.tokens.get(id_, 0.0) for id_ in common) + c.policy_tokens,
        )
        for c in taking
        if common
    }
    names = tuple(
        name
        for name, (right, spent) in points.items()
        if not any(
            other_right >= right
            and other_spent <= spent
            and (other_right, other_spent) != (right, spent)
            for other_right, other_spent in points.values()
        )
    )
    apart = tuple(c.name for c in systems if c not in taking)
    return Front(names, len(common), apart, priced)


def _widest(systems: Sequence[SystemResults]) -> tuple[list[SystemResults], list[str]]:
    """(Who was evaluated on as many problems as anybody, the problems of which none of these failed)."""
    widest = max((len(c.datasets) for c in systems), default=0)
    taking = [c for c in systems if len(c.datasets) == widest and 2 * len(c.right) >= widest]
    common = [
        id_
        for id_ in (taking[0].right if taking else ())
        if all(id_ in system.right for system in taking)
    ]
    return taking, common


def headroom_of(systems: Sequence[SystemResults], *, open_right: bool = False) -> Headroom | None:
    """What choosing among the systems could reach, of those evaluated on as many problems as the widest
    and on the problems of which none of them failed; None where fewer than two are.

    Args:
        open_right: open answers count as right.
    """
    taking, common = headroom_rows(systems)
    return headroom([_table(taking, common, open_right)]) if common else None


def headroom_rows(systems: Sequence[SystemResults]) -> tuple[list[SystemResults], list[str]]:
    """(systems, problems) that headroom is over. Problems of which a run is missing or failed are left
    out, unless they are more than a fifth."""
    taking, common = _widest(systems)
    most = max((len(c.verdicts[id_]) for c in taking for id_ in common), default=0)
    whole = [id_ for id_ in common if all(len(c.verdicts[id_]) == most for c in taking)]
    return taking, whole if len(whole) >= _LEAST_WHOLE * len(common) else common


_LEAST_WHOLE = 0.8
"""Share of the problems that have all their runs, from which the others are left out."""


def _table(
    systems: Sequence[SystemResults], ids: Sequence[str], open_right: bool = False
) -> DomainTable:
    """Verdicts of these systems, none of which failed on these problems. Where not all have as many runs,
    each problem's mean stands for one draw."""
    drawn = len({len(c.verdicts[id_]) for c in systems for id_ in ids}) == 1
    right = [
        [
            [float(open_right if one is None else one) for one in c.verdicts[id_]]
            if drawn
            else [c.right[id_].most if open_right else c.right[id_].right]
            for id_ in ids
        ]
        for c in systems
    ]
    spent = [[(c.costs.get(id_, c.tokens.get(id_, 0.0)),) for id_ in ids] for c in systems]
    sets = [systems[0].datasets[id_] for id_ in ids]
    calls, names = [c.calls for c in systems], [c.name for c in systems]
    return DomainTable(np.array(right), np.array(spent), sets, calls, names_J=names)
