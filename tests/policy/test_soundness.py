"""Quantized files, NaN and infinities: one line, wherever in a policy they stand."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from llm_as_judge.errors import ModelError
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.types import Message, Prompt, Sampling
from tiny_models import tiny_policy

BROKEN = [math.nan, math.inf, -math.inf]


@pytest.fixture
def weights(tiny_weights: Path, tmp_path: Path) -> Path:
    """A copy of the tiny policy to be spoiled."""
    return Path(shutil.copytree(tiny_weights, tmp_path / "policy"))


def spoil(file: Path, value: float) -> str:
    """The last number of some weight is ``value``; returns the weight's name."""
    tensors = load_file(file)
    name = sorted(tensors)[len(tensors) // 2]
    tensors[name].view(-1)[-1] = value
    save_file(tensors, file, metadata={"format": "pt"})
    return name


@pytest.mark.parametrize("value", BROKEN)
def test_base_weights_that_are_no_finite_numbers_are_named(weights: Path, value: float) -> None:
    name = spoil(weights / "model.safetensors", value)
    last = name.removesuffix(".weight").rpartition(".")[2]
    with pytest.raises(
        ModelError,
        match=rf"^{weights}: .*{last}.* holds NaN or an infinity; fetch the weights again$",
    ):
        tiny_policy(weights)


def test_an_adapter_that_is_no_finite_numbers_is_named(weights: Path, tmp_path: Path) -> None:
    saved = tmp_path / "adapter"
    tiny_policy(weights).save_adapter(saved)
    spoil(saved / "adapter_model.safetensors", math.nan)
    with pytest.raises(ModelError, match=rf"^{saved}: .*lora_.* holds NaN or an infinity"):
        tiny_policy(weights, saved)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"quant_method": "gptq", "bits": 4}, "gptq"),
        ({"quant_method": "awq", "version": "gemm"}, "awq"),
        ({"bits": 4}, "no method named"),
        ([4], "no method named"),
    ],
)
def test_quantized_weights_are_one_line(weights: Path, said: object, shown: str) -> None:
    config = json.loads((weights / "config.json").read_text())
    (weights / "config.json").write_text(json.dumps({**config, "quantization_config": said}))
    with pytest.raises(
        ModelError, match=rf"^{weights}: its weights are quantized \({shown}\); wanted plain ones"
    ):
        tiny_policy(weights)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "\udcff"], ids=["cut", "nested", "bytes"])
def test_a_config_that_cannot_be_read_is_one_line(weights: Path, text: str) -> None:
    (weights / "config.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ModelError, match=r"config\.json: cannot be read"):
        tiny_policy(weights)


@pytest.mark.parametrize("value", BROKEN[:2])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_finite_numbers_end_sampling(
    tiny_weights: Path, value: float, temperature: float
) -> None:
    policy = tiny_policy(tiny_weights)
    with torch.no_grad():
        policy.base.model.norm.weight.fill_(value)
    prompt = Prompt([Message("user", "6 * 7?")])
    with pytest.raises(ModelError, match=r"^policy \S+: its logits are not finite numbers; "):
        HFSampler(policy).complete([prompt], Sampling(2, temperature, 4, seed=1))
