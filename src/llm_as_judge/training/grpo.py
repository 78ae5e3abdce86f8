"""Group-relative policy optimization: pure functions for advantages and losses.

Differences from GRPO as published (DeepSeekMath, arXiv:2402.03300), all named options:

* ``baseline``: the group's mean, or the mean of the siblings (leave one out, arXiv:2402.14740);
* ``advantage_norm``: deviation of the group, of the whole step, or none (Dr. GRPO, arXiv:2503.20783);
* ``loss_aggregation``: mean over the tokens of each sequence (GRPO), over all tokens (DAPO,
  arXiv:2503.14476), or division by a constant (Dr. GRPO);
* ``loss_type``: the clipped ratio of each token (PPO, arXiv:1707.06347) or of the sequence (GSPO,
  arXiv:2507.18071), the ratio as a weight without gradient, clipped on both sides (CISPO,
  arXiv:2506.13585) or above (truncated importance sampling), or no ratio (REINFORCE);
* ``entropy_floor``: while the step's programs have less entropy, those that are rarer than their group gain
  advantage, the more the lower it is (maximum-entropy policy gradient, arXiv:1704.06440; on a
  floor alone as in Skywork-OR1, arXiv:2505.22312);
* KL to the adapter-free model by the k3 estimator (http://joschu.net/blog/kl-approx.html), off by
  default.

Names, limits and defaults stand in ``config/training.py``, as do published combinations.

Axes: ``_G`` rollouts of one group, ``_S`` sequences of a step, ``_T`` tokens of all sequences laid
end to end.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from llm_as_judge.config import Baseline, LossKeys

ENTROPY_WEIGHT = 1.0
"""Advantage of a nat at half of the floor. A deviation of the rewards weighs 1."""
LEAST_PART = 0.1
"""Of the floor: with less entropy the bonus grows no more."""


class LossOptions(LossKeys):
    """The keys of the loss, and what the configuration says elsewhere."""

    constant_tokens: int = 512
    """Divisor per sequence of ``loss_aggregation="constant"``: the token limit of a program."""
    entropy_floor: float = 0.0
    """Nats a token; 0: none."""

    @property
    def floor(self) -> float:
        """Least weight of a token: plain truncated importance sampling has none."""
        return self.is_clip_min if self.loss_type == "cispo" else 0.0


def step_advantages(
    rewards_P_G: Sequence[Sequence[float]],
    options: LossKeys,
    *,
    eps: float = 1e-6,
) -> list[list[float]]:
    """Advantage of each rollout within its group.

    Args:
        rewards_P_G: total rewards of the scored rollouts of each group; two or more a group.
        options: ``baseline`` and ``advantage_norm`` of them.
    Returns:
        The same shape; exactly zero throughout a group whose rewards are all equal.
    Raises:
        ValueError: a group of fewer than two rewards.
    """
    centered = [_center(rewards_G, options.baseline) for rewards_G in rewards_P_G]
    flat = [a for group in centered for a in group]
    batch_deviation = (sum(a * a for a in flat) / len(flat)) ** 0.5 if flat else 0.0
    advantages = []
    for rewards_G, group in zip(rewards_P_G, centered, strict=True):
        divisor = 1.0
        if options.advantage_norm == "group":
            divisor = float(torch.tensor(rewards_G, dtype=torch.float64).std()) + eps
        elif options.advantage_norm == "batch":
            divisor = batch_deviation + eps
        advantages.append([a / divisor for a in group])
    return advantages


def entropy_bonus(logprobs_S: Sequence[Sequence[float]], floor: float) -> float:
    """Advantage of a nat that a program is rarer: the floor by the step's entropy, less 1, times
    :data:`ENTROPY_WEIGHT`.

    It grows to 9 as the entropy falls, so no reward outweighs it for long; a bonus in proportion to
    what lacks let the entropy fall on (docs/results/learning.md).

    Args:
        logprobs_S: of each token of the step's programs, at sampling. Their mean is an unbiased estimate of
            minus the entropy a token.
        floor: nats a token; 0: none.
    """
    tokens = sum(map(len, logprobs_S))
    if not floor or not tokens:
        return 0.0
    entropy = -sum(map(sum, logprobs_S)) / tokens
    return ENTROPY_WEIGHT * max(0.0, floor / max(entropy, LEAST_PART * floor) - 1)


def with_bonus(
    advantages_P_G: Sequence[Sequence[float]],
    surprises_P_G: Sequence[Sequence[float]],
    weight: float,
) -> list[list[float]]:
    """Advantages, with ``weight`` for each nat that a program is rarer than its group's mean.

    Its expectation is the gradient of the entropy of whole programs: no gradient goes through the
    entropy itself.

    Args:
        surprises_P_G: minus the log-prob of each program at sampling, nats.
    """
    found = []
    for advantages_G, surprises_G in zip(advantages_P_G, surprises_P_G, strict=True):
        mean = sum(surprises_G) / len(surprises_G)
        pairs = zip(advantages_G, surprises_G, strict=True)
        found.append([advantage + weight * (s - mean) for advantage, s in pairs])
    return found


def has_variance(rewards_G: Sequence[float]) -> bool:
    """Whether a group teaches anything: two rewards that differ by more than rounding."""
    return len(rewards_G) >= 2 and max(rewards_G) - min(rewards_G) > 1e-9


def _center(rewards_G: Sequence[float], baseline: Baseline) -> list[float]:
    count = len(rewards_G)
    if count < 2:
        raise ValueError(f"a group needs two scored rollouts, found {count}")
    if not has_variance(rewards_G):
        return [0.0] * count  # exactly: a rounding residue over a tiny deviation would be noise
    mean = sum(rewards_G) / count
    factor = count / (count - 1) if baseline == "leave_one_out" else 1.0
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
    """Loss to minimize, and its statistics.

    Args:
        logprobs_T: under the policy being trained, with gradient.
        old_logprobs_T: at sampling.
        advantages_S: one per sequence.
        lengths_S: tokens of each sequence; they add up to T.
        sequences_in_step, tokens_in_step: fixed normalizers, so that splitting a step into several
            rows and summing their losses changes nothing; default: those of this call.
    """
    lengths = torch.tensor(lengths_S, device=logprobs_T.device)
    advantages_T = advantages_S.repeat_interleave(lengths)
    log_ratio_T = logprobs_T - old_logprobs_T
    if options.loss_type == "gspo":
        log_ratio_T = sequence_log_ratio(log_ratio_T, lengths)
    ratio_T = torch.exp(log_ratio_T)
    per_token_T = -_objective(logprobs_T, ratio_T, advantages_T, options)
    stats: dict[str, float] = {
        "ratio_mean": ratio_T.mean().item(),
        "ratio_max": ratio_T.max().item(),
        "clipped_fraction": _clipped(ratio_T, advantages_T, options).float().mean().item(),
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


def imitation_loss(logprobs_T: Tensor, weights_S: Tensor, lengths_S: Sequence[int]) -> Tensor:
    """Weighted negative log-likelihood of given programs: no ratio, since nobody sampled them.

    Args:
        logprobs_T: under the policy being trained, with gradient.
        weights_S: one per sequence, as each of its tokens counts in the step's sum.
        lengths_S: tokens of each sequence; they add up to T.
    """
    lengths = torch.tensor(lengths_S, device=logprobs_T.device)
    return -(weights_S.repeat_interleave(lengths) * logprobs_T).sum()


def clipped_objective(ratio_T: Tensor, advantages_T: Tensor, low: float, high: float) -> Tensor:
    """(T,) value to raise: the lesser of the plain and the clipped ratio, times the advantage.

    Source: PPO, arXiv:1707.06347, equation 7; the two limits apart: DAPO, arXiv:2503.14476.
    """
    clipped_T = ratio_T.clamp(1 - low, 1 + high)
    return torch.minimum(ratio_T * advantages_T, clipped_T * advantages_T)


def sequence_log_ratio(log_ratio_T: Tensor, lengths_S: Tensor) -> Tensor:
    """(T,) at each token the mean log-ratio of its sequence: GSPO's length-normalized ratio.

    The clipped objective of it, averaged over the sequence, is GSPO's: every token carries the same
    value, and its gradient reaches all tokens of the sequence alike.

    Args:
        log_ratio_T: log-prob now minus at sampling.
        lengths_S: tokens of each sequence, on the same device.
    Source: arXiv:2507.18071, equation 7.
    """
    sequence_of_T = torch.arange(len(lengths_S), device=lengths_S.device).repeat_interleave(
        lengths_S
    )
    sums_S = log_ratio_T.new_zeros(len(lengths_S)).index_add(0, sequence_of_T, log_ratio_T)
    return (sums_S / lengths_S)[sequence_of_T]


def weighted_objective(
    logprobs_T: Tensor, ratio_T: Tensor, advantages_T: Tensor, floor: float, cap: float
) -> Tensor:
    """(T,) value to raise: log-prob times advantage, weighted by the clipped ratio.

    The weight has no gradient, so no token loses its own: that is the difference from PPO's clip.

    Source: CISPO, arXiv:2506.13585, equations 4 and 5 (floor = 1 - eps_low, cap = 1 + eps_high).
    """
    return ratio_T.detach().clamp(floor, cap) * advantages_T * logprobs_T


def _objective(
    logprobs_T: Tensor, ratio_T: Tensor, advantages_T: Tensor, options: LossOptions
) -> Tensor:
    if options.loss_type in ("ppo_clip", "gspo"):
        return clipped_objective(ratio_T, advantages_T, options.clip_low, options.clip_high)
    if options.loss_type == "reinforce":
        return advantages_T * logprobs_T
    return weighted_objective(logprobs_T, ratio_T, advantages_T, options.floor, options.is_clip_max)


def _clipped(ratio_T: Tensor, advantages_T: Tensor, options: LossOptions) -> Tensor:
    if options.loss_type in ("ppo_clip", "gspo"):
        low = (ratio_T < 1 - options.clip_low) & (advantages_T < 0)
        return low | ((ratio_T > 1 + options.clip_high) & (advantages_T > 0))
    if options.loss_type == "reinforce":
        return torch.zeros_like(ratio_T, dtype=torch.bool)
    return (ratio_T > options.is_clip_max) | (ratio_T < options.floor)


def _token_weights(lengths_S: Tensor, options: LossOptions, sequences: int, tokens: int) -> Tensor:
    """(T,) weight of each token's loss in the sum."""
    if options.loss_aggregation == "sequence":
        per_sequence = 1.0 / (lengths_S * sequences)
    elif options.loss_aggregation == "token":
        per_sequence = torch.full_like(lengths_S, 1.0 / tokens, dtype=torch.float32)
    else:
        per_sequence = torch.full_like(
            lengths_S, 1.0 / (sequences * options.constant_tokens), dtype=torch.float32
        )
    return per_sequence.repeat_interleave(lengths_S)
