"""Group-relative policy optimisation: pure functions for advantages and losses.

Differences from GRPO as published (DeepSeekMath, arXiv:2402.03300), all named options:

* ``centre``: the group's mean, or the mean of the siblings (leave one out, arXiv:2402.14740);
* ``scale``: deviation of the group, of the whole step, or none (Dr. GRPO, arXiv:2503.20783);
* ``aggregate``: mean over the tokens of each sequence (GRPO), over all tokens (DAPO,
  arXiv:2503.14476), or division by a constant (Dr. GRPO);
* ``objective``: the clipped ratio (PPO, arXiv:1707.06347), the truncated ratio as a weight
  (truncated importance sampling, CISPO arXiv:2506.13585), or none (REINFORCE);
* KL to the adapter-free model by the k3 estimator (http://joschu.net/blog/kl-approx.html), off by
  default.

Axes: ``_G`` rollouts of one group, ``_S`` sequences of a step, ``_T`` tokens of all sequences laid
end to end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Centre = Literal["mean", "leave_one_out"]
Scale = Literal["group", "batch", "none"]
Aggregate = Literal["sequence", "token", "constant"]
Objective = Literal["ppo_clip", "truncated_is", "reinforce"]


@dataclass(frozen=True, slots=True)
class LossOptions:
    """How advantages and ratios become a loss; defaults are GRPO as documented."""

    centre: Centre = "mean"
    scale: Scale = "group"
    aggregate: Aggregate = "sequence"
    objective: Objective = "ppo_clip"
    clip_low: float = 0.2
    clip_high: float = 0.28
    is_cap: float = 2.0
    kl_weight: float = 0.0
    constant_tokens: int = 512
    """Divisor per sequence of ``aggregate="constant"``: the token limit of a program."""


def step_advantages(
    rewards_P_G: Sequence[Sequence[float]],
    *,
    centre: Centre = "mean",
    scale: Scale = "group",
    eps: float = 1e-6,
) -> list[list[float]]:
    """Advantage of each rollout within its group.

    Args:
        rewards_P_G: total rewards of the scored rollouts of each group; two or more a group.
    Returns:
        The same shape; exactly zero throughout a group whose rewards are all equal.
    Raises:
        ValueError: a group of fewer than two rewards.
    """
    centred = [_centre(rewards_G, centre) for rewards_G in rewards_P_G]
    flat = [a for group in centred for a in group]
    batch_deviation = (sum(a * a for a in flat) / len(flat)) ** 0.5 if flat else 0.0
    advantages = []
    for rewards_G, group in zip(rewards_P_G, centred, strict=True):
        divisor = 1.0
        if scale == "group":
            divisor = float(torch.tensor(rewards_G, dtype=torch.float64).std()) + eps
        elif scale == "batch":
            divisor = batch_deviation + eps
        advantages.append([a / divisor for a in group])
    return advantages


def has_variance(rewards_G: Sequence[float]) -> bool:
    """Whether a group teaches anything: two rewards that differ by more than rounding."""
    return len(rewards_G) >= 2 and max(rewards_G) - min(rewards_G) > 1e-9


def _centre(rewards_G: Sequence[float], centre: Centre) -> list[float]:
    count = len(rewards_G)
    if count < 2:
        raise ValueError(f"a group needs two scored rollouts, found {count}")
    if not has_variance(rewards_G):
        return [0.0] * count  # exactly: a rounding residue over a tiny deviation would be noise
    mean = sum(rewards_G) / count
    factor = count / (count - 1) if centre == "leave_one_out" else 1.0
    return [factor * (reward - mean) for reward in rewards_G]


def policy_loss(
    logprobs_T: Tensor,
    old_logprobs_T: Tensor,
    advantages_S: Tensor,
    lengths_S: Sequence[int],
    options: LossOptions,
    *,
    reference_logprobs_T: Tensor | None = None,
    sequences_in_step: int | None = None,
    tokens_in_step: int | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """Loss to minimise, and its statistics.

    Args:
        logprobs_T: under the policy being trained, with gradient.
        old_logprobs_T: at sampling.
        advantages_S: one per sequence.
        lengths_S: tokens of each sequence; they add up to T.
        sequences_in_step, tokens_in_step: fixed normalisers, so that splitting a step into several
            rows and summing their losses changes nothing; default: those of this call.
    """
    lengths = torch.tensor(lengths_S, device=logprobs_T.device)
    advantages_T = advantages_S.repeat_interleave(lengths)
    ratio_T = torch.exp(logprobs_T - old_logprobs_T)
    per_token_T = -_objective(logprobs_T, ratio_T, advantages_T, options)
    stats: dict[str, float] = {
        "ratio_mean": ratio_T.mean().item(),
        "ratio_max": ratio_T.max().item(),
        "clipped_share": _clipped(ratio_T, advantages_T, options).float().mean().item(),
    }
    if options.kl_weight and reference_logprobs_T is not None:
        log_ratio = reference_logprobs_T - logprobs_T
        kl_T = torch.exp(log_ratio) - log_ratio - 1
        per_token_T = per_token_T + options.kl_weight * kl_T
        stats["kl"] = kl_T.mean().item()
    weights_T = _token_weights(
        lengths,
        options,
        sequences_in_step or len(lengths_S),
        tokens_in_step or int(lengths.sum()),
    )
    return (per_token_T * weights_T).sum(), stats


def _objective(
    logprobs_T: Tensor, ratio_T: Tensor, advantages_T: Tensor, options: LossOptions
) -> Tensor:
    if options.objective == "ppo_clip":
        clipped = ratio_T.clamp(1 - options.clip_low, 1 + options.clip_high)
        return torch.minimum(ratio_T * advantages_T, clipped * advantages_T)
    if options.objective == "truncated_is":
        weight = ratio_T.detach().clamp(max=options.is_cap)
        return weight * advantages_T * logprobs_T
    return advantages_T * logprobs_T


def _clipped(ratio_T: Tensor, advantages_T: Tensor, options: LossOptions) -> Tensor:
    if options.objective == "ppo_clip":
        low = (ratio_T < 1 - options.clip_low) & (advantages_T < 0)
        return low | ((ratio_T > 1 + options.clip_high) & (advantages_T > 0))
    if options.objective == "truncated_is":
        return ratio_T > options.is_cap
    return torch.zeros_like(ratio_T, dtype=torch.bool)


def _token_weights(lengths_S: Tensor, options: LossOptions, sequences: int, tokens: int) -> Tensor:
    """(T,) weight of each token's loss in the sum."""
    if options.aggregate == "sequence":
        per_sequence = 1.0 / (lengths_S * sequences)
    elif options.aggregate == "token":
        per_sequence = torch.full_like(lengths_S, 1.0 / tokens, dtype=torch.float32)
    else:
        per_sequence = torch.full_like(
            lengths_S, 1.0 / (sequences * options.constant_tokens), dtype=torch.float32
        )
    return per_sequence.repeat_interleave(lengths_S)
