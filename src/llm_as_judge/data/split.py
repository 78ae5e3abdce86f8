"""The 5:1 rule and its groups. Pure.

Of n rows, ``n // 6`` (of 2 to 5: one) are test rows and the rest is train (7,473 -> 6,228 / 1,245; 164 -> 137 / 27;
427 -> 356 / 71). Rows of one group never stand on two sides.
"""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

PARTS = 6
"""One part in six is test."""
_TRIES = 32


def size_of_test(rows: int) -> int:
    """Test rows of a set of ``rows`` rows, rounded down; two rows and more always leave one."""
    return max(rows // PARTS, min(1, rows // 2))


def size_of_val(rows: int, val_fraction: float) -> int:
    """Validation rows of ``rows`` non-test rows, rounded up: every set has one, unless none are
    wanted, or the only row is needed for training."""
    return min(math.ceil(rows * val_fraction), max(0, rows - 1))


@dataclass(frozen=True, slots=True)
class GroupedSplit:
    """Row numbers of each side, ascending."""

    train: Sequence[int]
    val: Sequence[int]
    test: Sequence[int]
    moved: int
    """Rows on another side than a split that ignores groups would have put them."""


def split_rows(
    groups: Sequence[int], val_fraction: float, rng: random.Random, *, whole_beside: int = 0
) -> GroupedSplit:
    """Split the rows 0..n-1 into train, validation and test.

    Args:
        groups: group of each row; any numbers, equal = same group.
        val_fraction: share of the non-test rows that is held out for validation, rounded up.
        rng: decides everything; give each set its own.
        whole_beside: where no group fits the test side, the smallest is held out all the same, if it
            is at most half of the rows and so many groups stay beside it; 0: then nothing is.
    Raises:
        ValueError: ``val_fraction`` outside 0..1 (1 excluded).
    """
    if not 0 <= val_fraction < 1:
        raise ValueError(f"val_fraction is {val_fraction}, wanted 0 <= val_fraction < 1")
    everything = range(len(groups))
    test, moved = held_out(everything, groups, size_of_test(len(groups)), rng)
    if not test and whole_beside:
        test, moved = _smallest_group(groups, whole_beside, rng)
    rest = [row for row in everything if row not in test]
    val, moved_val = held_out(rest, groups, size_of_val(len(rest), val_fraction), rng)
    return GroupedSplit(
        train=array("Q", [row for row in rest if row not in val]),
        val=array("Q", sorted(val)),
        test=array("Q", sorted(test)),
        moved=moved + moved_val,
    )


def held_out(
    rows: Sequence[int], groups: Sequence[int], size: int, rng: random.Random
) -> tuple[set[int], int]:
    """Up to ``size`` of ``rows`` as whole groups, and how many rows the groups moved.

    Rows are visited in random order; the group of a visited row is taken whole if it still fits.
    Where that misses ``size``, other orders are tried, and the first closest one is kept: exactly
    ``size`` rows come out unless the groups are too coarse. Moved rows are counted against the
    first ``size`` rows of the same order.
    """
    members = Counter(groups[row] for row in rows)
    best: tuple[set[int], int] = (set(), 0)
    for _ in range(_TRIES):
        order = list(rows)
        rng.shuffle(order)
        chosen = _whole_groups(order, groups, members, size)
        if len(chosen) > len(best[0]) or not best[0]:
            best = chosen, len(chosen.symmetric_difference(order[:size]))
        if len(chosen) == size:
            break
    return best


def _smallest_group(groups: Sequence[int], beside: int, rng: random.Random) -> tuple[set[int], int]:
    """The rows of the smallest group, of equals the first in random order, and how many it moved; none
    where fewer than ``beside`` groups are left, or it is more than half of the rows."""
    order = list(range(len(groups)))
    rng.shuffle(order)
    members = Counter(groups[row] for row in order)
    if len(members) <= beside:
        return set(), 0
    smallest = min(members, key=members.__getitem__)  # in the order of the shuffled rows
    if 2 * members[smallest] > len(groups):
        return set(), 0
    chosen = {row for row in order if groups[row] == smallest}
    return chosen, len(chosen.symmetric_difference(order[: size_of_test(len(groups))]))


def _whole_groups(
    order: Sequence[int], groups: Sequence[int], members: Counter[int], size: int
) -> set[int]:
    taken: set[int] = set()
    left = size
    for group in (groups[row] for row in order):
        if not left:
            break
        if group not in taken and members[group] <= left:
            taken.add(group)
            left -= members[group]
    return {row for row in order if groups[row] in taken} if taken else set()
