"""The plan of the one-call attention, checked on a CPU by computing what it says."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from llm_as_judge.policy.attention import (
    AttentionPlan,
    Node,
    grouped_causal,
    plan_attention,
    plan_varlen,
    prompt_tree,
    shared_prefix_attention,
    torch_varlen,
)
from llm_as_judge.training.packing import pack_tree

CPU = torch.device("cpu")
PROMPTS = [[5, 9, 3, 44, 21, 2], [5, 9, 3, 44, 30, 31, 32]]
COMPLETIONS = [[[1, 2, 3], [4], [1, 2, 9, 9, 7]], [[6, 5], [6, 5, 4, 3]]]


def test_offsets_and_keys_of_a_small_tree() -> None:
    # root 0:3, child 3:5, grandchild 5:6, second child 6:8
    nodes = [
        Node(0, 3, ()),
        Node(3, 5, ((0, 3),)),
        Node(5, 6, ((0, 3), (3, 5))),
        Node(6, 8, ((0, 3),)),
    ]
    plan = plan_varlen(nodes, CPU)
    assert plan.cu_queries.tolist() == [0, 3, 5, 6, 8]
    assert plan.cu_keys.tolist() == [0, 3, 8, 14, 19]
    assert plan.key_at_T.tolist() == [0, 1, 2, *[0, 1, 2, 3, 4], *range(6), *[0, 1, 2, 6, 7]]
    assert (plan.max_queries, plan.max_keys) == (3, 6)
    assert plan.cu_queries.dtype == plan.cu_keys.dtype == torch.int32


def test_each_torch_is_told_what_it_must_be_told() -> None:
    def of_2_10(query: Any, *, is_causal: bool = False) -> dict[str, Any]:
        raise AssertionError("not causal at the lower right")

    def of_2_11(query: Any, *, window_size: tuple[int, int] = (-1, -1)) -> dict[str, Any]:
        return {"window_size": window_size}

    def of_2_13(
        query: Any, *, window_size: tuple[int, int] = (-1, -1), enable_gqa: bool = False
    ) -> dict[str, Any]:
        return {"window_size": window_size, "enable_gqa": enable_gqa}

    assert grouped_causal(of_2_10) is None
    for function, wanted in (
        (of_2_11, {"window_size": (-1, 0)}),
        (of_2_13, {"window_size": (-1, 0), "enable_gqa": True}),
    ):
        call = grouped_causal(function)
        assert call is not None
        assert call(None) == wanted


def test_the_tested_torch_has_the_one_call() -> None:
    assert torch_varlen() is not None


def test_one_call_sees_what_node_by_node_sees() -> None:
    """What varlen_attn is documented to do, written out with dense masks."""
    nodes = pack_tree(PROMPTS, COMPLETIONS, CPU).plan.nodes
    plan = plan_varlen(nodes, CPU)
    torch.manual_seed(0)
    total = nodes[-1].stop
    query, key, value = torch.randn(4, total, 8), torch.randn(2, total, 8), torch.randn(2, total, 8)
    keys, values = (x.repeat_interleave(2, 0)[:, plan.key_at_T] for x in (key, value))
    wanted = []
    for i in range(len(nodes)):
        q = query[:, plan.cu_queries[i] : plan.cu_queries[i + 1]]
        k = keys[:, plan.cu_keys[i] : plan.cu_keys[i + 1]]
        v = values[:, plan.cu_keys[i] : plan.cu_keys[i + 1]]
        seen = torch.ones(q.shape[1], k.shape[1]).tril(k.shape[1] - q.shape[1]).bool()
        scores = (q @ k.mT / 8**0.5).masked_fill(~seen, -torch.inf)
        wanted.append(scores.softmax(-1) @ v)
    found, weights = shared_prefix_attention(
        torch.nn.Module(), query[None], key[None], value[None], None, plan=AttentionPlan(nodes)
    )
    assert weights is None
    assert torch.allclose(found[0].transpose(0, 1), torch.cat(wanted, 1), atol=1e-6)


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param([Node(0, 2, ()), Node(3, 4, ((0, 2),))], id="gap"),
        pytest.param([Node(1, 2, ())], id="late start"),
        pytest.param([Node(0, 2, ()), Node(2, 2, ())], id="empty"),
    ],
)
def test_nodes_that_do_not_tile_the_row_are_refused(nodes: list[Node]) -> None:
    with pytest.raises(ValueError, match="does not follow"):
        plan_varlen(nodes, CPU)


def test_the_one_call_plan_is_made_for_cuda_alone() -> None:
    assert plan_attention([Node(0, 2, ())], CPU).varlen is None


def test_a_tree_of_prompts_has_what_each_kind_begins_with_once() -> None:
    head, math, code = [1, 2, 3], [8, 10, *[11] * 38], [8, 20, *[21] * 48]  # alike for a token
    prompts = [
        [*head, *math, 4, 5],
        [*head, *code, 6],
        [*head, *math, 7],
        [*head, *code, 6],
        [*head, 9],
    ]
    tree = prompt_tree(prompts)
    assert len(tree.ids_N) == 3 + 40 + 2 + 1 + 50 + 1 + 1 + 1
    for prompt, leaf in zip(prompts, tree.leaf_of_P, strict=True):
        spans = tree.nodes[leaf].spans
        assert [tree.ids_N[i] for a, b in spans for i in range(a, b)] == prompt
        depths = [tree.positions_N[i] for a, b in spans for i in range(a, b)]
        assert depths == list(range(len(prompt)))
    assert len(set(tree.leaf_of_P)) == len(prompts)
    edges = [(node.start, node.stop) for node in tree.nodes]
    assert edges[0][0] == 0
    assert all(a[1] == b[0] for a, b in itertools.pairwise(edges))


def test_a_short_common_beginning_of_some_prompts_is_no_node() -> None:
    tree = prompt_tree([[1, 5, 6, 7], [1, 5, 6, 8], [1, 9]])
    assert [node.stop - node.start for node in tree.nodes] == [1, 3, 3, 1]
