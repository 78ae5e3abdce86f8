"""Keys of learning."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from llm_as_judge.config.loss import LossKeys
from llm_as_judge.config.presets import Preset
from llm_as_judge.config.reading import Number, Section


class _Course(Section):
    """The keys before those of the loss: how many updates, of how much, how fast."""

    steps: int = Field(500, ge=1, description="Updates in the run.")
    problems_per_step: int = Field(4, ge=1, description="Groups in a step.")
    samples_per_problem: int = Field(6, ge=2, description="Programs of one group (K).")
    epochs_per_step: int = Field(1, ge=1, description="Passes over the rollouts of a step.")
    learning_rate: Number = Field(2e-5, gt=0, description="Peak, after warm-up.")
    warmup_steps: int = Field(0, ge=0, description="Steps of linear warm-up.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        "constant", description="Course of the learning rate after warm-up."
    )
    weight_decay: Number = Field(0.0, ge=0, description="AdamW, on adapter weights only.")
    max_grad_norm: Number = Field(1.0, gt=0, description="Gradients are clipped to this norm.")
    preset: Preset = Field(
        "grpo",
        description="Published loss: it sets the keys from baseline to kl_weight. A key beside it, or in "
        "a later file or option, wins.",
    )


class TrainingConfig(LossKeys, _Course):
    """GRPO, and what the policy imitates before it."""

    warm_start: Path | None = Field(
        None,
        description="Folder of a bank (search --split train, headroom). Before step 1 the policy imitates "
        "the programs that were right there; cheap ones weigh more. Default: no warm start.",
    )
    warm_start_epochs: int = Field(
        1,
        ge=1,
        description="Passes of the warm start over its problems. An update takes problems_per_step of them.",
    )
    warm_start_learning_rate: Number | None = Field(
        None,
        gt=0,
        description="Learning rate of the warm start at its first update; it falls to 0. Default: "
        "learning_rate.",
    )

    max_logprob_gap: Number | None = Field(
        None,
        description="Maximum gap of log-probs between sampling and the first update of a batch; above it "
        "the run stops. float32: the greatest gap (default 1e-4). bfloat16: the mean (0.03). "
        "vLLM: the mean (0.05). Or 1.5 times the measured rounding of these programs, at most "
        "0.1.",
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
        "written. Give less than the cluster's limit: the servers need time to end.",
    )
    seed: int = Field(0, ge=0, description="Seed of everything random in the run.")
    rank_timeout_s: Number = Field(
        1800.0,
        gt=60,
        description="Several processes (`accelerate launch`): seconds without a sign of a process after "
        "which the run stops. A process that dies is noticed at once.",
    )
