"""Is there anything to learn for each problem, or only a better program to find?

All figures are of programs that have run on the same problems at the same draws (J x P x D).

- **Interaction**: for each problem a program is chosen on half of the draws and scored on the other half;
  the same of the best fixed program of each group of problems; the difference is what choosing by problem gains.
  What half of the draws say of a problem is weighted by how much of it the other
  half repeats on *other* problems: where that is nothing, the group's program is chosen, and 0 gained.
  More draws would choose better. Draws o and o + 1 of a program that asks several times share replies, so
  its two halves share luck. The figure is therefore given twice: by the draws of all programs (at most so much),
  and by those alone of programs that ask once (at least so much). Both are over the best fixed program of all.
- **Text**: the same where the program is chosen by the problem's sentence embedding (ridge regression,
  five folds): what a policy that reads the problem could gain at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llm_as_judge.runs.table import Array
from llm_as_judge.statistics import bootstrap

PENALTIES = (math.inf, 30.0, 10.0, 3.0, 1.0, 0.3)
"""Of the ridge regression, chosen by inner folds; infinite: the text says nothing."""


def ridge(penalty: float, known_NE: Array, targets_NJ: Array, new_ME: Array) -> Array:
    """(M, J) by ridge regression around the mean vector.

    Source: Hoerl and Kennard 1970, https://doi.org/10.1080/00401706.1970.10488634; dual form.
    """
    if math.isinf(penalty):
        return np.zeros((len(new_ME), targets_NJ.shape[1]))
    middle = known_NE.mean(axis=0)
    known, new = known_NE - middle, new_ME - middle
    gram = known @ known.T + penalty * np.eye(len(known))
    return np.asarray(new @ known.T @ np.linalg.solve(gram, targets_NJ))


def best_penalty(vectors_NE: Array, targets_NJ: Array, folds_N: npt.NDArray[np.intp]) -> float:
    """That of the least squared error over these folds; of equals the first."""
    errors = np.zeros(len(PENALTIES))
    for fold in np.unique(folds_N):
        mine = folds_N == fold
        if mine.all():
            return PENALTIES[0]
        for n, penalty in enumerate(PENALTIES):
            found = ridge(penalty, vectors_NE[~mine], targets_NJ[~mine], vectors_NE[mine])
            errors[n] += float(((found - targets_NJ[mine]) ** 2).sum())
    return PENALTIES[int(errors.argmin())]


FOLDS = 5
INTERACTION_POINTS, TEXT_POINTS = 2.0, 0.5
"""Below both adaptation is not there."""
ONCE = 1.5
"""Calls a run at most, of programs that count as asking once: some repair a reply that cannot be used."""


@dataclass(frozen=True, slots=True)
class Gain:
    """A mean over problems with its 95 % bootstrap interval, as a share (0.01 is a point)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Headroom:
    """What choosing among programs could reach. Shares of right answers."""

    problems: int
    programs: int
    draws: int
    fixed: float
    """One program for all problems of a domain, chosen on other problems."""
    fixed_in_sample: float
    """Chosen on the problems it is counted on."""
    by_group: float
    """One for each group of problems (data set), chosen on other problems."""
    by_group_in_sample: float
    oracle: float
    """Of each problem the program that was luckiest on it: an upper bound."""
    interaction: Gain | None
    """By choosing for each problem; None with one draw. Where ``once`` is below it: at most so much."""
    once: Gain | None
    """The same where for each problem the group's program, whatever it asks, gives way to programs that ask once
    alone, whose draws share no reply: at least so much. None with one draw, or where no two programs of a part ask
    once."""
    text: Gain | None
    """Points by choosing from the problem's text; None without vectors."""
    best: str
    """Name of the best fixed program of each part, chosen in-sample; empty without names."""

    @property
    def adaptation(self) -> bool | None:
        """Whether there is something to learn by problem; None: these draws cannot tell."""
        if self.interaction is None:
            return None
        once, text = (gain.value if gain is not None else 0.0 for gain in (self.once, self.text))
        if 100 * once >= INTERACTION_POINTS or 100 * text >= TEXT_POINTS:
            return True
        return None if 100 * self.interaction.value >= INTERACTION_POINTS else False

    @property
    def clear(self) -> bool:
        """One of the figures that luck has no part in is above 0 with its whole interval."""
        return any(gain is not None and gain.low > 0 for gain in (self.once, self.text))

    @property
    def words(self) -> str:
        """What the figures mean: the conclusion, the figures, what to do."""
        if self.interaction is None:
            return (
                "One draw cannot tell luck from talent: run each program several times (--draws 4)."
            )
        head, do = self._conclusion
        gains = [_points(self.interaction)]
        if self.once != self.interaction:
            gains[0] += " as an upper bound (programs that ask several times share replies)"
            if self.once is not None:
                gains.append(f"{_points(self.once)} by the draws of programs that ask once")
        if self.text is not None:
            gains.append(f"{_points(self.text)} by the problem's text")
        return (
            f"{head}: choosing a program for each, cross-validated, gains over the best fixed one of its data set "
            f"{', '.join(gains)}. {do}"
        )

    @property
    def _conclusion(self) -> tuple[str, str]:
        """(what is concluded, what to do)"""
        if self.adaptation is False:
            bars = f"bar: {INTERACTION_POINTS:g} points"
            if self.text is not None:
                bars += f", by the text {TEXT_POINTS:g}"
            head = f"There is nothing to learn for each problem ({bars})"
            return head, "A better fixed program can gain: llm-as-judge search."
        best = f"the best fixed program{f', {self.best}' if self.best else ''}"
        if self.adaptation is None:
            return "Not decided", f"Use {best}. More draws tell how much of it is luck."
        if self.clear:
            do = f"Train, and compare at equal cost with {best}; use that where so much is not worth a training."
            if self.text is not None and 100 * self.text.value < TEXT_POINTS:
                do = f"The text alone does not tell which. {do}"
            return "There is something to learn for each problem", do
        return "Not decided", "The interval holds 0: take more problems or draws."

    def lines(self, fixed_for: str | None = None) -> list[str]:
        """The choices, their upper bound and the meaning, a paragraph each.

        Args:
            fixed_for: what has one program in ``fixed``; None: leaves the choices out, where a table of
                cross-validated choices stands beside these lines. They rest on fewer runs, and differ from it.
        """
        choices = (
            f"Cross-validated: one program for {fixed_for} is right on {_percent(self.fixed)} of the problems, one for "
            f"each data set on {_percent(self.by_group)}. In-sample: {_percent(self.fixed_in_sample)} and "
            f"{_percent(self.by_group_in_sample)}."
        )
        oracle = f"Upper bound, with the program that did best on each problem: {_percent(self.oracle)} right."
        return [*([choices] if fixed_for else []), oracle, self.words]

    def if_open_right(self, other: Headroom, fixed_for: str) -> str:
        """What ``other`` says, which counts all open answers as right.

        Args:
            fixed_for: what has one program in ``fixed``.
        """
        choosing = (
            ""
            if other.interaction is None
            else f"; choosing a program for each problem gains {'' if other.once == other.interaction else 'at most '}"
            f"{_points(other.interaction)}"
        )
        return (
            f"Were all open answers right: one program for {fixed_for} {_percent(other.fixed)} right instead of "
            f"{_percent(self.fixed)}, the upper bound {_percent(other.oracle)} instead of "
            f"{_percent(self.oracle)}{choosing}."
        )


