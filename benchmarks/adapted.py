"""Models with an adapter for benchmarks of the update: real weights or random ones, on a CPU or a GPU.

from adapted import layers_of_peft, load, recomputing
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft.tuners.lora import Linear as PeftLinear
from shapes import QWEN_05B, QWEN_7B, TINY
from transformers import AutoConfig, AutoModelForCausalLM, Qwen2Config

from llm_as_judge.config import load_models
from llm_as_judge.policy.adapter import AdapterSpec, new_adapter
from llm_as_judge.policy.lora_linear import LoraLinear
from llm_as_judge.policy.recompute import keep_activations, recompute_activations

RANDOM = {"tiny": TINY, "qwen2.5-0.5b": QWEN_05B, "qwen2.5-7b": QWEN_7B}
CACHE = Path(os.environ.get("LLM_AS_JUDGE_CACHE", "~/.cache/llm-as-judge")).expanduser()


def load(name: str, layers: int | None, device: torch.device, rank: int = 16) -> tuple[Any, str]:
    """A PEFT model with an adapter that is not the identity; and what it is. On a GPU in bfloat16."""
    torch.manual_seed(0)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    if name in RANDOM:
        config = Qwen2Config(**RANDOM[name])
    else:
        folder = weights_of(name)
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
    depth = config.num_hidden_layers
    config.num_hidden_layers = min(layers or depth, depth)
    if getattr(config, "layer_types", None):
        config.layer_types = list(config.layer_types[: config.num_hidden_layers])
    if name in RANDOM:
        with device:
            base = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa")
    else:
        base = AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=dtype, local_files_only=True
        ).to(device)
    weights = "random weights" if name in RANDOM else "its weights"
    said = (
        f"{name} ({config.num_hidden_layers} of {depth} layers of {config.hidden_size}, {weights}, "
        f"LoRA {rank})"
    )
    model = new_adapter(base, AdapterSpec(rank, 2 * rank))
    for parameter_name, parameter in model.named_parameters():
        if "lora_B" in parameter_name:
            torch.nn.init.normal_(parameter, std=0.01)
    return model, said


@contextmanager
def layers_of_peft() -> Iterator[None]:
    """Inside, adapter layers compute as PEFT's do."""
    own = LoraLinear.forward
    try:
        LoraLinear.forward = PeftLinear.forward  # type: ignore[method-assign]
        yield
    finally:
        LoraLinear.forward = own  # type: ignore[method-assign]


@contextmanager
def recomputing(model: Any) -> Iterator[None]:
    """Inside, activations are computed again in the backward pass."""
    base = model.get_base_model()
    recompute_activations(base)
    try:
        yield
    finally:
        keep_activations(base)


def weights_of(name: str) -> Path:
    if Path(name).is_dir():
        return Path(name)
    entries = load_models()
    if name not in entries:
        raise SystemExit(
            f"no model {name!r} (known: {', '.join(RANDOM)}, a folder, {', '.join(entries)})"
        )
    file = entries[name].filename
    folder = CACHE / "weights" / (Path(file).stem + "-safetensors" if file else name)
    if not folder.is_dir():
        raise SystemExit(f"{folder}: no weights; run: llm-as-judge models pull --model {name}")
    return folder
