"""Memory of good programs: what is kept, what makes room, what is shown.

Kept is a program that ran as written, answered rightly and earned the threshold or more. Per
domain:

* one entry for a program (canonical hash) and a problem: the better reward stays;
* when the domain is full, the program with the most entries loses the one of least reward (the
  oldest of equals). So a rare program is never pushed out by copies of a common one, and the
  number of different programs falls only when every entry is a different one.

Shown are the nearest by cosine, each program once (the same program three times teaches nothing
more), and never an entry of the asked problem itself, of a near-identical question (Jaccard
similarity of three-word shingles, as in the split of the data) or of the same passage.

Searching 100 entries is one matrix product: there is no index to keep.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from llm_as_judge.data.duplicates import SIMILARITY, passages, question_text, words
from llm_as_judge.types import Domain, Problem, Rollout

Vector = npt.NDArray[np.float32]
_SHINGLE = 3


@dataclass(frozen=True, slots=True)
class Experience:
    """One good program and the problem it solved."""

    problem_id: str
    domain: Domain
    question: str
    """What is compared: :func:`compared_text`."""
    passages: tuple[str, ...]
    """Digests of the passages that a QA question is about."""
    shown: str
    """The problem as an example shows it, already shortened."""
    program: str
    """As the policy wrote it."""
    hash: str
    reward: float
    step: int
    vector: Vector = field(compare=False, repr=False)
    """(D,) unit length."""

    @property
    def key(self) -> tuple[str, str]:
        return self.hash, self.problem_id


class ExperienceBuffer:
    """Entries by domain. Its methods may be called from several threads."""

    def __init__(self, *, threshold: float = 8.0, size: int = 100) -> None:
        """
        Args:
            threshold: least total reward of an entry, on the scale of ``reward.py``.
            size: greatest number of entries of one domain.
        """
        self.threshold = threshold
        self.size = size
        self._entries: dict[Domain, dict[tuple[str, str], Experience]] = {}
        self._matrices: dict[Domain, Vector] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(len(entries) for entries in self._entries.values())

    @property
    def distinct_programs(self) -> int:
        with self._lock:
            return len({hash_ for mine in self._entries.values() for hash_, _ in mine})

    def entries(self, domain: Domain) -> tuple[Experience, ...]:
        with self._lock:
            return tuple(self._entries.get(domain, {}).values())

    def admits(self, rollout: Rollout) -> bool:
        """True for a program that ran as written, was right and earned the threshold."""
        return (
            rollout.reward is not None
            and rollout.reward.total >= self.threshold
            and rollout.program.strictly_valid
            and rollout.verdict is not None
            and rollout.verdict.correct is True
        )

    def add(self, entries: Iterable[Experience]) -> int:
        """Add entries, most crowded programs making room; returns how many are new and stayed."""
        with self._lock:
            added = {entry.key for entry in entries if self._add(entry)}
            return sum(key in mine for mine in self._entries.values() for key in added)

    def _add(self, entry: Experience) -> bool:
        mine = self._entries.setdefault(entry.domain, {})
        self._matrices.pop(entry.domain, None)
        known = mine.get(entry.key)
        if known is not None:
            if entry.reward > known.reward:
                mine[entry.key] = entry
            return False
        mine[entry.key] = entry
        if len(mine) > self.size:
            copies = Counter(one.hash for one in mine.values())
            leaving = min(mine.values(), key=lambda one: (-copies[one.hash], one.reward, one.step))
            del mine[leaving.key]
        return True

    def nearest(
        self, query: Sequence[float] | Vector, domain: Domain, k: int, asked: Sequence[Problem]
    ) -> list[Experience]:
        """Up to ``k`` entries of the domain by cosine to ``query``, nearest first.

        Args:
            query: (D,) unit length.
            asked: the problems that will see the entries; none of theirs is among them.
        """
        with self._lock:
            mine = list(self._entries.get(domain, {}).values())
            if not mine or not k:
                return []
            if domain not in self._matrices:
                self._matrices[domain] = np.stack([entry.vector for entry in mine])
            cosines = self._matrices[domain] @ np.asarray(query, np.float32)
        hits: dict[str, Experience] = {}
        for place in np.argsort(-cosines, kind="stable").tolist():
            entry = mine[place]
            if entry.hash in hits or any(same_problem(entry, problem) for problem in asked):
                continue
            hits[entry.hash] = entry
            if len(hits) == k:
                break
        return [*hits.values()]


def same_problem(entry: Experience, problem: Problem) -> bool:
    """The same problem, a near-identical question, or a question about the same passage."""
    if entry.problem_id == problem.id:
        return True
    if not set(entry.passages).isdisjoint(passage_digests(problem)):
        return True
    mine, theirs = _shingles(entry.question), _shingles(compared_text(problem))
    common = len(mine & theirs)
    return common >= SIMILARITY * (len(mine) + len(theirs) - common)


def compared_text(problem: Problem) -> str:
    """The question without its passages, which would drown it, and the options if it has any."""
    return "\n".join([question_text(problem), *problem.options])


def passage_digests(problem: Problem) -> tuple[str, ...]:
    """Digests of the passages of a problem, letter case and blanks apart."""
    texts = (" ".join(text.casefold().split()) for text in passages(problem))
    return tuple(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        for text in texts
    )


@lru_cache(maxsize=4096)
def _shingles(question: str) -> frozenset[tuple[str, ...]]:
    tokens = words(question)
    count = max(1, len(tokens) - _SHINGLE + 1)
    return frozenset(tuple(tokens[i : i + _SHINGLE]) for i in range(count))
