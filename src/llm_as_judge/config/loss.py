"""Keys of the loss: their names, limits and defaults, for the configuration, presets and learner.

``training/grpo.py`` says what each of them does, and where it was published.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from llm_as_judge.config.reading import Number, Section

Baseline = Literal["mean", "leave_one_out"]
AdvantageNorm = Literal["group", "batch", "none"]
LossAggregation = Literal["sequence", "token", "constant"]
LossType = Literal["ppo_clip", "gspo", "cispo", "truncated_is", "reinforce"]


class LossKeys(Section):
    """How advantages and ratios become a loss; the defaults are those of GRPO as documented."""

    baseline: Baseline = Field(
        "mean", description="What is subtracted from a reward: the group's mean, or its siblings'."
    )
    advantage_norm: AdvantageNorm = Field(
        "group", description="What advantages are divided by: deviation of the group, or batch."
    )
    loss_aggregation: LossAggregation = Field(
        "sequence", description="Mean per sequence (GRPO), per token (DAPO), fixed (Dr. GRPO)."
    )
    loss_type: LossType = Field("ppo_clip", description="How the policy ratio enters the loss.")
    clip_low: Number = Field(
        0.2, ge=0, lt=1, description="ppo_clip, gspo: a ratio below 1 - this is clipped."
    )
    clip_high: Number = Field(
        0.2, ge=0, description="ppo_clip, gspo: a ratio above 1 + this is clipped."
    )
    is_clip_min: Number = Field(
        0.0, ge=0, le=1, description="cispo: the ratio is at least this; 0: no limit."
    )
    is_clip_max: Number = Field(
        2.0, ge=1, description="cispo, truncated_is: the ratio is at most this."
    )
    kl_weight: Number = Field(0.0, ge=0, description="Weight of k3 KL to the adapter-free model.")
