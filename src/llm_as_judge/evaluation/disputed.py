"""Training problems that tell programs apart: of those that were evaluated on them some were right, others not.

Where every program of a group comes to the same verdict, the group teaches nothing about being right.
Filtering problems by how often they are solved before training is what others do offline (Kimi k1.5,
arXiv 2501.12599, section 2.1) or while sampling (DAPO, arXiv 2503.14476, section 3.2).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.contenders import Contender, read_contenders
from llm_as_judge.evaluation.metrics import is_graded
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.types import Problem


@dataclass(frozen=True, slots=True)
class SetCount:
    """Problems of one data set by what the evaluations say of them."""

    dataset: str
    all_right: int
    all_wrong: int
    disputed: int

    @property
    def problems(self) -> int:
        return self.all_right + self.all_wrong + self.disputed


@dataclass(frozen=True, slots=True)
class Disputed:
    """What :func:`find_disputed` found."""

    problems: tuple[Problem, ...]
    """Those solved sometimes, in the order of the first evaluation."""
    sets: tuple[SetCount, ...]
    right: Mapping[str, Mapping[str, float]]
    """By domain and contender the share of the disputed problems that it had right."""


def find_disputed(paths: Sequence[Path]) -> Disputed:
    """The problems that some of the rollouts of these evaluations solved and others not.

    A program for one domain alone has no say in the others; a problem that only one rollout was
    graded of is left out.

    Args:
        paths: results files or run folders of training rows; one is enough where it
            has several samples a problem.
    Raises:
        DataError: a file is not a whole evaluation, is of other than training rows or of known answers, or no
            problem was graded twice.
    """
    contenders = read_contenders(paths)
    records = [EvaluationRecord.read(path) for path in paths]
    for path, record in zip(paths, records, strict=True):
        if (split := record.config.evaluation.split) != "train":
            raise DataError(
                f"{path}: found {split} rows, which nothing is trained on; wanted those of "
                "evaluate --split train"
            )
    for contender in contenders:
        if contender.control:
            raise DataError(f"{contender.name}: a control, whose answers are known; leave it out")
    groups = [group for record in records for group in record.groups()]
    graded = Counter(g.problem.id for g in groups for r in g.rollouts if is_graded(r))
    rates = _solve_rates([id_ for id_, times in graded.items() if times > 1], contenders)
    if not rates:
        raise DataError(
            f"{', '.join(map(str, paths))}: no problem was graded twice; give several evaluations of "
            "the same rows, or one with --samples"
        )
    known = {group.problem.id: group.problem for group in groups}
    problems = tuple(known[id_] for id_, rate in rates.items() if 0 < rate < 1)
    return Disputed(problems, _counts(known, rates), _right_in(problems, contenders))


def _solve_rates(ids: Sequence[str], contenders: Sequence[Contender]) -> dict[str, float]:
    """Mean over the contenders that have the problem."""
    return {id_: fmean(c.correct[id_] for c in contenders if id_ in c.correct) for id_ in ids}


def _counts(known: Mapping[str, Problem], rates: Mapping[str, float]) -> tuple[SetCount, ...]:
    by_set: dict[str, list[float]] = defaultdict(list)
    for id_, rate in rates.items():
        by_set[known[id_].dataset].append(rate)
    return tuple(
        SetCount(name, found.count(1.0), found.count(0.0), sum(0 < rate < 1 for rate in found))
        for name, found in by_set.items()
    )


def _right_in(
    problems: Sequence[Problem], contenders: Sequence[Contender]
) -> dict[str, dict[str, float]]:
    """By domain, then contender."""
    domains = dict.fromkeys(problem.domain for problem in problems)
    return {
        domain: {
            c.name: fmean(graded)
            for c in contenders
            if (
                graded := [
                    c.correct[p.id] for p in problems if p.domain == domain and p.id in c.correct
                ]
            )
        }
        for domain in domains
    }
