"""Votes and agreement among the runs of a problem, from kept figures: hashes of answers and verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


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
