"""From log-odds to verdicts: thresholds that keep what they promise, and abstention between them.

A judge's log-odds are no probability until they are held against labels it has not learned from. For each
domain two thresholds are chosen on such rows: the lowest from which acceptances are right, and the
highest up to which rejections are, each with the lower end of the 95 % interval at the
precision that was asked for. Acceptances count with those of the rules, since that is what a reward is
made of; rejections count alone. Both are counted as if right and wrong answers were equally many: among
rows that are mostly right any acceptance looks precise, and a policy's answers need not be like these
rows. Where no threshold keeps the promise, there is none: the judge then abstains.

Questions have parts with thresholds of their own, some of which are never accepted (:mod:`parts`). Wrong answers
that were made of these questions bound the others (:data:`MADE_ACCEPTED`): "It is not Paris" holds the gold, too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from llm_as_judge.judge.parts import CHOICE, HOLDING, NEVER_ACCEPTED
from llm_as_judge.statistics import even_precision, wilson


@dataclass(frozen=True, slots=True)
class Scored:
    """A labeled answer with what was said of it."""

    domain: str
    """Of the answer, see :func:`.parts.part_of`."""
    correct: bool
    rules: bool | None
    """The rules' verdict; None = left open, and so scored."""
    log_odds: float | None = None
    made: bool = False
    """Not labeled by people: wrong by how it was made."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Of one domain, in nats of log-odds; None = no threshold keeps the promise."""

    accept: float | None
    reject: float | None
    scale: float
    """Log-odds times this, plus ``offset``, are the log-odds of being right."""
    offset: float
    rows: int
    """Scored rows that they were chosen on."""

    def verdict(self, log_odds: float) -> bool | None:
        if self.accept is not None and log_odds >= self.accept:
            return True
        if self.reject is not None and log_odds <= self.reject:
            return False
        return None


def thresholds_of(part: str, known: Mapping[str, Thresholds]) -> Thresholds | None:
    """For a part as :func:`.parts.part_of` names it; its domain's where it had no rows. None: neither had."""
    found = known.get(part)
    if found is not None or part.endswith(CHOICE):
        return found
    found = known.get(part.partition(",")[0])
    if found is not None and part.endswith(NEVER_ACCEPTED):
        return replace(found, accept=None)
    return found


def sigmoid(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, log_odds))))


def probability(log_odds: float, thresholds: Thresholds) -> float:
    """Of being right, as calibrated (Platt scaling)."""
    return sigmoid(thresholds.scale * log_odds + thresholds.offset)


def calibrated(rows: Sequence[Scored], precision: float) -> dict[str, Thresholds]:
    """Thresholds of each part that has rows.

    Args:
        precision: 0..1, least lower bound of acceptances and of rejections, right and wrong rows weighing alike.
    """
    found: dict[str, Thresholds] = {}
    for domain in sorted({row.domain.partition(",")[0] for row in rows}):
        kinds = (*NEVER_ACCEPTED, HOLDING, "")
        parts = [[row for row in rows if row.domain == domain + kind] for kind in kinds]
        found |= _of_domain([part for part in parts if part], precision)
    return found


def _of_domain(parts: Sequence[Sequence[Scored]], precision: float) -> dict[str, Thresholds]:
    """Thresholds of the parts of one domain."""
    scored = [
        [(r.log_odds, r.correct) for r in part if r.log_odds is not None and not r.made]
        for part in parts
    ]
    never = [part[0].domain.endswith(NEVER_ACCEPTED) for part in parts]
    may = [n for n, out in enumerate(never) if not out]
    chosen = iter(_jointly([parts[n] for n in may], [scored[n] for n in may], parts, precision))
    accepts = [None if out else next(chosen) for out in never]
    found: dict[str, Thresholds] = {}
    for part, mine, accept in zip(parts, scored, accepts, strict=True):
        reject = rejected_to(mine, accept, precision)
        scale, offset = platt(mine)
        found[part[0].domain] = Thresholds(accept, reject, scale, offset, len(mine))
    return found


MADE_ACCEPTED = 0.1
"""Share of made wrong answers that may be accepted at most: what a policy could learn to write, and people's rows
hold few of."""
_CANDIDATES = 50
"""Thresholds that are tried of a part."""


