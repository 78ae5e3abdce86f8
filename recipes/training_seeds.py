"""Several seeds of one training against another result: the mean of the seeds, and each seed.

    python recipes/training_seeds.py SEED_0 SEED_1 SEED_2 --against cot_results.json vote_of_5_results.json

Each is a results file or the folder of an evaluation. On each problem the seeds are averaged, so a difference is one
of problems, not of seeds. Differences are paired, with the tests of `compare`. Holm's correction is over the results
of `--against`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.cli.tables import show_table
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.compare import Comparison, compare
from llm_as_judge.evaluation.statistics import holm
from llm_as_judge.evaluation.system_results import SystemResults, read_systems, trainings_as_one
from recipe import run

ALL = "all"


@dataclass(frozen=True, slots=True)
class Row:
    """The seeds against one result, on one domain or on all."""

    of: str
    mean: Comparison
    p_holm: float
    """Over the results that they are compared with."""
    seeds: tuple[float, ...]
    """Difference of each seed, a share."""


def rows(seeds: Sequence[Path], against: Sequence[Path]) -> list[Row]:
    """For each of ``against`` all problems, then each domain.

    Raises:
        DataError: the seeds are not evaluated alike, a file is missing, or no problem is graded in both.
    """
    mean = trainings_as_one("mean of the seeds", seeds)
    each = [read_systems([path])[0] for path in seeds]
    references = [read_systems([path])[0] for path in against]
    found: list[Row] = []
    for of in (ALL, *sorted(set(mean.domains.values()))):
        domain = None if of == ALL else of
        pairs = [_pair(mean, reference, domain) for reference in references]
        adjusted = holm([pair.p for pair in pairs])
        found += [
            Row(of, pair, p, tuple(_pair(one, reference, domain).difference for one in each))
            for pair, p, reference in zip(pairs, adjusted, references, strict=True)
        ]
    return sorted(found, key=lambda row: [one.name for one in references].index(row.mean.reference))


def _pair(system: SystemResults, reference: SystemResults, domain: str | None) -> Comparison:
    found = compare([system], reference, domain)
    if not found:
        raise DataError(
            f"{system.name} and {reference.name}: no problem of {domain} that both have graded; "
            "evaluate both on the same rows"
        )
    return found[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("seeds", nargs="+", type=Path, help="an evaluation of each seed")
    parser.add_argument("--against", nargs="+", type=Path, required=True, help="other results")
    parser.add_argument("--markdown", action="store_true", help="a table for a document")
    options = parser.parse_args()
    table = [
        [
            row.mean.reference,
            row.of,
            str(row.mean.problems),
            f"{100 * row.mean.difference:+.1f} [{100 * row.mean.low:+.1f}, {100 * row.mean.high:+.1f}]",
            _p(row.mean.p),
            _p(row.p_holm),
            "-" if row.mean.cost_ratio is None else f"x {row.mean.cost_ratio:.2f}",
            ", ".join(f"{100 * value:+.1f}" for value in row.seeds),
        ]
        for row in rows(options.seeds, options.against)
    ]
    head = ["against", "of", "problems", "mean of the seeds, points", "p", "p (Holm)", "cost"]
    show_table("Seeds of one training", [*head, "each seed"], table, options.markdown)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


if __name__ == "__main__":
    run(main)
