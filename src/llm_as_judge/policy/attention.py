"""Attention over one packed row of a tree of tokens: each node sees its ancestors and itself.

Two ways to the same numbers. Node by node with scaled_dot_product_attention, on any device; and on
CUDA in half precision all nodes in one variable-length flash-attention call, for which the keys of
every node (its path, then its own tokens) are gathered one after the other. In both, a node's
queries are its last keys: the causal mask is aligned at the lower right.

transformers calls these through its AttentionInterface; the plan travels as a keyword argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

ATTENTION_NAME = "shared_prefix"
HALF = (torch.float16, torch.bfloat16)


Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A run of tokens of the packed row."""

    start: int
    stop: int
    path: Spans
    """(start, stop) of each ancestor, root first."""

    @property
    def spans(self) -> Spans:
        """What its tokens may attend to, in the order of depth."""
        return (*self.path, (self.start, self.stop))


@dataclass(frozen=True, slots=True)
class VarlenPlan:
    """One call over all nodes. M nodes, N tokens of the row, T keys of all nodes together."""

    key_at_T: Tensor
    """Index in the row of each key, node after node."""
    cu_queries: Tensor
    """(M + 1,) int32: where the queries of each node begin; the row itself is in this order."""
    cu_keys: Tensor
    """(M + 1,) int32: where the keys of each node begin in ``key_at_T``."""
    max_queries: int
    max_keys: int


@dataclass(frozen=True, slots=True)
class AttentionPlan:
    """Who sees whom in one packed row."""

    nodes: tuple[Node, ...]
    varlen: VarlenPlan | None = None
    """Only where it can be used: on CUDA."""


def common_prefix(ids_P: Sequence[Sequence[int]]) -> int:
    """Length of the prefix shared by all sequences, leaving each at least one token of its own."""
    longest = min(len(ids) for ids in ids_P) - 1
    first = ids_P[0]
    for i in range(longest):
        if any(ids[i] != first[i] for ids in ids_P):
            return i
    return longest


LEAST_SHARED = 32
"""Tokens that some of the prompts share beyond what all do, for a node of their own: each node is one more
call in every layer."""


@dataclass(frozen=True, slots=True)
class PromptTree:
    """Prompts in one row of N tokens; what several begin with is there once."""

    ids_N: tuple[int, ...]
    positions_N: tuple[int, ...]
    nodes: tuple[Node, ...]
    """In the order of the row, none empty."""
    leaf_of_P: tuple[int, ...]
    """Index of the node in which each prompt ends; no two prompts end in one."""


def prompt_tree(prompts_P: Sequence[Sequence[int]]) -> PromptTree:
    """The tree of the prompts: what all share, what some share (those of one domain, say), the rests.

    Args:
        prompts_P: token ids of each prompt, one at least.
    """
    ids: list[int] = []
    positions: list[int] = []
    nodes: list[Node] = []
    leaf_of: dict[int, int] = {}

    def add(tokens: Sequence[int], depth: int, path: Spans) -> Spans:
        nodes.append(Node(len(ids), len(ids) + len(tokens), path))
        ids.extend(tokens)
        positions.extend(range(depth, depth + len(tokens)))
        return nodes[-1].spans

    def grow(members: Sequence[int], depth: int, path: Spans, alike_to: int) -> None:
        """The nodes of prompts that have a node up to ``depth`` and are alike up to ``alike_to``."""
        alike: dict[int, list[int]] = {}
        for p in members:
            alike.setdefault(prompts_P[p][alike_to], []).append(p)
        for group in alike.values():
            first = prompts_P[group[0]]
            common = common_prefix([prompts_P[p][alike_to:] for p in group])
            split = alike_to + common
            if len(group) == 1 or not common:  # nothing but their last token is alike
                for p in group:
                    leaf_of[p] = len(nodes)
                    add(prompts_P[p][depth:], depth, path)
            elif split - depth >= LEAST_SHARED:
                grow(group, split, add(first[depth:split], depth, path), split)
            else:
                grow(group, depth, path, split)

    root = common_prefix(prompts_P) if len(prompts_P) > 1 else 0
    grow(range(len(prompts_P)), root, add(prompts_P[0][:root], 0, ()) if root else (), root)
    leaf_of_P = tuple(leaf_of[p] for p in range(len(prompts_P)))
    return PromptTree(tuple(ids), tuple(positions), tuple(nodes), leaf_of_P)


def plan_attention(nodes: Sequence[Node], device: torch.device) -> AttentionPlan:
    """The plan of a row on ``device``; nodes in the order of the row, none empty."""
    one_call = device.type == "cuda" and torch_varlen() is not None
    return AttentionPlan(tuple(nodes), plan_varlen(nodes, device) if one_call else None)


