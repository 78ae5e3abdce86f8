"""The learned stop: after each draw, whether one more is worth its price.

A table holds, for each domain, price and number of draws made, the coefficients of a ridge regression:
the mean gain of one more draw (and of stopping well after it), from what is seen of the draws. They
are learned backwards from the last draw; see :mod:`llm_as_judge.evaluation.stop_learning`.

Source: Longstaff and Schwartz, Review of Financial Studies 14 (2001), least-squares Monte Carlo.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llm_as_judge.errors import DataError
from llm_as_judge.files import read_json
from llm_as_judge.types import Domain, from_json, to_json

FEATURES = (
    "leader",
    "second",
    "lead",
    "distinct",
    "empty",
    "all_equal",
    "spent",
    "spent_squared",
    "question",
    "passed",
)
"""What a regression sees, beside the data sets that it was learned on."""
FORMAT = 1
_LARGEST = 1e100
"""Of a coefficient: sums of products with what is seen of the draws stay finite."""


@dataclass(frozen=True, slots=True)
class StopState:
    """The draws so far, without their order: equal draws may come in any."""

    votes: tuple[int, ...]
    """Of each class of equal answers, the greatest first."""
    empty: int
    """Draws without an answer."""
    spent: float
    """Cost of the run so far, in written tokens."""
    question_characters: int
    dataset: str
    passed: bool = False
    """Code: the leader passes the visible tests."""

    @property
    def drawn(self) -> int:
        return sum(self.votes) + self.empty

    def features(self) -> tuple[float, ...]:
        """See :data:`FEATURES`; each is finite and of about the size of 1."""
        drawn = max(self.drawn, 1)
        leader = self.votes[0] if self.votes else 0
        second = self.votes[1] if len(self.votes) > 1 else 0
        spent = math.log1p(max(self.spent, 0.0)) / 8 if math.isfinite(self.spent) else 2.0
        return (
            leader / drawn,
            second / drawn,
            (leader - second) / 4,
            len(self.votes) / drawn,
            self.empty / drawn,
            float(leader == drawn),
            spent,
            spent * spent,
            math.log1p(self.question_characters) / 8,
            float(self.passed),
        )


@dataclass(frozen=True, slots=True)
class StopRule:
    """Of one domain at one price: a regression for each number of draws made."""

    weights_DF: tuple[tuple[float, ...], ...]
    """(draws, 1 + features + data sets); row 0 after the first draw; the first column is constant."""
    datasets: tuple[str, ...]

    def gain(self, state: StopState) -> float:
        """What going on is worth more than to stop: a share of right answers, less the price.

        Beyond the table's last draw nothing is known, and it is below 0.
        """
        if not 1 <= state.drawn <= len(self.weights_DF):
            return -math.inf if state.drawn else math.inf
        known = [float(state.dataset == name) for name in self.datasets]
        row = self.weights_DF[state.drawn - 1]
        return math.fsum(w * x for w, x in zip(row, (1.0, *state.features(), *known), strict=True))


@dataclass(frozen=True, slots=True)
class StopTable:
    """All that was learned, as it is stored."""

    bound: Mapping[str, str]
    """By what it came about, as JSON by its name in a bank's conditions: executor, weights, sampling, version of the rules."""
    ways: Mapping[Domain, tuple[str, ...]]
    """Domain -> names of the single calls, in the order that they were drawn in, turn by turn."""
    problems: Mapping[Domain, int]
    """Number of them that each domain was learned from."""
    rules: Mapping[Domain, Mapping[str, StopRule]] = field(default_factory=dict)
    """Domain -> price of 1,000 written tokens, as text -> rule."""

    def rule(self, domain: Domain, price: float) -> StopRule | None:
        """The rule of the nearest price, by ratio; None: nothing was learned for this domain."""
        rules = self.rules.get(domain)
        if not rules:
            return None
        return rules[min(rules, key=lambda each: abs(math.log(float(each) / price)))]

    def dump(self) -> str:
        return json.dumps({"format": FORMAT, **to_json(self)}, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> StopTable:
        """What :meth:`dump` wrote.

        Raises:
            DataError: it cannot be read, is no table of this format, or holds a price or a coefficient
                that is no finite number, or a row of another length.
        """
        remedy = "make it anew: llm-as-judge stop learn"
        try:
            found = read_json(path)
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: no stop table: {error}; {remedy}") from None
        if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
            raise DataError(f"{path}: no stop table of format {FORMAT}; {remedy}")
        try:
            table: StopTable = from_json(cls, found)
        except (TypeError, ValueError) as error:
            raise DataError(f"{path}: {error}; {remedy}") from None
        table._check(str(path), remedy)
        return table

    def _check(self, where: str, remedy: str) -> None:
        for domain, rules in self.rules.items():
            for price, rule in rules.items():
                wide = 1 + len(FEATURES) + len(rule.datasets)
                numbers = [w for row in rule.weights_DF for w in row]
                if not _positive(price) or not all(abs(w) < _LARGEST for w in numbers):
                    raise DataError(
                        f"{where}: rules.{domain}.{price}: not all numbers are finite and below "
                        f"{_LARGEST:g}; {remedy}"
                    )
                if any(len(row) != wide for row in rule.weights_DF):
                    raise DataError(
                        f"{where}: rules.{domain}.{price}: rows of {wide} were wanted; {remedy}"
                    )


def _positive(price: str) -> bool:
    try:
        return 0 < float(price) < math.inf
    except ValueError:
        return False


def votes(classes: Sequence[int | None]) -> tuple[int, ...]:
    """Sizes of the classes, the greatest first; None is no vote."""
    counts = Counter(each for each in classes if each is not None)
    return tuple(sorted(counts.values(), reverse=True))


def mean_by_source(known: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Mean likelihood of the replies of each source: an operator of an executor, whose likelihoods alone
    can be compared (code is likelier than prose)."""
    by_source: dict[str, list[float]] = {}
    for source, likelihood in known:
        by_source.setdefault(source, []).append(likelihood)
    return {source: math.fsum(values) / len(values) for source, values in by_source.items()}


def winner(classes: Sequence[tuple[int, Mapping[str, float]]]) -> int:
    """Index of the class of equal answers that a vote decides for: the one with the most votes, of several
    the one whose replies are likeliest; where they have no source in common, the first.

    Args:
        classes: of each the votes, and the mean likelihood of its replies by source.
    """
    most = max(number for number, _ in classes)
    leaders = [i for i, (number, _) in enumerate(classes) if number == most]
    common = set.intersection(*(set(classes[i][1]) for i in leaders))
    # max gives the first of equals
    return max(leaders, key=lambda i: math.fsum(classes[i][1][source] for source in common))
