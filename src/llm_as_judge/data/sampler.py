"""Stratified, endless, resumable choice of the problems for the next training step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from llm_as_judge.data.mix import DOMAIN_SHARES, Draws, resampled
from llm_as_judge.errors import DataError
from llm_as_judge.types import Domain, Json


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
        name: of the split; samplers of other names draw independently.
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
        name: str = "train",
        shares: Mapping[Domain, int] = DOMAIN_SHARES,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}, wanted at least 1")
        if not ids:
            raise DataError("no problems to sample from. Run: llm-as-judge data process")
        self.batch_size, self.seed, self.name = batch_size, seed, name
        rows: dict[str, dict[str, int]] = {}
        self._domains: dict[str, Domain] = {}
        known: dict[str, Domain] = {domain: domain for domain in shares}
        for row, (problem, dataset, domain) in enumerate(zip(ids, datasets, domains, strict=True)):
            rows.setdefault(dataset, {}).setdefault(problem, row)
            self._domains[dataset] = known[domain]
        self._rows = {dataset: tuple(members.values()) for dataset, members in rows.items()}
        self._fingerprint = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        self._shares = shares
        self._start()

    def _start(self) -> None:
        draws = {
            dataset: Draws(rows, self.seed, f"{self.name}/{dataset}")
            for dataset, rows in self._rows.items()
        }
        self._drawn = 0
        self._sequence = resampled(draws, self._domains, None, self._shares)

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
        return {
            "seed": self.seed,
            "name": self.name,
            "drawn": self._drawn,
            "rows": self._fingerprint,
        }

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        """Go on where ``state`` was taken.

        Raises:
            DataError: it belongs to other rows, another seed or another split.
        """
        drawn = self._check_state(state)
        if "rates" in state:
            raise DataError(
                "sampler state: of a run that drew the problems of a bank, which none does any more; "
                "start a new run"
            )
        self._start()
        for _ in range(drawn):
            next(self._sequence)
        self._drawn = drawn

    def _check_state(self, state: Mapping[str, Json]) -> int:
        """How many problems were drawn.

        Raises:
            DataError: it belongs to other rows, another seed or another split.
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
        return drawn
