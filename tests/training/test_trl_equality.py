"""Loss and gradient equal those of TRL's GRPOTrainer on the same tensors.

TRL computes one padded row per completion; here the step is one packed row. The log-probs at
sampling are moved off the policy's, so that ratios lie on both sides of every clip.
"""

# mypy: disable-error-code="no-untyped-call"
# torch's backward() has no types

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from llm_as_judge.config import PRESETS
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.training.grpo import LossOptions, policy_loss
from llm_as_judge.training.packing import pack_tree, packed_logprobs
from tiny_models import take_gradients, tiny

pytestmark = [
    # TRL still sets arguments of transformers by their old names
    pytest.mark.filterwarnings("ignore:.*gradient_checkpointing` is deprecated:FutureWarning"),
]
PROMPTS = [[5, 9, 3, 44, 21, 2], [5, 9, 3, 44, 30, 31, 32]]
COMPLETIONS = [[[1, 2, 3], [4], [1, 2, 9, 9, 7]], [[6, 5], [6, 5, 4, 3], [8, 8, 8]]]
ADVANTAGES = [1.2, -0.7, -0.5, 0.9, -1.4, 0.5]
LIMIT = 8
OF_TRL: dict[str, dict[str, Any]] = {
    "grpo": {"loss_type": "grpo"},
    "dapo": {"loss_type": "dapo"},
    "dr_grpo": {"loss_type": "dr_grpo"},
    "gspo": {"loss_type": "grpo", "importance_sampling_level": "sequence"},
    "cispo": {"loss_type": "cispo"},
}


def padded(rows: Sequence[Sequence[int]], *, left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, rows))
    ids, mask = torch.zeros(len(rows), longest, dtype=torch.long), torch.zeros(len(rows), longest)
    for i, row in enumerate(rows):
        span = slice(longest - len(row), None) if left else slice(0, len(row))
        ids[i, span] = torch.tensor(row)
        mask[i, span] = 1
    return ids, mask.long()


def loss_of_trl(
    model: Any, preset: str, old_logprobs: list[torch.Tensor], tokenizer: Path, folder: Path
) -> torch.Tensor:
    trl = pytest.importorskip("trl", reason="TRL is in the dev extra")
    from datasets import Dataset

    limits = PRESETS[preset]
    high = limits["is_clip_max"] if preset == "cispo" else limits["clip_high"]
    trainer = trl.GRPOTrainer(
        model=model,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=trl.GRPOConfig(
            output_dir=str(folder),
            use_cpu=True,
            bf16=False,
            report_to="none",
            gradient_checkpointing=False,
            per_device_train_batch_size=6,
            num_generations=6,
            max_completion_length=LIMIT,
            epsilon=limits["clip_low"],
            epsilon_high=high,
            **OF_TRL[preset],
        ),
        train_dataset=Dataset.from_list([{"prompt": "x"}] * 6),
        processing_class=AutoTokenizer.from_pretrained(tokenizer),
    )
    trainer.current_gradient_accumulation_steps = 1
    flat = [(p, c) for p, group in zip(PROMPTS, COMPLETIONS, strict=True) for c in group]
    prompt_ids, prompt_mask = padded([p for p, _ in flat], left=True)
    completion_ids, completion_mask = padded([c for _, c in flat], left=False)
    old = torch.nn.utils.rnn.pad_sequence(old_logprobs, batch_first=True)
    loss: torch.Tensor = trainer.compute_loss(
        model.train(),
        {
            "prompt_ids": prompt_ids,
            "prompt_mask": prompt_mask,
            "completion_ids": completion_ids,
            "completion_mask": completion_mask,
            "advantages": torch.tensor(ADVANTAGES),
            "old_per_token_logps": old,
            "num_items_in_batch": completion_mask.sum(),
        },
    )
    return loss


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "preset"), [("llama", "grpo"), *(("qwen2", preset) for preset in OF_TRL)]
)
def test_loss_and_gradient_equal_those_of_trl(
    family: str, preset: str, tiny_weights: Path, tmp_path: Path
) -> None:
    model = tiny(family)
    base = model.get_base_model()
    tree = pack_tree(PROMPTS, COMPLETIONS, torch.device("cpu"))
    options = LossOptions(**PRESETS[preset], constant_tokens=LIMIT)
    with packed_attention(base):
        logprobs, _ = packed_logprobs(base, tree)
        # GSPO's clip is narrow: most sequences would lie outside, and clipped ones have no gradient
        spread = 2e-3 if preset == "gspo" else 0.5
        generator = torch.Generator().manual_seed(1)
        old = logprobs.detach() + spread * torch.randn(len(logprobs), generator=generator)
        found, stats = policy_loss(
            logprobs, old, torch.tensor(ADVANTAGES), tree.leaf_lengths, options
        )
        found.backward()
    found_gradients = take_gradients(model)
    assert 0 < stats["clipped_fraction"] < 1 or preset == "cispo"

    wanted = loss_of_trl(model, preset, list(old.split(tree.leaf_lengths)), tiny_weights, tmp_path)
    wanted.backward()
    wanted_gradients = take_gradients(model)

    assert found.item() == pytest.approx(wanted.item(), abs=1e-5)
    assert wanted_gradients.keys() == found_gradients.keys()
    for name, gradient in wanted_gradients.items():
        assert gradient.abs().max() > 1e-6, name
        assert torch.allclose(found_gradients[name], gradient, atol=1e-5, rtol=0), name
