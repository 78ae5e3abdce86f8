"""Figures of a bank's problems: how often the draws of a way disagree, and which problems tell
programs apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from llm_as_judge.accuracy import Right, accuracy, right_of
from llm_as_judge.evaluation.results import content_digest
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank
from llm_as_judge.types import Problem

ALL_WAYS = "all ways"


def is_disputed(cells: Iterable[RunRecord]) -> bool:
    """Whether some graded runs are right and some wrong."""
    right = [cell.right for cell in cells if cell.right is not None]
    return bool(right) and 0 < fmean(right) < 1


@dataclass(frozen=True, slots=True)
class WayFigures:
    """One way on one data set."""

    dataset: str
    way: str
    problems: int
    draws: int
    """In all."""
    right: float
    """Mean over problems of the share of right draws, open ones not right."""
    right_if_open_right: float
    """The same, were all open ones right."""
    open: int
    """Draws that were left open."""
    vote: float | None
    """Share of problems whose most given answer is right."""
    mixed: float | None
    """Share of problems whose draws do not share a verdict."""
    solved: float | None
    """Share of problems that some draw solves: what choosing among these draws could reach."""
    misled: float | None
    """Share of problems on which two draws agree on a wrong answer: what agreement cannot tell."""
    cost: float
    """Mean of a draw, in written tokens."""


def way_figures(bank: Bank, ways: Collection[str]) -> list[WayFigures]:
    """By set and way, and of all ways of a set together.

    Args:
        ways: keys of programs.
    """
    parts: dict[tuple[str, str], list[RunRecord]] = defaultdict(list)
    for cell in bank.runs.values():
        if cell.program in ways:
            dataset = bank.problems[cell.problem].dataset
            parts[dataset, bank.programs[cell.program].name].append(cell)
            parts[dataset, ALL_WAYS].append(cell)
    order = sorted(parts, key=lambda part: (part[0], part[1] == ALL_WAYS, part[1]))
    return [_figures(dataset, way, parts[dataset, way]) for dataset, way in order]


def _figures(dataset: str, way: str, cells: Sequence[RunRecord]) -> WayFigures:
    by_problem: dict[str, list[RunRecord]] = defaultdict(list)
    for cell in sorted(cells, key=lambda cell: cell.draw):
        by_problem[cell.problem].append(cell)
    votes = []
    for drawn in by_problem.values():
        right = [cell.right for cell in drawn]
        verdicts = [None if share is None else share >= 1 for share in right]
        won = vote([cell.answer for cell in drawn], verdicts)
        if won is not None:
            votes.append(float(won))
    share = accuracy([one for one in map(_right, by_problem.values()) if one is not None])
    assert share is not None, "a way has cells"
    return WayFigures(
        dataset,
        way,
        len(by_problem),
        len(cells),
        share.value,
        share.most,
        sum(cell.right is None for cell in cells),
        _mean(votes),
        _mean([float(is_disputed(drawn)) for drawn in by_problem.values()]),
        _mean([float(any(cell.right for cell in drawn)) for drawn in by_problem.values()]),
        _mean([float(_agree_wrongly(drawn)) for drawn in by_problem.values()]),
        fmean(cell.cost for cell in cells),
    )


def _right(drawn: Sequence[RunRecord]) -> Right | None:
    return right_of(cell.right for cell in drawn)


def _agree_wrongly(drawn: Sequence[RunRecord]) -> bool:
    wrong = Counter(cell.answer for cell in drawn if cell.right == 0 and cell.answer)
    return max(wrong.values(), default=0) > 1


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


# -------------------------------------------------------------------------------------------- prune
@dataclass(frozen=True, slots=True)
class Pruned:
    """Which problems are left to train on."""

    disputed: tuple[Problem, ...]
    right: int
    """Problems left out: every run was right."""
    wrong: int
    """Problems left out: every run was wrong."""
    not_graded: int
    """Problems left out: no run could be graded."""
    unknown: int
    """Problems left out: the bank was not filled with them."""


def prune(problems: Sequence[Problem], bank: Bank) -> Pruned:
    """The problems whose runs in the bank do not share a verdict, in their order; nothing is changed."""
    means, ran = bank.means(least=1), {problem for _, problem, _ in bank.runs}
    disputed: list[Problem] = []
    counts = {"right": 0, "wrong": 0, "not_graded": 0, "unknown": 0}
    for problem in problems:
        known, mean = bank.problems.get(problem.id), means.get(problem.id)
        if known is None or content_digest(known) != content_digest(problem):
            counts["unknown"] += 1
        elif mean is None:
            counts["not_graded" if problem.id in ran else "unknown"] += 1
        elif 0 < mean < 1:
            disputed.append(problem)
        else:
            counts["right" if mean else "wrong"] += 1
    return Pruned(tuple(disputed), **counts)


def agreement(answers: Sequence[str]) -> float | None:
    """Share of the runs that gave the answer most given, 0..1; None where none gave any.

    Args:
        answers: hash of each run's answer; empty: it gave none, and agrees with nobody.
    """
    counts = Counter(filter(None, answers))
    return max(counts.values()) / len(answers) if counts else None


def vote(answers: Sequence[str], correct: Sequence[bool | None]) -> bool | None:
    """Verdict of the answer most given, among equals of the first; None: it was not graded. Runs
    without an answer do not vote; of nothing else the vote is wrong.

    Args:
        answers: as in :func:`agreement`.
        correct: verdict of each run. Equal answers can differ in it where a judge model graded: the
            first that is graded counts.
    """
    counts = Counter(filter(None, answers))
    if not counts:
        return False if False in correct else None
    winner, _ = counts.most_common(1)[0]
    verdicts = (c for answer, c in zip(answers, correct, strict=True) if answer == winner)
    return next((verdict for verdict in verdicts if verdict is not None), None)
