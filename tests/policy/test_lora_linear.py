"""The adapted layer computes what PEFT's does, with less memory and in the same weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from peft.tuners.lora import Linear as PeftLinear
from peft.tuners.lora import LoraConfig
from torch import Tensor
from torch.nn import Linear

from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.lora_linear import LoraLinear
from llm_as_judge.policy.model import load_policy

IN, OUT, RANK = 48, 80, 4


def layers(dtype: torch.dtype, bias: bool = True) -> tuple[LoraLinear, PeftLinear]:
    """Ours and PEFT's with the same weights, none of them zero."""
    torch.manual_seed(3)
    base = Linear(IN, OUT, bias=bias, dtype=dtype).requires_grad_(False)
    config = LoraConfig(r=RANK, lora_alpha=6)
    ours, theirs = (
        kind(base, "default", config=config, r=RANK, lora_alpha=6)
        for kind in (LoraLinear, PeftLinear)
    )
    for which in ("lora_A", "lora_B"):
        weight = torch.randn_like(getattr(ours, which)["default"].weight) * 0.2
        for layer in (ours, theirs):
            getattr(layer, which)["default"].weight = torch.nn.Parameter(weight.float().clone())
    return ours, theirs


def computed(layer: PeftLinear, x: Tensor, seen: Tensor) -> list[Tensor]:
    """Output, and gradients of input, A and B, in float32."""
    x = x.clone().requires_grad_()
    y = layer(x)
    torch.autograd.backward((y * seen).sum())
    a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
    found = [y.detach(), x.grad, a.grad, b.grad]
    layer.zero_grad()
    assert a.grad is None
    return [tensor.float() for tensor in found if tensor is not None]


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor]:
    torch.manual_seed(4)
    return torch.randn(2, 9, IN), torch.randn(2, 9, OUT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_without_gradient_the_output_is_the_same(
    dtype: torch.dtype, inputs: tuple[Tensor, Tensor]
) -> None:
    ours, _ = layers(dtype)
    x = inputs[0].to(dtype)
    with torch.no_grad():
        found = ours(x)
    torch.testing.assert_close(found, ours(x).detach())


@pytest.mark.parametrize("bias", [True, False])
def test_output_and_gradients_are_those_of_peft(bias: bool, inputs: tuple[Tensor, Tensor]) -> None:
    ours, theirs = (computed(layer, *inputs) for layer in layers(torch.float32, bias))
    assert len(ours) == len(theirs) == 4
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def test_in_half_precision_it_is_as_near_to_the_exact_values_as_peft_is(
    inputs: tuple[Tensor, Tensor],
) -> None:
    half = [tensor.bfloat16() for tensor in inputs]
    ours, theirs = layers(torch.bfloat16)
    _, exact = layers(torch.bfloat16)
    exact.base_layer = Linear(IN, OUT).requires_grad_(False)
    exact.base_layer.load_state_dict(ours.base_layer.state_dict())
    wanted = computed(exact, *(tensor.float() for tensor in half))
    for one, other, right in zip(
        computed(ours, *half), computed(theirs, *half), wanted, strict=True
    ):
        error, theirs_error = (one - right).norm(), (other - right).norm()
        assert error <= max(2 * theirs_error, 2**-7 * right.norm())


def test_weights_and_gradients_of_the_adapter_stay_single_precision(
    inputs: tuple[Tensor, Tensor],
) -> None:
    ours, _ = layers(torch.bfloat16)
    torch.autograd.backward(ours(inputs[0].bfloat16()).float().sum())
    for weight in (ours.lora_A["default"].weight, ours.lora_B["default"].weight):
        assert weight.dtype == torch.float32
        assert weight.grad is not None
        assert weight.grad.dtype == torch.float32


def test_a_disabled_adapter_leaves_the_base(inputs: tuple[Tensor, Tensor]) -> None:
    ours, _ = layers(torch.float32)
    ours.enable_adapters(False)
    assert torch.equal(ours(inputs[0]), ours.base_layer(inputs[0]))


class Doubled(Linear):
    """A linear layer with a product of its own, as quantized ones have."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def test_a_base_layer_of_another_kind_keeps_its_own_product(inputs: tuple[Tensor, Tensor]) -> None:
    ours, _ = layers(torch.float32)
    plain = ours.base_layer
    ours.base_layer = Doubled(IN, OUT)
    ours.base_layer.load_state_dict(plain.state_dict())
    adapted = ours(inputs[0]) - ours.base_layer(inputs[0])
    ours.base_layer = plain
    torch.testing.assert_close(adapted, ours(inputs[0]) - plain(inputs[0]), rtol=1e-4, atol=1e-5)


def test_every_adapted_layer_of_a_policy_is_of_this_kind(tiny_weights: Path) -> None:
    spec = AdapterSpec(4, 8, ("q_proj", "down_proj"))
    policy = load_policy(tiny_weights, adapter=spec, device="cpu", dtype="float32", seed=1)
    kinds = {type(m) for m in policy.model.modules() if isinstance(m, PeftLinear)}
    assert kinds == {LoraLinear}
