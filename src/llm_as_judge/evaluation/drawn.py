"""What each draw of each way came to, kept in the pool beside the replies that it was made of.

The rows stand under a digest of all that decides them (:func:`conditions_digest`): after another
grader, prompt or program they are made again, from replies that are there.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from llm_as_judge.config import Config
from llm_as_judge.evaluation.results import content_digest
from llm_as_judge.evaluation.search.cells import conditions
from llm_as_judge.evaluation.votes import vote
from llm_as_judge.grading.answer_hash import AnswerHashes
from llm_as_judge.llm.pool import Pool
from llm_as_judge.types import Domain, Problem, Rollout, from_json, to_json

__all__ = ["Drawn", "DrawnTable", "WayFigures", "conditions_digest", "is_disputed", "way_figures"]

ALL_WAYS = "all ways"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One run of one way on one problem."""

    problem: str
    """Its id."""
    content: str
    """Digest of what was asked and of its golds."""
    dataset: str
    domain: Domain
    way: str
    draw: int
    correct: bool | None
    """None: not graded."""
    calls: int
    tokens: int
    cost: float
    """In written tokens."""
    answer: str
    """Hash of the answer, see ``grading/answer_hash.py``; empty: none was given."""


def conditions_digest(config: Config) -> str:
    """Of executor, judge, limits and code: what decides a row beside problem, way and draw.

    Raises:
        ConfigError: there is no such judge.
    """
    return hashlib.sha256(json.dumps(conditions(config), sort_keys=True).encode()).hexdigest()[:16]


class DrawnTable:
    """The rows of a pool under one configuration."""

    def __init__(self, pool: Pool, config: Config) -> None:
        self._pool = pool
        self._topic = f"drawn {conditions_digest(config)}"
        self._hashes = AnswerHashes(config.output.cache_dir())
        self._rows = {name: from_json(Drawn, row) for name, row in pool.notes(self._topic)}

    @property
    def rows(self) -> list[Drawn]:
        return list(self._rows.values())

    def row(self, problem: Problem, way: str, draw: int) -> Drawn | None:
        """None: it is not there yet, or was of another problem of this id."""
        return self._rows.get(_name(problem.id, content_digest(problem), way, draw))

    def of_problem(self, problem: Problem, ways: Iterable[str], draws: int) -> list[Drawn]:
        """What is there of the first ``draws`` of these ways."""
        wanted = (self.row(problem, way, draw) for way in ways for draw in range(draws))
        return [row for row in wanted if row is not None]

    def keep(self, problem: Problem, way: str, draw: int, rollout: Rollout) -> Drawn:
        """The row of a rollout that has a verdict.

        Raises:
            OutputError: the pool cannot be written.
        """
        execution, verdict = rollout.execution, rollout.verdict
        assert execution is not None
        assert verdict is not None
        answered = execution.status == "ok"
        row = Drawn(
            problem.id,
            content_digest(problem),
            problem.dataset,
            problem.domain,
            way,
            draw,
            verdict.correct,
            execution.llm_calls,
            execution.tokens,
            execution.cost,
            self._hashes.of(problem, execution.answer) if answered else "",
        )
        name = _name(row.problem, row.content, way, draw)
        self._pool.note(self._topic, name, to_json(row))
        self._rows[name] = row
        return row


def _name(*parts: str | int) -> str:
    return "\t".join(map(str, parts))


def is_disputed(rows: Iterable[Drawn]) -> bool:
    """Whether some graded runs are right and some wrong."""
    return {True, False} <= {row.correct for row in rows}


@dataclass(frozen=True, slots=True)
class WayFigures:
    """One way on one data set."""

    dataset: str
    way: str
    problems: int
    draws: int
    """In all."""
    right: float | None
    """Mean over problems of the share of right draws; None: none was graded."""
    vote: float | None
    """Share of problems whose most given answer is right."""
    mixed: float | None
    """Share of problems whose draws do not share a verdict."""
    cost: float
    """Mean of a draw, in written tokens."""


def way_figures(rows: Iterable[Drawn]) -> list[WayFigures]:
    """By set and way, and of all ways of a set together."""
    parts: dict[tuple[str, str], list[Drawn]] = defaultdict(list)
    for row in rows:
        parts[row.dataset, row.way].append(row)
        parts[row.dataset, ALL_WAYS].append(row)
    order = sorted(parts, key=lambda part: (part[0], part[1] == ALL_WAYS, part[1]))
    return [_figures(dataset, way, parts[dataset, way]) for dataset, way in order]


def _figures(dataset: str, way: str, rows: Sequence[Drawn]) -> WayFigures:
    by_problem = problems_of(rows).values()
    shares, votes = [], []
    for drawn in by_problem:
        graded = [row.correct for row in drawn if row.correct is not None]
        if graded:
            shares.append(fmean(graded))
        won = vote([row.answer for row in drawn], [row.correct for row in drawn])
        if won is not None:
            votes.append(float(won))
    return WayFigures(
        dataset,
        way,
        len(by_problem),
        len(rows),
        _mean(shares),
        _mean(votes),
        _mean([float(is_disputed(drawn)) for drawn in by_problem]),
        fmean(row.cost for row in rows),
    )


def problems_of(rows: Iterable[Drawn]) -> Mapping[tuple[str, str], list[Drawn]]:
    """By (id, content) the rows of each problem."""
    found: dict[tuple[str, str], list[Drawn]] = defaultdict(list)
    for row in rows:
        found[row.problem, row.content].append(row)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
