"""Groups of rows that must stay on one side of a split: same passage, or nearly the same question.

Passages are compared by a digest of their text, letter case and blanks apart. Questions are
compared by their words (exact), then by MinHash over three-word shingles: candidates share a band, and count as near-duplicates
when their shingle sets have a Jaccard similarity of at least 0.8 (computed, not estimated).
Source: A. Broder, "On the resemblance and containment of documents" (1997).

Memory is about 100 bytes a row; time grows as n log n.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from llm_as_judge.types import Problem

SIMILARITY = 0.8
"""Least Jaccard similarity of the shingle sets of near-duplicate questions."""
_SHINGLE = 3
_BANDS, _BAND_ROWS = 8, 3  # at similarity 0.8, 99.7 % of the pairs meet in some band
_WORD = re.compile(r"\w+|[^\w\s]")
_REPRESENTATIVES = 16
_TEXTS_AT_ONCE = 4096


def words(text: str) -> list[str]:
    """Words and single symbols, lower case: what two texts are compared by."""
    return _WORD.findall(text.casefold())


def question_text(problem: Problem) -> str:
    """The part of the question that is the task's own (MBPP: without signature and example)."""
    return problem.question.partition("\n\nSignature:\n")[0]


def passages(problem: Problem) -> list[str]:
    """The passages that answer the question: the supporting paragraphs of HotpotQA, the whole
    context of other sets."""
    facts = problem.meta.get("supporting_facts")
    if facts is None or not problem.dataset_info.supporting_facts:
        return [problem.context] if problem.context else []
    titles = {title for title, _ in json.loads(facts)}
    return [p for p in problem.context.split("\n\n") if p.partition(": ")[0] in titles]


@lru_cache(maxsize=256)  # questions about one passage follow each other
def _digest(kind: str, text: str) -> int:
    """Of a text, letter case and blanks apart."""
    joined = f"{kind} {' '.join(text.casefold().split())}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "big")


class Grouping:
    """Collects rows one after the other and says which belong together."""

    def __init__(self) -> None:
        self._parent = array("q")
        self._first_with: dict[int, int] = {}
        self._words = array("I")
        """Hashes of the words of every question seen for the first time, end to end."""
        self._ends = array("Q")
        self._owners = array("Q")

    def add(self, problem: Problem) -> None:
        """The next row."""
        self.add_texts(question_text(problem), passages(problem))

    def add_texts(self, question: str, shared: Iterable[str]) -> None:
        row = len(self._parent)
        self._parent.append(row)
        for passage in shared:
            self._join(row, self._first_with.setdefault(_digest("passage", passage), row))
        tokens = words(question)
        key = _digest("question", " ".join(tokens))
        first = self._first_with.setdefault(key, row)
        self._join(row, first)
        if first == row:
            self._words.extend(zlib.crc32(w.encode("utf-8", "surrogatepass")) for w in tokens)
            self._ends.append(len(self._words))
            self._owners.append(row)

    def groups(self) -> array[int]:
        """The group of each row: the number of its first row."""
        owners = self._owners

        def together(left: int, right: int) -> bool:
            return self._root(owners[left]) == self._root(owners[right])

        for left, right in _near_duplicates(self._words, self._ends, together):
            self._join(owners[left], owners[right])
        return array("q", [self._root(row) for row in range(len(self._parent))])

    def _root(self, row: int) -> int:
        parent = self._parent
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    def _join(self, row: int, other: int) -> None:
        low, high = sorted((self._root(row), self._root(other)))
        self._parent[high] = low


