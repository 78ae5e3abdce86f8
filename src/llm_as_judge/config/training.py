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
        description="Published loss that sets the keys from baseline to kl_weight; a key given "
        "beside it, or in a later file or option, wins.",
    )


class TrainingConfig(LossKeys, _Course):
    """GRPO, and what the policy imitates before it."""

    warm_start: Path | None = Field(
        None,
        description="Folder of a bank of training problems (search --split train). Before its first "
        "step the policy imitates the programs that were right on each of them; a cheap one counts "
        "more. Default: no such stage.",
    )
    warm_start_epochs: int = Field(
        1,
        ge=1,
        description="Passes of the warm start over its problems. An update takes problems_per_step of them.",
    )
    warm_start_learning_rate: Number | None = Field(
        None,
        gt=0,
        description="Of the warm start at its first update; it falls to 0. Default: learning_rate.",
    )

    max_logprob_gap: Number | None = Field(
        None,
        description="|log-prob at sampling - at update| before the first update of a batch above "
        "which the run stops: the greatest in float32 (default 1e-4), the mean in bfloat16 (0.03) "
        "and where vLLM samples (0.05), or 1.5 times what rounding alone was measured to make of "
        "these programs, 0.1 at most.",
    )
    tokens_per_micro_batch: int = Field(
        32768,
        ge=64,
        description="Tokens of one micro-batch at most; a step is split over micro-batches.",
    )
    max_failed_fraction: Number = Field(
        0.25,
        ge=0,
        le=1,
        description="More rollouts of a step than this lost to endpoint or sandbox stop the run.",
    )
    max_staleness: int = Field(
        1,
        ge=0,
        description="Updates that the weights which write a program may lie behind those it "
        "teaches: programs of that many steps run while another is learned. 0: strictly in turn.",
    )
    save_every: int = Field(50, ge=1, description="Steps between checkpoints.")
    keep_checkpoints: int = Field(3, ge=1, description="Newest checkpoints kept.")
    grace_s: float = Field(
        20.0,
        ge=0,
        description="Seconds that the step in progress may take after SIGTERM; then a checkpoint is "
        "written. Leave the rest of what the cluster gives to the end of the servers.",
    )
    seed: int = Field(0, ge=0, description="Of everything random in the run.")
    rank_timeout_s: Number = Field(
        1800.0,
        gt=60,
        description="Several processes (`accelerate launch`): one that is not heard of for so long "
        "is given up, and with it the run. One that dies is noticed at once.",
    )
