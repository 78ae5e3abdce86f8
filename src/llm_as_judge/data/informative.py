"""Training problems that can teach: those that programs solve sometimes, by what is left to learn.

Where every program of a group comes to one verdict, the group teaches nothing about being right. A bank
says how often programs solve each problem; training draws those between, and as the policy moves the
rates follow what its own programs did. Filtering by solve rate before training: Kimi k1.5,
arXiv:2501.12599, section 2.1; while sampling: DAPO, arXiv:2503.14476, section 3.2.

Where calls are dear, a problem that nothing solves teaches, too: its programs differ in what they cost. A
policy that never saw such problems learns to ask again, which pays on the others alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random

from llm_as_judge.data.mix import named_rng
from llm_as_judge.data.sampler import StratifiedSampler
from llm_as_judge.errors import DataError
from llm_as_judge.types import Json

LEAST_RATE, MOST_RATE = 0.1, 0.9
"""Mean right of a problem over the bank: below and above it is no training problem."""
MOVED = 0.3
"""How far one step's programs move the rate of their problem."""
LEAST_WEIGHT = 0.02
"""Of a problem that the policy always or never solves by now: it comes again, but seldom."""
LOW_SHARE = 1 / 3
"""Of the draws that are of any problem: as many as are told the lowest of three budgets."""

ToldLow = Callable[[int, str], bool]
"""Whether a problem, by its id, is told the lowest budget at a step."""