def _near_duplicates(
    tokens: array[int], ends: array[int], together: Callable[[int, int], bool]
) -> Iterator[tuple[int, int]]:
    """Pairs of texts with a shingle similarity of at least ``SIMILARITY``, less those that are
    ``together`` already."""
    if len(ends) < 2:
        return
    import numpy as np

    shingles, offsets = _shingles(tokens, ends)

    def shingle_set(text: int) -> frozenset[int]:
        return frozenset(shingles[offsets[text] : offsets[text + 1]].tolist())

    for keys in _bands(shingles, offsets):
        order = np.argsort(keys, kind="stable")
        edges = np.flatnonzero(np.diff(keys[order])) + 1
        sizes = np.diff(np.concatenate(([0], edges, [len(order)])))
        for first, size in zip(
            np.concatenate(([0], edges))[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True
        ):
            yield from _similar(order[first : first + size].tolist(), shingle_set, together)


def _similar(
    bucket: list[int],
    shingle_set: Callable[[int], frozenset[int]],
    together: Callable[[int, int], bool],
) -> Iterator[tuple[int, int]]:
    """Links of each text of a bucket to the first representative it is near to."""
    representatives: list[tuple[int, frozenset[int] | None]] = []
    for text in bucket:
        if any(together(text, other) for other, _ in representatives):
            continue
        mine = shingle_set(text) if representatives else None
        for place, (other, theirs) in enumerate(representatives):
            theirs = theirs or shingle_set(other)
            representatives[place] = (other, theirs)
            if mine is not None and _near(mine, theirs):
                yield other, text
                break
        else:
            if len(representatives) < _REPRESENTATIVES:
                representatives.append((text, mine))


def _near(left: frozenset[int], right: frozenset[int]) -> bool:
    common = len(left & right)
    return common >= SIMILARITY * (len(left) + len(right) - common)


def _shingles(tokens: array[int], ends: array[int]) -> tuple[Any, Any]:
    """(hashes of all shingles end to end, offset of each text's first; one more at the end).

    A text shorter than a shingle is padded with zeros to exactly one.
    """
    import numpy as np

    words = np.frombuffer(tokens, np.uint32) if tokens else np.zeros(1, np.uint32)
    stops = np.frombuffer(ends, np.uint64).astype(np.int64)
    starts = np.concatenate(([0], stops[:-1]))
    counts = np.maximum(stops - starts - _SHINGLE + 1, 1)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    hashes = np.empty(offsets[-1], np.uint64)
    for low in range(0, len(counts), _TEXTS_AT_ONCE):
        part = slice(low, low + _TEXTS_AT_ONCE)
        first, last = offsets[low], offsets[min(low + _TEXTS_AT_ONCE, len(counts))]
        owner = np.repeat(np.arange(len(counts[part])), counts[part])
        place = starts[part][owner] + np.arange(first, last) - offsets[part][owner]
        found = np.zeros(last - first, np.uint64)
        for step in range(_SHINGLE):
            inside = place + step < stops[part][owner]
            word = np.where(inside, words[np.minimum(place + step, len(words) - 1)], 0)
            found = _mixed(found * np.uint64(0x9E3779B97F4A7C15) + word.astype(np.uint64))
        hashes[first:last] = found
    return hashes, offsets


def _mixed(values: Any) -> Any:
    """The finalizer of splitmix64: every input bit reaches every output bit."""
    import numpy as np

    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _bands(shingles: Any, offsets: Any) -> Iterator[Any]:
    """One key a text and band: texts with equal keys in some band are candidates."""
    import numpy as np

    for band in range(_BANDS):
        keys = np.empty(len(offsets) - 1, np.uint64)
        for low in range(0, len(keys), _TEXTS_AT_ONCE):
            bounds = offsets[low : low + _TEXTS_AT_ONCE + 1]
            part = shingles[bounds[0] : bounds[-1]]
            key = np.zeros(len(bounds) - 1, np.uint64)
            for row in range(_BAND_ROWS):
                salt = np.uint64((band * _BAND_ROWS + row + 1) * 0x9E3779B97F4A7C15 % 2**64)
                least = np.minimum.reduceat(_mixed(part ^ salt), bounds[:-1] - bounds[0])
                key = _mixed(key * np.uint64(31) + least)
            keys[low : low + _TEXTS_AT_ONCE] = key
        yield keys
