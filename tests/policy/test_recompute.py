"""Layers compute twice where activations are not kept, whatever transformers calls that."""

# mypy: disable-error-code="no-untyped-call"
# torch's backward() has no types

from __future__ import annotations

from typing import Any

import pytest
import torch

from llm_as_judge.policy.recompute import recompute_activations, recomputes_activations
from tiny_models import tiny


class Older:
    """A model with the names that transformers had before 5.23."""

    def __init__(self, base: Any) -> None:
        self._base = base

    def __getattr__(self, name: str) -> Any:
        if name.startswith("activation_"):
            raise AttributeError(name)
        return getattr(self._base, name)


def computations(model: Any) -> int:
    """How often one step begins to compute the first layer's MLP."""
    counted: list[None] = []
    mlp = model.get_base_model().model.layers[0].mlp
    hook = mlp.register_forward_pre_hook(lambda *_: counted.append(None))
    model(input_ids=torch.tensor([[5, 9, 3]]), use_cache=False).logits.sum().backward()
    hook.remove()
    return len(counted)


@pytest.mark.filterwarnings("ignore:.gradient_checkpointing_.* is deprecated:FutureWarning")
@pytest.mark.parametrize("named", [lambda base: base, Older], ids=["installed", "before 5.23"])
def test_a_layer_computes_twice_while_activations_are_not_kept(named: Any) -> None:
    model = tiny("qwen2").train()
    base = named(model.get_base_model())
    found = []
    for switch in (lambda _: None, recompute_activations):
        switch(base)
        found.append((recomputes_activations(base), computations(model)))
    assert found == [(False, 1), (True, 2)]
