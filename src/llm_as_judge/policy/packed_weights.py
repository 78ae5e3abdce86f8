"""Weights laid out once for products of few rows, as writing has them.

A product in bfloat16 on a CPU wants its weight in blocks. Left to itself torch lays every weight out anew
for every token, which takes longer than the product. Here it is done once for as long as a policy writes.
The values are the same; the memory of the weights is taken once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear


@contextmanager
def packed_weights(model: Any) -> Iterator[None]:
    """Inside, linear layers in bfloat16 read a copy in blocks; elsewhere and in other types nothing changes.

    Without gradient alone: what learns must read the weight itself.
    """
    layers = [m for m in model.modules() if type(m) is Linear and _gains(m.weight)]
    try:
        for layer in layers:
            blocks = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach())  # noqa: SLF001
            layer.forward = partial(_product, blocks, layer.bias)  # type: ignore[method-assign]
        yield
    finally:
        for layer in layers:
            layer.__dict__.pop("forward", None)


def _gains(weight: Tensor) -> bool:
    return (
        weight.dtype == torch.bfloat16
        and weight.device.type == "cpu"
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())  # noqa: SLF001
    )


def _product(blocks: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
    """(..., in) to (..., out)."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, blocks, bias, "none", [], "")  # noqa: SLF001
    return found
