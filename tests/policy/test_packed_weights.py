"""Packed weights are there while a policy writes, give the same values, and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from llm_as_judge.policy.decode import decoding_batch
from llm_as_judge.policy.model import Policy, packed_weights
from tiny_models import tiny_policy

PROMPTS = [[5, 6, 7, 8], [5, 6, 9]]


@pytest.fixture
def half(tiny_weights: Path) -> Policy:
    return tiny_policy(tiny_weights, moved=0.3, dtype="bfloat16")


@torch.inference_mode()
def written(policy: Policy) -> torch.Tensor:
    """Logits after the prompts and after one more token."""
    batch = decoding_batch(policy, 1)
    return torch.cat([batch.begin(PROMPTS), batch.step(torch.tensor([3, 4]))]).float()


def replaced(policy: Policy) -> int:
    return sum("forward" in module.__dict__ for module in policy.model.modules())


def test_a_policy_in_half_precision_writes_the_same_from_packed_weights(half: Policy) -> None:
    plain, before = written(half), replaced(half)
    with half.inference():
        inside = written(half)
    torch.testing.assert_close(inside, plain, rtol=0.02, atol=0.02)
    assert replaced(half) == before
    assert torch.equal(written(half), plain)


def test_packed_weights_are_left_also_when_the_work_inside_fails(half: Policy) -> None:
    before = replaced(half)
    with pytest.raises(RuntimeError, match="stop"), packed_weights(half.model):
        raise RuntimeError("stop")
    assert replaced(half) == before


def test_float32_weights_are_not_packed(tiny_weights: Path) -> None:
    policy = tiny_policy(tiny_weights)
    before = replaced(policy)
    with packed_weights(policy.model):
        assert replaced(policy) == before