@cache
def torch_varlen() -> Callable[..., Any] | None:
    """torch's variable-length attention; None = this torch has none that is causal at the lower right."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:  # torch before 2.10
        return None
    return grouped_causal(varlen_attn)


def grouped_causal(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """``function`` as a causal call whose key heads may be fewer; None = it cannot be told so.

    The parameters differ by version: torch 2.10 has no ``window_size``, 2.11 takes fewer key heads unasked,
    later ones must be told.
    """
    known = inspect.signature(function).parameters
    if "window_size" not in known:
        return None
    grouped = {"enable_gqa": True} if "enable_gqa" in known else {}
    # causal; aligned at the lower right, as flash attention has it
    return partial(function, window_size=(-1, 0), **grouped)


def plan_varlen(nodes: Sequence[Node], device: torch.device) -> VarlenPlan:
    """Offsets and gathered keys for ``varlen_attn``.

    Raises:
        ValueError: the nodes do not tile the row in order, so that queries and offsets would part.
    """
    queries, keys = [0], [0]
    key_at: list[int] = []
    for node in nodes:
        if node.start != queries[-1] or node.stop <= node.start:
            raise ValueError(f"node {node.start}:{node.stop} does not follow token {queries[-1]}")
        for start, stop in node.spans:
            key_at.extend(range(start, stop))
        queries.append(node.stop)
        keys.append(len(key_at))
    return VarlenPlan(
        key_at_T=torch.tensor(key_at, device=device),
        cu_queries=torch.tensor(queries, dtype=torch.int32, device=device),
        cu_keys=torch.tensor(keys, dtype=torch.int32, device=device),
        max_queries=max(b - a for a, b in pairwise(queries)),
        max_keys=max(b - a for a, b in pairwise(keys)),
    )


def shared_prefix_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    *,
    plan: AttentionPlan,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention of one packed row.

    Args:
        query: (1, heads, N, head size); key and value: (1, key heads, N, head size).
    Returns:
        (1, N, heads, head size), as transformers wants it, and no weights.
    """
    if plan.varlen is not None and query.dtype in HALF:  # needs a GPU
        return _varlen_attention(query, key, value, plan.varlen, scaling), None
    return _node_attention(query, key, value, plan.nodes, scaling), None


def _node_attention(
    query: Tensor, key: Tensor, value: Tensor, nodes: Sequence[Node], scaling: float | None
) -> Tensor:
    grouped = query.shape[1] != key.shape[1]
    outputs = []
    # Split, not sliced: the gradient of a slice is as large as the row.
    lengths = [node.stop - node.start for node in nodes]
    at = {node.spans[-1]: i for i, node in enumerate(nodes)}
    queries, keys_of, values_of = (torch.split(x, lengths, dim=2) for x in (query, key, value))
    for node, own in zip(nodes, queries, strict=True):
        keys = torch.cat([keys_of[at[span]] for span in node.spans], dim=2)
        values = torch.cat([values_of[at[span]] for span in node.spans], dim=2)
        outputs.append(
            scaled_dot_product_attention(
                own,
                keys,
                values,
                attn_mask=None
                if not node.path
                else causal_lower_right(own.shape[2], keys.shape[2]),
                is_causal=not node.path,
                scale=scaling,
                enable_gqa=grouped,
            )
        )
    return torch.cat(outputs, dim=2).transpose(1, 2).contiguous()


def _varlen_attention(
    query: Tensor, key: Tensor, value: Tensor, plan: VarlenPlan, scaling: float | None
) -> Tensor:  # needs a GPU
    """The same in one flash-attention call, (1, N, heads, head size); half precision only."""
    varlen_attn = torch_varlen()
    assert varlen_attn is not None  # or there is no such plan
    rows_q, rows_k, rows_v = (x[0].transpose(0, 1) for x in (query, key, value))
    output = varlen_attn(
        rows_q.contiguous(),
        rows_k.index_select(0, plan.key_at_T),
        rows_v.index_select(0, plan.key_at_T),
        plan.cu_queries,
        plan.cu_keys,
        plan.max_queries,
        plan.max_keys,
        scale=scaling,
    )
    assert isinstance(output, Tensor)
    return output[None]


AttentionInterface.register(ATTENTION_NAME, shared_prefix_attention)


def packed_attention(base: Any) -> AbstractContextManager[None]:
    """The base model computes packed rows inside, and is as before outside.

    Hold it over the backward pass too: recomputed activations go through the attention that is set
    at that time.
    """
    return attention_named(base, ATTENTION_NAME)


def packed_hidden(
    base: Any, input_ids_1N: Tensor, position_ids_1N: Tensor, plan: AttentionPlan
) -> Tensor:
    """(N, D) last hidden states of a packed row, with gradient.

    Args:
        base: causal language model of transformers (adapter layers may be inside).
    Raises:
        RuntimeError: outside ``packed_attention(base)``.
    """
    if base.config._attn_implementation != ATTENTION_NAME:  # noqa: SLF001
        raise RuntimeError("a packed row is computed inside `with packed_attention(base)` only")
    found: Tensor = base.model(
        input_ids=input_ids_1N,
        position_ids=position_ids_1N,
        attention_mask=None,
        use_cache=False,
        plan=plan,
    ).last_hidden_state[0]
    return found


@contextmanager
def attention_named(base: Any, name: str) -> Iterator[None]:
    """The base model attends by the function registered as ``name`` inside."""
    before = base.config._attn_implementation  # noqa: SLF001 (the one place transformers reads)
    base.config._attn_implementation = name  # noqa: SLF001
    try:
        yield
    finally:
        base.config._attn_implementation = before  # noqa: SLF001
