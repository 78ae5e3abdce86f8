"""Division of a step's groups among processes."""

from __future__ import annotations

import itertools

import pytest

from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.micro_batches import MicroBatch, shares_of_trees, trees_of
from llm_as_judge.types import Completion, Group
from two_problems import group_of

LOSS = LossOptions(advantage_norm="batch")


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


def shares(
    count: int, *, tokens_per_micro_batch: int = 40, packed: bool = True
) -> list[list[MicroBatch]]:
    return shares_of_trees(
        trees_of(GROUPS, LOSS),
        version=0,
        tokens_per_micro_batch=tokens_per_micro_batch,
        packed=packed,
        shares=count,
    )


def owners(micro_batch: MicroBatch) -> set[int]:
    return {ids[0] // 100 for group in micro_batch.completions_P_K for ids in group}


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_trees_are_whole_and_nothing_is_lost(count: int, packed: bool) -> None:
    real = shares(count, packed=packed)
    for left, right in itertools.combinations(real, 2):
        assert not set().union(*map(owners, left)) & set().union(*map(owners, right))
    ids = sorted(
        i
        for micro_batches in real
        for micro_batch in micro_batches
        for g in micro_batch.completions_P_K
        for i in g
    )
    assert ids == sorted(r.completion.token_ids for g in GROUPS for r in g.rollouts)
    for micro_batch in itertools.chain(*real):
        assert len(micro_batch.old_logprobs_T) == sum(micro_batch.lengths)
        assert len(micro_batch.advantages_S) == len(micro_batch.lengths)


def test_advantages_are_those_of_the_whole_step() -> None:
    """``batch`` divides by a deviation over all groups; a share's own would be another."""

    def advantages(count: int) -> dict[int, float]:
        return {
            ids[0]: advantage
            for micro_batches in shares(count)
            for micro_batch in micro_batches
            for ids, advantage in zip(
                [ids for g in micro_batch.completions_P_K for ids in g],
                micro_batch.advantages_S,
                strict=True,
            )
        }

    assert advantages(3) == advantages(1)
    assert len(set(advantages(1).values())) > 4


def test_the_longest_tree_is_alone_where_the_others_are_shorter_together() -> None:
    one, other = (
        [owners(micro_batch) for micro_batch in micro_batches] for micro_batches in shares(2)
    )
    assert one == [{2}]
    assert set().union(*other) == {1, 3, 4}


def test_one_process_packs_in_order_up_to_its_budget() -> None:
    assert [owners(micro_batch) for micro_batch in shares(1, tokens_per_micro_batch=60)[0]] == [
        {1},
        {2},
        {3, 4},
    ]
