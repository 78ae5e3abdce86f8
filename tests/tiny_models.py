"""Tiny models of each supported family, with an adapter that does something, and the reference."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.model import Policy, load_policy

SMALL = AdapterSpec(4, 8)
VOCABULARY = 97
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
FAMILIES = {
    "qwen2": lambda **k: Qwen2ForCausalLM(Qwen2Config(**SIZES, **k)),
    "qwen3": lambda **k: Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=8, **k)),
    "llama": lambda **k: LlamaForCausalLM(LlamaConfig(**SIZES, **k)),
}


def tiny(
    family: str, *, tied: bool = False, targets: tuple[str, ...] = ("q_proj", "v_proj", "down_proj")
) -> Any:
    """A PEFT model whose adapter is not the identity."""
    torch.manual_seed(0)
    base = FAMILIES[family](tie_word_embeddings=tied)
    model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=list(targets)))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    return model.eval()


def tiny_policy(
    weights: Path, adapter: AdapterSpec | Path = SMALL, *, moved: float = 0, **how: Any
) -> Policy:
    """The policy in ``weights``, in single precision on this processor.

    Args:
        moved: deviation of the adapter's part B, which begins at zero and changes nothing.
        how: other options of :func:`load_policy`.
    """
    options: dict[str, Any] = {"device": "cpu", "dtype": "float32", "seed": 1, **how}
    policy = load_policy(weights, adapter=adapter, **options)
    if moved:
        move(policy, moved)
    return policy


def move(policy: Policy, scale: float) -> None:
    """Part B of the adapter drawn anew."""
    with torch.no_grad():
        for name, parameter in policy.adapter_parameters():
            if "lora_B" in name:
                parameter.normal_(std=scale)


def naive_logprobs(base: Any, prompt: list[int], completion: list[int], t: float) -> torch.Tensor:
    """The reference: one unpadded row, stock attention, the whole vocabulary at once."""
    ids = torch.tensor([prompt + completion])
    logits = base(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
    rows = torch.log_softmax(logits.float() / t, -1)
    return rows.gather(-1, torch.tensor(completion)[:, None])[:, 0]


def take_gradients(model: Any) -> dict[str, torch.Tensor]:
    """Gradients by parameter; they are zeroed in the model."""
    found = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return found


def edited(weights: Path, folder: Path, **config: Any) -> Path:
    """A copy of a weights folder with other words in its config.json."""
    shutil.copytree(weights, folder)
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return folder


def windowed(weights: Path, folder: Path) -> Path:
    """A copy of the two-layer policy whose first layer sees six tokens back."""
    return edited(
        weights,
        folder,
        layer_types=["sliding_attention", "full_attention"],
        use_sliding_window=True,
        sliding_window=6,
        max_window_layers=0,
    )
