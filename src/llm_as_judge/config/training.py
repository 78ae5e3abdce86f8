"""Keys of learning: the loss, its published presets, the course of a run, the warm start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

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


Preset = Literal["grpo", "dr_grpo", "dapo", "gspo", "cispo"]


def _over_grpo(**changes: Any) -> Mapping[str, Any]:
    return MappingProxyType(LossKeys(**changes).model_dump())


PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        # DeepSeekMath, arXiv:2402.03300, equation 3. The paper adds a KL of weight 0.04; here it is
        # off, as in the papers below: no second forward pass.
        "grpo": _over_grpo(),
        # arXiv:2503.20783, section 3.2: neither the length of a sequence nor the deviation of its
        # group may weigh it.
        "dr_grpo": _over_grpo(advantage_norm="none", loss_aggregation="constant"),
        # arXiv:2503.14476, sections 3.1 and 3.3: the upper clip is higher, all tokens weigh alike.
        "dapo": _over_grpo(loss_aggregation="token", clip_high=0.28),
        # arXiv:2507.18071, equation 5 and section 5.1: the ratio of the whole sequence, so the clip
        # is three orders of magnitude smaller.
        "gspo": _over_grpo(loss_type="gspo", clip_low=3e-4, clip_high=4e-4),
        # MiniMax-M1, arXiv:2506.13585, equations 4 and 5: no floor, a tuned cap that the paper does
        # not print; 5 is that of ScaleRL (arXiv:2510.13786).
        "cispo": _over_grpo(loss_type="cispo", loss_aggregation="token", is_clip_max=5.0),
    }
)
"""Preset -> keys of ``training`` with their values; every preset sets the same keys."""


class _Course(Section):
    """The keys before those of the loss: how many updates, of how much, how fast."""

    steps: int = Field(500, ge=1, description="Updates in the run.")
    problems_per_step: int = Field(4, ge=1, description="Groups in a step.")
    samples_per_problem: int = Field(6, ge=2, description="Programs of one group (K).")
    epochs_per_step: int = Field(1, ge=1, description="Passes over the rollouts of a step.")
    learning_rate: Number = Field(2e-5, gt=0, le=1, description="Peak, after warm-up.")
    warmup_steps: int = Field(0, ge=0, description="Steps of linear warm-up.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        "constant", description="Course of the learning rate after warm-up."
    )
    weight_decay: Number = Field(0.0, ge=0, description="AdamW, on adapter weights only.")
    max_grad_norm: Number = Field(1.0, gt=0, description="Gradients are clipped to this norm.")
    entropy_floor: Number = Field(
        0.0,
        ge=0,
        description="Nats a token. While the step's programs have less, rarer ones gain advantage. 0: none.",
    )
    preset: Preset = Field(
        "grpo",
        description="Published loss: it sets the keys from baseline to kl_weight.\n"
        "A key beside it, or in a later file or option, wins.",
    )


class TrainingConfig(LossKeys, _Course):
    """GRPO, and what the policy imitates before it."""

    warm_start: Path | None = Field(
        None,
        description="Folder of a bank. Before step 1 the policy imitates its best programs. "
        "Default: none.\n"
        "`search --split train` and `headroom` fill a bank. Cheap programs weigh more.",
    )
    warm_start_mode: Literal["best", "form"] = Field(
        "best",
        description="`best`: each problem's best programs are imitated. `form`: programs of all kinds, alike.\n"
        "`form` leaves the choice to GRPO.",
    )
    warm_start_epochs: int = Field(
        1,
        ge=1,
        description="Passes of the warm start over its problems. An update takes problems_per_step of them.",
    )
    warm_start_learning_rate: Number | None = Field(
        None,
        gt=0,
        le=1,
        description="Learning rate of the warm start at its first update; it falls to 0. Default: "
        "learning_rate.",
    )

    max_logprob_gap: Number | None = Field(
        None,
        description="Maximum gap of log-probs between sampling and the first update of a batch. Above it "
        "the run stops.\n"
        "Default in float32: 1e-4 for the greatest gap.\n"
        "Default in bfloat16: 0.03 for the mean gap.\n"
        "Default with vLLM: 0.05 for the mean gap.\n"
        "A default for the mean rises to 1.5 times the measured rounding of these programs, to 0.1 at "
        "most.",
    )
    tokens_per_micro_batch: int = Field(
        32768,
        ge=64,
        description="Maximum tokens of a micro-batch; a step is split into micro-batches.",
    )
    max_failed_fraction: Number = Field(
        0.25,
        ge=0,
        le=1,
        description="Maximum fraction of a step's rollouts lost to endpoint or sandbox. Above it the run "
        "stops.",
    )
    max_staleness: int = Field(
        1,
        ge=0,
        description="Maximum policy lag in updates (0 = synchronous). With 1, the programs of the next "
        "step run while this one is learned.",
    )
    save_every: int = Field(50, ge=1, description="Steps between checkpoints.")
    keep_checkpoints: int = Field(3, ge=1, description="Newest checkpoints kept.")
    grace_s: float = Field(
        20.0,
        ge=0,
        description="Seconds that the step in progress may take after SIGTERM; then a checkpoint is "
        "written.\n"
        "Give less than the cluster's limit: the servers need time to end.",
    )
    seed: int = Field(0, ge=0, description="Seed of everything random in the run.")
    rank_timeout_s: Number = Field(
        1800.0,
        gt=60,
        description="Several processes (`accelerate launch`): seconds without a sign of one after which "
        "the run stops.\n"
        "A process that dies is noticed at once.",
    )