def _percent(share: float) -> str:
    return f"{round(share, 6) + 0.0:.1%}"  # what decides between equals can make it a negative zero


def _points(gain: Gain) -> str:
    return f"{100 * gain.value:+.1f} points [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"


@dataclass(frozen=True, slots=True)
class DomainTable:
    """Programs and problems of one domain."""

    right_JPD: Array
    """0, 1 or a share; no gap."""
    cost_JPD: Array
    """Decides between equals."""
    groups_P: Sequence[str]
    calls_J: Sequence[float]
    """Executor calls of each program, a run."""
    vectors_PE: Array | None = None
    """Sentence embeddings of unit length."""
    names_J: Sequence[str] = ()


def headroom(parts: Sequence[DomainTable], seed: int = 0) -> Headroom | None:
    """All parts together, each problem weighing the same; None where there is nothing to choose.

    Raises:
        ValueError: the parts have different numbers of draws.
    """
    parts = [part for part in parts if part.right_JPD.shape[0] > 1 and part.right_JPD.shape[1] > 1]
    if not parts:
        return None
    if len({part.right_JPD.shape[2] for part in parts}) > 1:
        raise ValueError("parts with different numbers of draws")
    draws = parts[0].right_JPD.shape[2]
    folds = [_folds(part.groups_P, seed) for part in parts]
    means = [_tie_broken(part) for part in parts]
    together = [np.zeros(len(part.groups_P), dtype=int) for part in parts]
    groups = [np.unique(np.asarray(part.groups_P), return_inverse=True)[1] for part in parts]
    vectors = all(part.vectors_PE is not None for part in parts)

    def over_parts(of: Callable[[int], Array]) -> Array:
        return np.concatenate([of(n) for n in range(len(parts))])

    def fixed(labels: list[npt.NDArray[np.intp]], cross_validated: bool) -> float:
        return float(
            over_parts(lambda n: _fixed(means[n], labels[n], folds[n], cross_validated)).mean()
        )

    def gain(of: Callable[[int], Array]) -> Gain:
        found = over_parts(of)
        return Gain(float(found.mean()), *bootstrap(list(found), seed=seed))

    def routed(n: int) -> Array:
        return _routed(means[n], groups[n], folds[n], parts[n].vectors_PE)

    return Headroom(
        problems=sum(len(part.groups_P) for part in parts),
        programs=sum(len(part.right_JPD) for part in parts),
        draws=draws,
        fixed=fixed(together, True),
        fixed_in_sample=fixed(together, False),
        by_group=fixed(groups, True),
        by_group_in_sample=fixed(groups, False),
        oracle=float(over_parts(lambda n: parts[n].right_JPD.mean(axis=2).max(axis=0)).mean()),
        interaction=(
            gain(lambda n: _split_half(parts[n], groups[n], folds[n], range(len(means[n]))))
            if draws > 1
            else None
        ),
        once=(
            gain(lambda n: _split_half(parts[n], groups[n], folds[n], _once(parts[n]) or [0]))
            if draws > 1 and any(len(_once(part)) > 1 for part in parts)
            else None
        ),
        text=gain(routed) if vectors else None,
        best=", ".join(
            part.names_J[int(mean.mean(axis=1).argmax())]
            for part, mean in zip(parts, means, strict=True)
            if part.names_J
        ),
    )