def _jointly(
    parts: Sequence[Sequence[Scored]],
    scored: Sequence[Sequence[tuple[float, bool]]],
    every: Sequence[Sequence[Scored]],
    precision: float,
) -> list[float | None]:
    """A threshold for each of at most two parts: of the pairs that together keep the precision and accept few
    enough made answers the one that accepts the most right ones.

    Args:
        every: the domain's rows, those of parts that are never accepted, too.
    """
    if not parts:
        return []
    labeled = [row for part in every for row in part if not row.made]
    of, ruled = Counter(r.correct for r in labeled), Counter(r.correct for r in labeled if r.rules)
    made = [
        sorted((r.log_odds for r in part if r.made and r.log_odds is not None), reverse=True)
        for part in parts
    ]
    room = _most_of_made(sum(row.made for part in every for row in part))
    *first, last = scored
    tried: list[tuple[list[float | None], int, Counter[bool]]] = [([None] * len(first), 0, ruled)]
    for rows in first:
        ordered = sorted({score for score, _ in rows}, reverse=True)
        step = max(1, len(ordered) // _CANDIDATES)
        for start in ordered[step - 1 :: step]:
            taken = Counter(right for score, right in rows if score >= start)
            tried.append(([start], sum(score >= start for score in made[0]), ruled + taken))
    best: list[float | None] = [None] * len(parts)
    most = 0
    for starts, used, before in tried:
        if used > room:
            continue
        others = made[-1]
        floor = others[room - used] if room - used < len(others) else -math.inf
        above = [one for one in last if one[0] > floor]
        keeps = _keeping(of, precision, before)
        other = accepted_from(above, keeps)
        taken = Counter(right for score, right in above if other is not None and score >= other)
        gained = before[True] + taken[True] - ruled[True]
        if keeps(taken[True], taken[False]) and gained > most:
            most, best = gained, [*starts, other]
    return best


def _most_of_made(count: int) -> int:
    """How many of ``count`` made answers may be accepted, the upper end of their share being at most
    :data:`MADE_ACCEPTED`."""
    found = 0
    while found < count and wilson(found + 1, count)[1] <= MADE_ACCEPTED:
        found += 1
    return found


Keeps = Callable[[int, int], bool]
"""Whether a promise is kept, by how many are taken rightly and how many wrongly."""


def _keeping(of: Counter[bool], precision: float, before: Counter[bool]) -> Keeps:
    """
    Args:
        of: right and wrong ones in all.
        before: those taken before any that are counted.
    """
    return lambda right, wrong: (
        even_precision(before[True] + right, of[True], before[False] + wrong, of[False])
        >= precision
    )


def accepted_from(scored: Sequence[tuple[float, bool]], keeps: Keeps) -> float | None:
    """The lowest score from which all of that score or more keep a promise.

    Args:
        scored: (score, whether to take it is right).
    """
    found, held = None, 0
    ordered = sorted(scored, reverse=True)
    for at, (score, right) in enumerate(ordered, 1):
        held += right
        last_of_equals = at == len(ordered) or ordered[at][0] < score
        if last_of_equals and keeps(held, at - held):
            found = score
    return found


def rejected_to(
    scored: Sequence[tuple[float, bool]], accept: float | None, precision: float
) -> float | None:
    """The highest log-odds up to which rejections keep the precision, below ``accept``.

    Args:
        scored: (log-odds, whether the answer is right).
    """
    turned = [(-log_odds, not correct) for log_odds, correct in scored]
    keeps = _keeping(Counter(wrong for _, wrong in turned), precision, Counter())
    found = accepted_from(turned, keeps)
    if found is None or accept is None or -found < accept:
        return None if found is None else -found
    return math.nextafter(accept, -math.inf)


def platt(scored: Sequence[tuple[float, bool]], steps: int = 50) -> tuple[float, float]:
    """Scale and offset of the logistic curve through log-odds and labels, by Newton's method.

    Labels are drawn in a little from 0 and 1, so that rows that are told apart perfectly give a finite curve.
    Source: Platt 1999, "Probabilistic outputs for support vector machines", section 2.2.
    """
    right = sum(correct for _, correct in scored)
    wrong = len(scored) - right
    if not right or not wrong:
        return 1.0, 0.0
    high, low = (right + 1) / (right + 2), 1 / (wrong + 2)
    scale, offset = 0.0, math.log((right + 1) / (wrong + 1))
    for _ in range(steps):
        g_a = g_b = h_aa = h_ab = h_bb = 0.0
        for x, correct in scored:
            p = sigmoid(scale * x + offset)
            d, w = p - (high if correct else low), max(p * (1 - p), 1e-9)
            g_a, g_b = g_a + d * x, g_b + d
            h_aa, h_ab, h_bb = h_aa + w * x * x, h_ab + w * x, h_bb + w
        h_aa, h_bb = h_aa + 1e-6, h_bb + 1e-6
        det = h_aa * h_bb - h_ab * h_ab
        step_a, step_b = (h_bb * g_a - h_ab * g_b) / det, (h_aa * g_b - h_ab * g_a) / det
        scale, offset = scale - step_a, offset - step_b
        if abs(step_a) + abs(step_b) < 1e-9:
            break
    return scale, offset
