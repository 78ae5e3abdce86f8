"""Shares, exactly: the stratum that the next row comes from, so that every prefix of a mix is balanced; and
the endless sampler of training.

Pure. ``schedule`` is the chairman assignment: after any number of steps each stratum has had
its share to within less than one row. Source: R. Tijdeman, "The chairman assignment problem",
Discrete Mathematics 32 (1980).
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from llm_as_judge.errors import DataError
from llm_as_judge.types import Domain, Json

Stratum = TypeVar("Stratum", bound=str)

DOMAIN_SHARES: dict[Domain, int] = {"math": 4, "qa": 3, "code": 3}


def named_rng(seed: int, *names: object) -> random.Random:
    """A generator of its own for one purpose: what others draw never changes what it draws."""
    key = "/".join(str(part) for part in (seed, *names))
    return random.Random(int.from_bytes(hashlib.sha256(key.encode()).digest()[:16], "big"))


def schedule(shares: Mapping[Stratum, int]) -> Iterator[Stratum]:
    """Endless sequence of strata; every prefix of n rows has n * share rows of each, within < 1.

    Args:
        shares: whole-number weights, at least one above 0; strata of weight 0 never come.
    Raises:
        ValueError: no positive weight, or a negative one.
    """
    weights = {name: weight for name, weight in shares.items() if weight}
    if not weights or min(weights.values()) < 0:
        raise ValueError(f"shares must be whole numbers >= 0 and not all 0: {dict(shares)}")
    if len(weights) == 1:
        while True:
            yield next(iter(weights))
    # In whole numbers, scaled by 2(k-1) * total: a stratum may come once it is owed 1/(2(k-1)) of
    # a row, and of those the one whose next row is due first does.
    total, k2 = sum(weights.values()), 2 * (len(weights) - 1)
    inverse = {name: math.lcm(*weights.values()) // weight for name, weight in weights.items()}
    owed = dict.fromkeys(weights, 0)
    while True:
        for name, weight in weights.items():
            owed[name] += weight * k2
        ready = [name for name in weights if owed[name] >= total]
        chosen = min(ready, key=lambda n: (total * (k2 - 1) - owed[n]) * inverse[n])
        owed[chosen] -= total * k2
        yield chosen


class Draws:
    """Rows of one set in a random order; every row once before any comes again.

    The generator is named by the seed, the set and the round, so that a position can be reached
    without replaying what came before it.
    """

    def __init__(self, rows: Sequence[int], seed: int, name: str) -> None:
        if not rows:
            raise ValueError(f"{name}: no rows to draw from")
        self._rows, self._seed, self._name = rows, seed, name
        self._round, self._order = -1, list[int]()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: int) -> int:
        """The row at ``position`` (0, 1, ...) of the endless sequence."""
        turn, offset = divmod(position, len(self._rows))
        if turn != self._round:
            self._order = list(self._rows)
            named_rng(self._seed, self._name, "round", turn).shuffle(self._order)
            self._round = turn
        return self._order[offset]


def _two_levels(domains: Mapping[str, Domain]) -> Iterator[tuple[Domain, str]]:
    """Endless (domain, set): domains by their shares, the sets of a domain in equal parts."""
    members: dict[Domain, list[str]] = {}
    for name, domain in domains.items():
        members.setdefault(domain, []).append(name)
    inner = {d: schedule(dict.fromkeys(names, 1)) for d, names in members.items()}
    for domain in schedule({d: DOMAIN_SHARES[d] for d in members}):
        yield domain, next(inner[domain])


def resampled(
    rows: Mapping[str, Draws], domains: Mapping[str, Domain], size: int | None
) -> Iterator[tuple[str, int]]:
    """(set, row) of a training mix of ``size`` rows (None: endless): small sets come again, in a
    new order each round.

    Every prefix keeps the shares of the domains and equal parts of the sets inside a domain; every
    row of a set is used before any of its rows repeats.
    """
    used = dict.fromkeys(rows, 0)
    choices = _two_levels({name: domains[name] for name in rows})
    for _, name in choices if size is None else islice(choices, size):
        yield name, rows[name][used[name]]
        used[name] += 1


def prefix_until_used_up(
    rows: Mapping[str, Draws], domains: Mapping[str, Domain]
) -> Iterator[tuple[str, int]]:
    """(set, row) of a validation or test mix: no row twice, every prefix keeps the domains' shares.

    It ends when a domain has no row left. Inside a domain the sets come in equal parts as long as
    they last; then the larger set goes on alone.
    """
    used = dict.fromkeys(rows, 0)
    for domain, name in _two_levels({name: domains[name] for name in rows}):
        left = [n for n in rows if domains[n] == domain and used[n] < len(rows[n])]
        if not left:
            return
        chosen = name if name in left else max(left, key=lambda n: len(rows[n]) - used[n])
        yield chosen, rows[chosen][used[chosen]]
        used[chosen] += 1


class StratifiedSampler:
    """Batches of row numbers that keep the shares of the domains over time.

    A batch of 4 cannot hold 4:3:3 exactly; what one batch lacks the next one carries, so that
    after any number of draws each domain has had its share to within one row, and the sets inside
    a domain equal parts. Every problem of a set comes once before any comes again; rows of one
    problem that a mixed file holds several times count once.

    Args:
        ids, datasets, domains: of each row of the file, as :class:`ProblemFile` lists them.
        batch_size: problems a batch.
        seed: decides the order.
    Raises:
        DataError: no rows.
        ValueError: ``batch_size`` < 1.
    """

    def __init__(
        self,
        ids: Sequence[str],
        datasets: Sequence[str],
        domains: Sequence[str],
        batch_size: int,
        seed: int,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}, wanted at least 1")
        if not ids:
            raise DataError("no problems to sample from. Run: llm-as-judge data process")
        self.batch_size, self.seed = batch_size, seed
        rows: dict[str, dict[str, int]] = {}
        self._domains: dict[str, Domain] = {}
        known: dict[str, Domain] = {domain: domain for domain in DOMAIN_SHARES}
        for row, (problem, dataset, domain) in enumerate(zip(ids, datasets, domains, strict=True)):
            rows.setdefault(dataset, {}).setdefault(problem, row)
            self._domains[dataset] = known[domain]
        self._rows = {dataset: tuple(members.values()) for dataset, members in rows.items()}
        self._fingerprint = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        self._start()

    def _start(self) -> None:
        draws = {
            dataset: Draws(rows, self.seed, f"train/{dataset}")
            for dataset, rows in self._rows.items()
        }
        self._drawn = 0
        self._sequence = resampled(draws, self._domains, None)

    @property
    def problems(self) -> int:
        """Different problems that can be drawn."""
        return sum(map(len, self._rows.values()))

    def next_batch(self) -> list[int]:
        """Row numbers of the next ``batch_size`` problems."""
        self._drawn += self.batch_size
        return [next(self._sequence)[1] for _ in range(self.batch_size)]

    def state_dict(self) -> dict[str, Json]:
        """What a checkpoint keeps; JSON."""
        found: dict[str, Json] = {"seed": self.seed, "name": "train"}
        return {**found, "drawn": self._drawn, "rows": self._fingerprint}

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        """Go on where ``state`` was taken.

        Raises:
            DataError: it belongs to other rows, another seed.
        """
        mine = self.state_dict()
        for key in ("seed", "name", "rows"):
            if state.get(key) != mine[key]:
                raise DataError(
                    f"sampler state: {key!r} is {state.get(key)!r}, this run has {mine[key]!r}. "
                    "Resume with the same data files and seed, or start a new run"
                )
        drawn = state.get("drawn")
        if not isinstance(drawn, int) or isinstance(drawn, bool) or drawn < 0:
            raise DataError(f"sampler state: 'drawn' is {drawn!r}, wanted a number of draws")
        if "rates" in state:
            raise DataError(
                "sampler state: of a run that drew the problems of a bank, which none does any more; "
                "start a new run"
            )
        self._start()
        for _ in range(drawn):
            next(self._sequence)
        self._drawn = drawn
