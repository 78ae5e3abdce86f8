"""Report pages of evaluations: the verdict over all rows, and the problems that one of two won or lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from llm_as_judge.accuracy import right_of, runs_of
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.before_after import pair_of, verdict
from llm_as_judge.evaluation.layout import read_results
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.types import Group
from llm_as_judge.views.report import Change, Changes, Side, Sources


def page_of(
    results: Mapping[str, Path],
    run_dir: Path | None = None,
    *,
    pair: tuple[str, str] | None = None,
) -> Sources:
    """What a page of these results shows.

    Args:
        results: files by their heading.
        pair: headings of the two that verdict and changes are of; None: as ``pair_of`` finds them.
    Raises:
        DataError: a file is no results file.
    """
    read = {name: read_results(path) for name, path in results.items()}
    found = (pair, pair) if pair else pair_of(results)
    if found is None:
        return Sources(run_dir, read)
    (first, second), names = found
    said = verdict(results[first], results[second], names)
    return Sources(run_dir, read, said, changes(results[first], results[second], names))


def changes(before: Path, after: Path, names: tuple[str, str]) -> Changes | None:
    """Problems whose share of right runs differs; None where the rollouts are not kept.

    Args:
        names: of the two evaluations.
    """
    try:
        groups = [EvaluationRecord.read(path).groups() for path in (before, after)]
    except DataError:  # figures alone, as they are shipped: the verdict needs no more
        return None
    first, second = ({group.problem.id: group for group in found} for found in groups)
    won, lost = list[Change](), list[Change]()
    for id_, old in first.items():
        rights = _right(old), _right(second[id_]) if id_ in second else None
        if None not in rights and rights[0] != rights[1]:
            found = _change(old, second[id_])
            (lost if (rights[0] or 0.0) > (rights[1] or 0.0) else won).append(found)
    return Changes(names, _by_turns(won), _by_turns(lost))


def _by_turns(found: Sequence[Change]) -> tuple[Change, ...]:
    """The first of each data set, then the second: who reads the first few has seen every kind."""
    seen = Counter[str]()
    turns = []
    for one in found:
        turns.append((seen[one.dataset], one))
        seen[one.dataset] += 1
    return tuple(one for _, one in sorted(turns, key=lambda turn: turn[0]))


def _right(group: Group) -> float | None:
    found = right_of(run for one in group.rollouts for run in runs_of(one.verdict))
    return None if found is None else found.right


def _change(before: Group, after: Group) -> Change:
    problem = before.problem
    wanted = problem.answers[0] if problem.answers else ""
    return Change(problem.dataset, problem.question, wanted, (_side(before), _side(after)))


def _side(group: Group) -> Side:
    first = group.rollouts[0]
    answer = first.execution.answer if first.execution is not None else ""
    return Side(answer, first.program.source)
