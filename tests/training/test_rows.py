"""How a step's groups are divided among processes."""

from __future__ import annotations

import itertools

import pytest
from test_learner import group_of

from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.rows import Row, shares_of_rows
from llm_as_judge.types import Completion, Group

LOSS = LossOptions(scale="batch")


def group(number: int, lengths: list[int]) -> Group:
    """Ids say to whom they belong: ``100 * group + sample`` in each place."""
    return group_of(
        [
            Completion(
                (1, 2, 100 * number), (100 * number + k,) * length, (-0.5,) * length, "x", "stop"
            )
            for k, length in enumerate(lengths)
        ],
        [float(number * k) for k in range(len(lengths))],
    )


GROUPS = [group(n, lengths) for n, lengths in enumerate([[3, 4], [50, 60, 2], [9] * 4, [5, 5]], 1)]


def shares(count: int, *, row_tokens: int = 40, packed: bool = True) -> list[list[Row]]:
    return shares_of_rows(
        GROUPS, LOSS, version=0, row_tokens=row_tokens, packed=packed, shares=count
    )


def owners(row: Row) -> set[int]:
    return {ids[0] // 100 for group in row.completions_P_K for ids in group}


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_trees_are_whole_rows_are_as_many_for_all_and_nothing_is_lost(
    count: int, packed: bool
) -> None:
    found = shares(count, packed=packed)
    assert len({len(rows) for rows in found}) == 1
    real = [[row for row in rows if not row.filler] for rows in found]
    for left, right in itertools.combinations(real, 2):
        assert not set().union(*map(owners, left)) & set().union(*map(owners, right))
    ids = sorted(i for rows in real for row in rows for g in row.completions_P_K for i in g)
    assert ids == sorted(r.completion.token_ids for g in GROUPS for r in g.rollouts)
    for row in itertools.chain(*real):
        assert len(row.old_logprobs_T) == sum(row.lengths)
        assert len(row.advantages_S) == len(row.lengths)


def test_advantages_are_those_of_the_whole_step() -> None:
    """``batch`` divides by a deviation over all groups; a share's own would be another."""

    def advantages(count: int) -> dict[int, float]:
        return {
            ids[0]: advantage
            for rows in shares(count)
            for row in rows
            if not row.filler
            for ids, advantage in zip(
                [ids for g in row.completions_P_K for ids in g], row.advantages_S, strict=True
            )
        }

    assert advantages(3) == advantages(1)
    assert len(set(advantages(1).values())) > 4


def test_the_longest_tree_is_alone_where_the_others_are_shorter_together() -> None:
    one, other = ([owners(row) for row in rows if not row.filler] for rows in shares(2))
    assert one == [{2}]
    assert set().union(*other) == {1, 3, 4}


def test_one_process_packs_in_order_up_to_its_budget() -> None:
    assert [owners(row) for row in shares(1, row_tokens=60)[0]] == [{1}, {2}, {3, 4}]
