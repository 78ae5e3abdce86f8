"""Several seeds of one training against other results: the mean of the seeds, and each seed.

    python recipes/training_seeds.py SEED_0 SEED_1 SEED_2 --against cot_results.json vote_of_5_results.json
    python recipes/training_seeds.py SEED_0 SEED_1 SEED_2 --before START_0 START_1 START_2

Each is a results file or the folder of an evaluation. On each problem the seeds are averaged, and so are those of
`--before`: a difference is one of problems, not of seeds. Differences are paired, with the tests of `compare`. Holm's
correction is over all that the seeds are compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.compare import Comparison, compare
from llm_as_judge.evaluation.system_results import SystemResults, read_systems, read_trainings
from llm_as_judge.statistics import holm
from llm_as_judge.views.tables import show_table
from recipe import parser_of, run

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


def rows(seeds: Sequence[Path], against: Sequence[Path], before: Sequence[Path] = ()) -> list[Row]:
    """For each result all problems, then each domain.

    Args:
        before: an evaluation of each seed before the training, in the order of ``seeds``.
    Raises:
        DataError: the seeds are not evaluated alike, ``before`` has another number, a file is missing, or
            no problem is graded in both.
    """
    mean, each = read_trainings("mean of the seeds", seeds)
    others = [
        _Other(found, [found] * len(each)) for path in against for found in read_systems([path])
    ]
    if before:
        if len(before) != len(seeds):
            raise DataError(
                f"--before: {len(before)} evaluations; wanted {len(seeds)}, one for each seed"
            )
        others.insert(0, _Other(*read_trainings("before", before)))
    if not others:
        raise DataError("nothing to compare with; give --against or --before")
    found: dict[str, list[Row]] = {other.mean.name: [] for other in others}
    for of in (ALL, *sorted(set(mean.domains.values()))):
        domain = None if of == ALL else of
        pairs = [_pair(mean, other.mean, domain) for other in others]
        adjusted = holm([pair.p for pair in pairs])
        for pair, p, other in zip(pairs, adjusted, others, strict=True):
            of_seeds = [
                _pair(one, start, domain).difference
                for one, start in zip(each, other.each, strict=True)
            ]
            found[other.mean.name].append(Row(of, pair, p, tuple(of_seeds)))
    return [row for several in found.values() for row in several]


@dataclass(frozen=True, slots=True)
class _Other:
    mean: SystemResults
    each: Sequence[SystemResults]
    """What each seed is compared with."""


def _pair(system: SystemResults, reference: SystemResults, domain: str | None) -> Comparison:
    found = compare([system], reference, domain)
    if not found:
        raise DataError(
            f"{system.name} and {reference.name}: no problem of {domain} that both have graded; "
            "evaluate both on the same rows"
        )
    return found[0]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("seeds", nargs="+", type=Path, help="an evaluation of each seed")
    parser.add_argument("--against", nargs="+", type=Path, default=[], help="other results")
    parser.add_argument(
        "--before", nargs="+", type=Path, default=[], help="of each seed before this training"
    )
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
            _ratio(row.mean.token_ratio),
            _ratio(row.mean.cost_ratio),
            ", ".join(f"{100 * value:+.1f}" for value in row.seeds),
        ]
        for row in rows(options.seeds, options.against, options.before)
    ]
    head = ["against", "of", "problems", "mean of the seeds, points", "p", "p (Holm)"]
    head += ["executor tokens", "cost", "each seed"]
    show_table("Seeds of one training", head, table, options.markdown)


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"x {value:.2f}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


if __name__ == "__main__":
    run(main)