# ---------------------------------------------------------------------------------------------- parts
def _folds(groups_P: Sequence[str], seed: int) -> npt.NDArray[np.intp]:
    """(P,) the fold of each problem; every group is spread over all of them."""
    random = np.random.default_rng(seed)
    folds = np.zeros(len(groups_P), dtype=np.intp)
    for name in sorted(set(groups_P)):
        members = np.flatnonzero(np.asarray(groups_P) == name)
        folds[random.permutation(members)] = np.arange(len(members)) % FOLDS
    return folds


def _tie_broken(part: DomainTable) -> Array:
    """(J, P) mean right, less so little for cost that it decides between equals alone."""
    cost = part.cost_JPD.mean(axis=2)
    most = float(np.abs(cost).max()) or 1.0
    return np.asarray(part.right_JPD.mean(axis=2) - 1e-9 * cost / most)


def _group_means(
    values_JP: Array, groups_P: npt.NDArray[np.intp], among: npt.NDArray[np.bool_]
) -> Array:
    """(J, P) mean of each program on the problems ``among`` of the problem's group; where the group
    has none of them, on all of them."""
    found = np.repeat(values_JP[:, among].mean(axis=1, keepdims=True), values_JP.shape[1], axis=1)
    for group in np.unique(groups_P):
        mine = among & (groups_P == group)
        if mine.any():
            found[:, groups_P == group] = values_JP[:, mine].mean(axis=1, keepdims=True)
    return found


