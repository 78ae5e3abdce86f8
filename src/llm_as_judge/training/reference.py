"""The naive update, one unpadded row per completion; and the check that the packed one equals it.

Before training, both compute a small step on a two-layer copy of the policy's configuration (same
heads, same rotary embedding, same normalization; short MLP, small vocabulary, random weights). If
log-probs or gradients disagree, or the attention is none that packed rows can compute, training
takes the naive path and says so: it is right, and several times slower.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.recompute import recompute_activations, recomputes_activations
from llm_as_judge.training.packing import logprobs_and_entropy, pack_tree, packed_logprobs

PROMPTS = [[5, 9, 3, 44, 17, 8, 21, 2], [5, 9, 3, 44, 17, 8, 30, 31, 32, 33]]
COMPLETIONS = [[[1, 2, 3], [4], [1, 2, 9, 9, 7]], [[6, 5], [6, 5, 4, 3]]]
VOCABULARY, INTERMEDIATE = 64, 128


@dataclass(frozen=True, slots=True)
class UpdatePath:
    """How an update computes log-probs."""

    name: Literal["packed", "naive"]
    reason: str
    """What was measured, or why the packed rows are not used."""


def naive_logprobs(
    base: Any, prompt: Sequence[int], completion: Sequence[int], *, temperature: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Log-prob of every token of one completion, with gradient, and entropies; the model's own
    attention.

    Returns:
        (C,) and (C,), as :func:`packed_logprobs`.
    """
    device = base.get_input_embeddings().weight.device
    ids = torch.tensor([[*prompt, *completion]], device=device)
    labels = torch.tensor(list(completion), device=device)
    kept = len(completion) + 1
    logits = base(input_ids=ids, use_cache=False, logits_to_keep=kept).logits[0, -kept:-1]
    return logprobs_and_entropy(logits, labels, temperature or 1.0)


def choose_path(policy: Policy) -> UpdatePath:
    """Packed rows if they compute this model rightly on this machine, else the naive path.

    The state of torch's random generators is left as it was.
    """
    if policy.sliding_window:
        return UpdatePath("naive", "sliding-window attention layers: packed rows have none")
    base = policy.base
    if not (hasattr(base, "model") and hasattr(base, "lm_head")):
        return UpdatePath("naive", f"{type(base).__name__} has no model and lm_head to call apart")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        logprob_gap, gradient_gap = compare(_copy_of(policy))
    # half precision: every sum is rounded to 8 bits, in another order
    logprob_limit, gradient_limit = (1e-4, 1e-3) if policy.dtype == torch.float32 else (3e-2, 1e-1)
    found = f"log-prob gap {logprob_gap:.1e}, gradient gap {gradient_gap:.1e}"
    if logprob_gap <= logprob_limit and gradient_gap <= gradient_limit:
        return UpdatePath("packed", f"self-check: {found}")
    return UpdatePath(
        "naive",
        f"self-check of packed rows failed: {found}, "
        f"wanted <= {logprob_limit:.0e} and <= {gradient_limit:.0e}",
    )


def _copy_of(policy: Policy) -> Any:
    """Two layers of the policy's kind with random weights, on its device and in its type."""
    config = copy.deepcopy(policy.base.config)
    config.num_hidden_layers = 2
    if getattr(config, "layer_types", None):
        config.layer_types = list(config.layer_types[:2])
    config.vocab_size, config.intermediate_size = VOCABULARY, INTERMEDIATE
    config.pad_token_id = config.bos_token_id = config.eos_token_id = None
    small = AutoModelForCausalLM.from_config(
        config, dtype=policy.dtype, attn_implementation="sdpa"
    ).to(policy.device)
    for name, parameter in small.named_parameters():
        if "norm" not in name:  # a fresh model is almost uniform: differences would drown
            torch.nn.init.normal_(parameter, std=1.5 * parameter.shape[-1] ** -0.5)
    if recomputes_activations(policy.base):
        recompute_activations(small)
        small.train()
    return small


def compare(base: Any) -> tuple[float, float]:
    """Mean log-prob gap in nats, and the greatest gradient gap of a weight over its greatest value.

    The mean, not the maximum: in half precision single tokens are off by far more.
    """
    device = base.get_input_embeddings().weight.device
    weights_L = torch.linspace(-1, 1, sum(len(c) for g in COMPLETIONS for c in g), device=device)
    results = []
    for packed in (True, False):
        base.zero_grad()
        with packed_attention(base) if packed else nullcontext():
            if packed:
                logprobs_L = packed_logprobs(base, pack_tree(PROMPTS, COMPLETIONS, device))[0]
            else:
                logprobs_L = torch.cat(
                    [
                        naive_logprobs(base, prompt, completion)[0]
                        for prompt, group in zip(PROMPTS, COMPLETIONS, strict=True)
                        for completion in group
                    ]
                )
            torch.autograd.backward((logprobs_L * weights_L).sum())
        gradients = {n: p.grad.float() for n, p in base.named_parameters() if p.grad is not None}
        results.append((logprobs_L.detach(), gradients))
    (packed_L, packed_gradients), (naive_L, naive_gradients) = results
    gaps = [
        float((packed_gradients[n] - g).abs().max() / g.abs().max().clamp(min=1e-6))
        for n, g in naive_gradients.items()
    ]
    return (packed_L - naive_L).abs().mean().item(), max(gaps)