class InformativeSampler(StratifiedSampler):
    """Domains and sets come as in a :class:`StratifiedSampler`; inside a set a problem is drawn by
    rate * (1 - rate), which is the variance of its verdicts, the less the more often it came.

    Args:
        rates: mean right of problems over the bank; one that is not among them is not drawn.
        lag: a batch is drawn by what was learned of all steps but so many before it, as
            ``training.max_staleness`` says.
        told_low: a third of the draws are of problems that it names, any that the bank knows, all alike; the
            others are of informative ones that it does not name. None: all are of informative ones.
    Raises:
        DataError: no row is informative.
    """

    def __init__(
        self,
        ids: Sequence[str],
        datasets: Sequence[str],
        domains: Sequence[str],
        batch_size: int,
        seed: int,
        rates: Mapping[str, float],
        lag: int = 0,
        told_low: ToldLow | None = None,
    ) -> None:
        self._file = (list(ids), list(datasets), list(domains))
        self._lag, self._told_low = lag, told_low
        self._learned: dict[int, dict[str, float]] = {}
        self._draw_from(
            {id_: rate for id_, rate in rates.items() if id_ in set(ids)}, batch_size, seed
        )

    def _draw_from(self, first: Mapping[str, float], batch_size: int, seed: int) -> None:
        """Begin with these rates.

        Raises:
            DataError: none of them is informative.
        """
        ids, datasets, domains = self._file
        kept = [row for row, id_ in enumerate(ids) if _informative(first.get(id_))]
        if not kept:
            raise DataError(
                f"{len(first)} of {len(set(ids))} training problems are in the bank, and none of "
                f"them has a mean from {LEAST_RATE:g} to {MOST_RATE:g}; fill it with more rows: "
                "llm-as-judge search --split train --rows N"
            )
        super().__init__(
            [ids[row] for row in kept],
            [datasets[row] for row in kept],
            [domains[row] for row in kept],
            batch_size,
            seed,
        )
        # the base class counts the rows that it was given
        self._rows = {name: tuple(kept[n] for n in members) for name, members in self._rows.items()}
        self._fingerprint = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        self._start()
        self._first, self._rates = dict(first), dict(first)
        rows = {id_: row for row, id_ in reversed(list(enumerate(ids))) if id_ in first}
        self._bank_rows = {
            name: [row for row in rows.values() if datasets[row] == name] for name in self._rows
        }
        self._seen: Counter[int] = Counter()
        self._known: list[int] = []

    def next_batch(self) -> list[int]:
        """Row numbers of the next problems, none twice where a set has others."""
        step = len(self._known) + 1
        return self._batch(max((s for s in self._learned if s < step - self._lag), default=0))

    def _batch(self, known: int) -> list[int]:
        """
        Args:
            known: the last step whose programs count.
        """
        before = self._known[-1] if self._known else 0
        for step in range(before + 1, known + 1):
            for id_, rate in self._learned.get(step, {}).items():
                self._rates[id_] += MOVED * (rate - self._rates[id_])
        self._known.append(known)
        names = [next(self._sequence)[0] for _ in range(self.batch_size)]
        batch: list[int] = []
        for name in names:
            chance = named_rng(self.seed, self.name, "informative", self._drawn)
            rows, weights = self._candidates(name, batch, chance)
            (row,) = chance.choices(rows, weights=weights)
            batch.append(row)
            self._seen[row] += 1
            self._drawn += 1
        return batch

    def _candidates(
        self, name: str, batch: Sequence[int], chance: Random
    ) -> tuple[list[int], list[float]]:
        """Rows of a set that may be the next of the batch, and how much each weighs."""
        rows = list(self._rows[name])
        if self._told_low is not None:
            step, ids = len(self._known), self._file[0]
            low = {row for row in self._bank_rows[name] if self._told_low(step, ids[row])}
            left = sorted(low.difference(batch))
            if chance.random() < LOW_SHARE and left:
                return left, [1 / (1 + self._seen[row]) for row in left]
            rows = [row for row in rows if row not in low] or rows
        rows = [row for row in rows if row not in batch] or list(self._rows[name])
        return rows, [self._weight(row) for row in rows]

    def _weight(self, row: int) -> float:
        rate = self._rates[self._file[0][row]]
        return max(LEAST_WEIGHT, rate * (1 - rate)) / (1 + self._seen[row])

    # ---------------------------------------------------------------------------------- learning
    def learn(self, step: int, rates: Mapping[str, float]) -> None:
        """What the programs of a step did on its problems."""
        self._learned[step] = {id_: rate for id_, rate in rates.items() if id_ in self._first}

    def learned(self) -> dict[str, Json]:
        """What a checkpoint keeps of it."""
        return {"learned": {str(step): dict(rates) for step, rates in self._learned.items()}}

    def state_dict(self) -> dict[str, Json]:
        """What a checkpoint keeps; JSON. The rates of the bank are in it: one that has grown since
        changes nothing of a run that goes on."""
        first: dict[str, Json] = dict(self._first)
        known: list[Json] = list(self._known)
        told_low: Json = self._told_low is not None
        state = {**super().state_dict(), **self.learned(), "rates": first, "known": known}
        return {**state, "told_low": told_low}

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        """Go on where ``state`` was taken.

        Raises:
            DataError: it belongs to other rows, another seed or a run without a bank.
        """
        self._check_state(state)
        first, learned, known = (state.get(key) for key in ("rates", "learned", "known"))
        if not (isinstance(learned, dict) and isinstance(known, list) and isinstance(first, dict)):
            raise DataError(
                "sampler state: of a run that drew every problem; go on without data.bank, or start "
                "a new run"
            )
        if not state.get("told_low"):  # of a run that began before there was such a share
            self._told_low = None
        self._draw_from(_rates(first), self.batch_size, self.seed)
        self._learned = {int(_number(step)): _rates(rates) for step, rates in learned.items()}
        for step in known:
            self._batch(int(_number(step)))


def _rates(value: Json) -> dict[str, float]:
    if not isinstance(value, dict):
        raise DataError(f"sampler state: rates are {value!r}, wanted problems with numbers")
    return {id_: _number(rate) for id_, rate in value.items()}


def _number(value: Json) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise DataError(f"sampler state: found {value!r}, wanted a number") from None


def _informative(rate: float | None) -> bool:
    return rate is not None and LEAST_RATE <= rate <= MOST_RATE