def _fixed(
    values_JP: Array,
    groups_P: npt.NDArray[np.intp],
    folds_P: npt.NDArray[np.intp],
    cross_validated: bool,
) -> Array:
    """(P,) of the program chosen for the problem's group, on other folds or on all problems."""
    found = np.zeros(values_JP.shape[1])
    for fold in np.unique(folds_P):
        mine = folds_P == fold
        others = ~mine if cross_validated and (~mine).any() else np.ones_like(mine)
        best = _group_means(values_JP, groups_P, others).argmax(axis=0)
        found[mine] = values_JP[best[mine], mine]
    return found


def _centred(values_JP: Array, means_JP: Array) -> Array:
    """What is left of each program's figure beside its group's mean and the problem's own."""
    left = values_JP - means_JP
    return np.asarray(left - left.mean(axis=0, keepdims=True))


def _once(part: DomainTable) -> list[int]:
    return [j for j, calls in enumerate(part.calls_J) if calls <= ONCE]


def _split_half(
    part: DomainTable,
    groups_P: npt.NDArray[np.intp],
    folds_P: npt.NDArray[np.intp],
    seen_J: Sequence[int],
) -> Array:
    """(P,) right on one half of the draws by the choice on the other half, less that of the group's
    program; the mean of both directions.

    Args:
        seen_J: programs whose draws the choice sees; of the others it knows the group's mean alone.
    """
    draws = part.right_JPD.shape[2]
    first = part.right_JPD[:, :, : draws // 2].mean(axis=2)
    second = part.right_JPD[:, :, draws // 2 :].mean(axis=2)
    overall = _tie_broken(part)
    gains = np.zeros(len(groups_P))
    for fold in np.unique(folds_P):
        mine = folds_P == fold
        others = ~mine if (~mine).any() else mine
        base = _group_means(overall, groups_P, others)
        best = base.argmax(axis=0)
        for seen, held in ((first, second), (second, first)):
            left, repeated = (_centred(half[seen_J], base[seen_J]) for half in (seen, held))
            square = float((left[:, others] ** 2).sum())
            weight = (
                float((left[:, others] * repeated[:, others]).sum()) / square if square else 0.0
            )
            expected = base.copy()
            expected[seen_J] += np.clip(weight, 0.0, 1.0) * left
            chosen = expected.argmax(axis=0)
            gains[mine] += (held[chosen[mine], mine] - held[best[mine], mine]) / 2
    return gains


def _routed(
    values_JP: Array,
    groups_P: npt.NDArray[np.intp],
    folds_P: npt.NDArray[np.intp],
    vectors_PE: Array | None,
) -> Array:
    """(P,) right by the program that the problem's text chooses, less that of the group's program."""
    assert vectors_PE is not None
    gains = np.zeros(values_JP.shape[1])
    for fold in np.unique(folds_P):
        mine = folds_P == fold
        others = ~mine
        if not others.any():
            continue
        base = _group_means(values_JP, groups_P, others)
        left_PJ = _centred(values_JP, base).T
        penalty = best_penalty(vectors_PE[others], left_PJ[others], folds_P[others])
        expected_JP = ridge(penalty, vectors_PE[others], left_PJ[others], vectors_PE[mine]).T
        chosen, best = (base[:, mine] + expected_JP).argmax(axis=0), base[:, mine].argmax(axis=0)
        columns = np.arange(int(mine.sum()))
        gains[mine] = values_JP[:, mine][chosen, columns] - values_JP[:, mine][best, columns]
    return gains
