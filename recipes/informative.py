"""Training problems that tell programs apart: some of the programs evaluated on them were right, others wrong.

    python recipes/informative.py results/evaluation/{cot,direct}_train_results.json --out data/mixed/train_informative.jsonl
    llm-as-judge train --set data.train_file=data/mixed/train_informative.jsonl

Where every program of a group comes to the same verdict, the group teaches nothing about being right.
Filtering problems by how often they are solved before training is what others do offline (Kimi k1.5,
arXiv 2501.12599, section 2.1) or while sampling (DAPO, arXiv 2503.14476, section 3.2).
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.evaluation.metrics import is_graded
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.evaluation.system_results import SystemResults, read_systems
from llm_as_judge.types import Problem
from recipe import run


@dataclass(frozen=True, slots=True)
class SetCount:
    """Problems of one data set by what the evaluations say of them."""

    dataset: str
    all_right: int
    all_wrong: int
    informative: int

    @property
    def problems(self) -> int:
        return self.all_right + self.all_wrong + self.informative


@dataclass(frozen=True, slots=True)
class Informative:
    """What :func:`find_informative` found."""

    problems: tuple[Problem, ...]
    """Those solved sometimes, in the order of the first evaluation."""
    sets: tuple[SetCount, ...]
    right: Mapping[str, Mapping[str, float]]
    """By domain and system the share of the informative problems that it had right."""


def find_informative(paths: Sequence[Path]) -> Informative:
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
    systems = read_systems(paths)
    records = [EvaluationRecord.read(path) for path in paths]
    for path, record in zip(paths, records, strict=True):
        if (split := record.config.evaluation.split) != "train":
            raise DataError(
                f"{path}: found {split} rows, which nothing is trained on; wanted those of "
                "evaluate --split train"
            )
    for system in systems:
        if system.sanity_baseline:
            raise DataError(
                f"{system.name}: a sanity baseline, whose answers are known; leave it out"
            )
    groups = [group for record in records for group in record.groups()]
    graded = Counter(g.problem.id for g in groups for r in g.rollouts if is_graded(r))
    rates = _solve_rates([id_ for id_, times in graded.items() if times > 1], systems)
    if not rates:
        raise DataError(
            f"{', '.join(map(str, paths))}: no problem was graded twice; give several evaluations of "
            "the same rows, or one with --samples"
        )
    known = {group.problem.id: group.problem for group in groups}
    problems = tuple(known[id_] for id_, rate in rates.items() if 0 < rate < 1)
    return Informative(problems, _counts(known, rates), _right_in(problems, systems))


def _solve_rates(ids: Sequence[str], systems: Sequence[SystemResults]) -> dict[str, float]:
    """Mean over the systems that have the problem."""
    return {id_: fmean(c.correct[id_] for c in systems if id_ in c.correct) for id_ in ids}


def _counts(known: Mapping[str, Problem], rates: Mapping[str, float]) -> tuple[SetCount, ...]:
    by_set: dict[str, list[float]] = defaultdict(list)
    for id_, rate in rates.items():
        by_set[known[id_].dataset].append(rate)
    return tuple(
        SetCount(name, found.count(1.0), found.count(0.0), sum(0 < rate < 1 for rate in found))
        for name, found in by_set.items()
    )


def _right_in(
    problems: Sequence[Problem], systems: Sequence[SystemResults]
) -> dict[str, dict[str, float]]:
    """By domain, then system."""
    domains = dict.fromkeys(problem.domain for problem in problems)
    return {
        domain: {
            c.name: fmean(graded)
            for c in systems
            if (
                graded := [
                    c.correct[p.id] for p in problems if p.domain == domain and p.id in c.correct
                ]
            )
        }
        for domain in domains
    }


def write(found: Informative, out: Path) -> int:
    """The problems as a training file; how many.

    Raises:
        DataError: there are none.
        OutputError: ``out`` is there, or cannot be written.
    """
    if out.exists():
        raise OutputError(f"{out}: is there already; remove it, or give another --out")
    if not found.problems:
        raise DataError(
            f"all {sum(s.problems for s in found.sets)} problems were solved by all or by none: "
            f"no {out} was written; evaluate on more rows (--limit), or with other programs"
        )
    return write_problems(out, found.problems)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "results", type=Path, nargs="+", help="of evaluate --split train on the same rows"
    )
    parser.add_argument("--out", type=Path, default=Path("data/mixed/train_informative.jsonl"))
    arguments = parser.parse_args()
    found = find_informative(arguments.results)
    rows = write(found, arguments.out)
    print(f"{'data set':14}  problems  all right  all wrong  informative")
    for row in found.sets:
        counts = f"{row.problems:8}  {row.all_right:9}  {row.all_wrong:9}  {row.informative:11}"
        print(f"{row.dataset:14}  {counts}")
    for domain, right in found.right.items():
        shares = ", ".join(f"{name} {share:.0%}" for name, share in right.items())
        print(f"{domain:5} right of the informative: {shares}")
    print(f"{rows} problems  {arguments.out}")


if __name__ == "__main__":
    run(main)
