"""The LoRA adapter of a policy, new or from a folder that anybody may have written.

A saved adapter is PEFT's pair of files, and is read here as data. PEFT's own reader would take a
pickle where there is no safetensors file, ask the hub where there is neither, import a module that
the configuration names (``megatron_core``), and no more than warn of weights that are missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch.nn import Linear

from llm_as_judge.errors import ModelError
from llm_as_judge.files import read_json
from llm_as_judge.policy.lora_linear import LoraLinear
from llm_as_judge.quoting import quoted

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_OURS = ("r", "lora_alpha", "target_modules")
_OF_NO_MATTER = (
    "base_model_name_or_path",
    "revision",
    "inference_mode",
    "lora_dropout",  # of the training that made it
    "peft_version",
)


@dataclass(frozen=True, slots=True)
class AdapterSpec:
    """Shape of the LoRA adapter (LoRA: arXiv:2106.09685)."""

    rank: int = 64
    alpha: int = 64
    targets: tuple[str, ...] = (
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
        "gate_proj",
        "up_proj",
        "down_proj",
    )


def new_adapter(base: Any, spec: AdapterSpec) -> Any:
    """``base`` with a fresh adapter (B = 0: equal to the base).

    Raises:
        ModelError: the base model has no layers of these names.
    """
    try:
        return get_peft_model(base, _lora(spec))
    except ValueError as error:
        raise ModelError(f"policy.lora_targets: {error}") from None


def saved_adapter(base: Any, folder: Path) -> Any:
    """``base`` with the adapter in ``folder``; nothing of it is executed.

    Raises:
        ModelError: a file is missing or broken, the adapter is of another kind, or its weights
            are not those that the base model takes.
    """
    spec = read_spec(folder)
    try:
        weights = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{folder / WEIGHTS}: cannot be read as safetensors: {error}; wanted a checkpoint folder"
        ) from None
    try:
        model = get_peft_model(base, _lora(spec))
    except ValueError as error:
        raise _unfit(folder, str(error)) from None
    _require_same(get_peft_model_state_dict(model), weights, folder)
    set_peft_model_state_dict(model, weights)
    return model


def read_spec(folder: Path) -> AdapterSpec:
    """Shape of the adapter in ``folder``.

    Raises:
        ModelError: no such file, or an adapter that is not plain LoRA.
    """
    path = folder / CONFIG
    try:
        data = read_json(path)
    except FileNotFoundError:
        raise ModelError(f"{folder}: no {CONFIG}; wanted a checkpoint folder") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(data, dict):
        raise ModelError(f"{path}: found {type(data).__name__}, wanted an object")
    plain = json.loads(json.dumps(_lora(AdapterSpec()).to_dict(), default=sorted))
    for key, value in data.items():
        usual = not value or key in (*_OURS, *_OF_NO_MATTER) or value == plain.get(key)
        if not usual:
            raise ModelError(
                f"{path}: {key} is {quoted(str(value), 60)!r}; only plain LoRA adapters are read, "
                "merge this one into its base model"
            )
    rank, alpha, targets = data.get("r"), data.get("lora_alpha"), data.get("target_modules")
    if not (_whole(rank) and _whole(alpha) and _names(targets)):
        raise ModelError(
            f"{path}: r {rank!r}, lora_alpha {alpha!r}, target_modules {quoted(str(targets), 60)!r}; "
            "wanted two whole numbers from 1 and a list of names of layers"
        )
    return AdapterSpec(rank, alpha, tuple(sorted(targets)))


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**16


def _names(value: Any) -> TypeGuard[list[str]]:
    return bool(value) and isinstance(value, list) and all(isinstance(x, str) for x in value)


def _lora(spec: AdapterSpec) -> LoraConfig:
    config = LoraConfig(
        r=spec.rank,
        lora_alpha=spec.alpha,
        lora_dropout=0.0,  # dropout would part the update's distribution from the sampled one
        target_modules=list(spec.targets),
        task_type="CAUSAL_LM",
    )
    # The name that PEFT's guide to layers of one's own gives.
    config._register_custom_module({Linear: LoraLinear})  # noqa: SLF001
    return config


def _require_same(
    wanted: Mapping[str, torch.Tensor], found: Mapping[str, torch.Tensor], folder: Path
) -> None:
    """The same names and shapes on both sides: a weight left out would stay at its fresh value."""
    for name in sorted({*wanted, *found}):
        if name not in found:
            raise _unfit(folder, f"it has no {name}")
        if name not in wanted:
            raise _unfit(folder, f"{name} is of no layer there")
        if wanted[name].shape != found[name].shape:
            shapes = f"{tuple(found[name].shape)}, wanted {tuple(wanted[name].shape)}"
            raise _unfit(folder, f"size of {name} is {shapes}")


def _unfit(folder: Path, why: str) -> ModelError:
    first = (why.strip().splitlines() or ["no reason given"])[0]
    return ModelError(f"{folder}: the adapter does not fit the base model: {first}")
