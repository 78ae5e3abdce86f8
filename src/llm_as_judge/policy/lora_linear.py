"""PEFT's LoRA layer with its two small products added in place, in the base weight's own precision.

PEFT computes the adapter's part of a half-precision layer in float32: a copy of the input, the
product, its scaled copy, the sum. Each is as large as the layer's output, and each is memory that the
system hands out anew. Here the product is added to the base's output where it lies, and the backward
pass keeps the layer's input as it is.

What is rounded: A, B and their products, to the base weight's precision. The layer's output is
rounded to it anyway, and the adapter's part is the small one. The weights themselves and their
gradients stay float32. In a float32 model nothing is rounded, and the order of the sums alone differs.

Source: LoRA, arXiv:2106.09685; PEFT's developer guide on custom layers.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from peft.tuners.lora import Linear as PeftLinear
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import Linear
from torch.nn.functional import linear


class LoraLinear(PeftLinear):  # type: ignore[misc]
    """A linear layer with one plain LoRA adapter; everything else goes the way of PEFT."""

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """(..., in) to (..., out)."""
        plain = type(self.base_layer) is Linear and not (args or kwargs)
        if not plain or self.disable_adapters or self.merged or len(self.active_adapters) != 1:
            return cast("Tensor", super().forward(x, *args, **kwargs))
        (name,) = self.active_adapters
        if not torch.is_grad_enabled():
            return self._without_gradient(x, name)
        y: Tensor = _Adapted.apply(  # type: ignore[no-untyped-call]
            x,
            self.base_layer.weight,
            self.base_layer.bias,
            self.lora_A[name].weight,
            self.lora_B[name].weight,
            self.scaling[name],
        )
        return y

    def _without_gradient(self, x: Tensor, name: str) -> Tensor:
        """The same; the base layer computes its part itself, from packed weights where it has them."""
        y: Tensor = self.base_layer(x)
        a_RI = self.lora_A[name].weight.to(x.dtype)
        b_OR = (self.lora_B[name].weight * self.scaling[name]).to(x.dtype)
        y.view(-1, y.shape[-1]).addmm_(x.reshape(-1, x.shape[-1]) @ a_RI.T, b_OR.T)
        return y


class _Adapted(Function):
    """y = x W^T + bias + scaling * (x A^T) B^T; gradients of x, A and B."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight_OI: Tensor,
        bias_O: Tensor | None,
        a_RI: Tensor,
        b_OR: Tensor,
        scaling: float,
    ) -> Tensor:
        x_TI = x.reshape(-1, x.shape[-1])
        y_TO = linear(x_TI, weight_OI, bias_O)
        a_RI, b_OR = a_RI.to(x.dtype), (b_OR * scaling).to(x.dtype)
        h_TR = x_TI @ a_RI.T
        y_TO.addmm_(h_TR, b_OR.T)
        ctx.save_for_backward(x_TI, weight_OI, a_RI, b_OR, h_TR)
        ctx.shape, ctx.scaling = x.shape, scaling
        return y_TO.view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x_TI, weight_OI, a_RI, b_OR, h_TR = ctx.saved_tensors
        of_x, _, _, of_a, of_b, _ = ctx.needs_input_grad
        grad_TO = grad.reshape(-1, grad.shape[-1])
        grad_TR = grad_TO @ b_OR
        grad_x = (grad_TO @ weight_OI).addmm_(grad_TR, a_RI).view(ctx.shape) if of_x else None
        grad_a = (grad_TR.T @ x_TI).float() if of_a else None
        grad_b = (grad_TO.T @ h_TR).float().mul_(ctx.scaling) if of_b else None
        return grad_x, None, None, grad_a, grad_b, None
