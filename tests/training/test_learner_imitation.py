"""Imitation is the weighted negative log-likelihood of given programs, however it is computed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from llm_as_judge.policy.model import Policy
from llm_as_judge.training.gradients import MicroBatchGradients, Normalizers
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.micro_batches import MicroBatch, Tree, shares_of_trees
from llm_as_judge.training.reference import UpdatePath, naive_logprobs
from llm_as_judge.types import Completion, from_json, to_json
from tiny_models import take_gradients, tiny_policy

PROMPTS = ((5, 9, 3, 44, 17), (5, 9, 3, 44, 30, 31))
PROGRAMS = (((7, 8, 9), (7, 10)), ((11, 12, 13, 14),))
TEMPERATURE = 0.7


@pytest.fixture
def policy(tiny_weights: Path) -> Policy:
    return tiny_policy(tiny_weights)


def trees(weights: tuple[tuple[float, ...], ...]) -> list[Tree]:
    return [
        ([Completion(prompt, ids, (), "", "stop") for ids in programs], list(weights_K))
        for prompt, programs, weights_K in zip(PROMPTS, PROGRAMS, weights, strict=True)
    ]


def naive_loss(policy: Policy, weights: tuple[tuple[float, ...], ...]) -> torch.Tensor:
    """Mean over tokens, each by the weight of its program: one program after the other."""
    sums, tokens = torch.zeros(()), 0.0
    for completions, weights_K in trees(weights):
        for one, weight in zip(completions, weights_K, strict=True):
            logprobs, _ = naive_logprobs(
                policy.base, one.prompt_ids, one.token_ids, temperature=TEMPERATURE
            )
            sums = sums - weight * logprobs.sum()
            tokens += weight * len(one.token_ids)
    return sums / tokens


@pytest.mark.parametrize("weights", [((1.0, 1.0), (1.0,)), ((0.8, 0.2), (1.0,))])
def test_the_loss_is_that_of_one_program_after_the_other(
    policy: Policy, weights: tuple[tuple[float, ...], ...]
) -> None:
    wanted = naive_loss(policy, weights).item()
    learner = Learner(policy, LossOptions(kl_weight=0.5), OptimizerOptions(learning_rate=1e-3))
    assert learner.path.name == "packed"
    found = learner.imitate(trees(weights), temperature=TEMPERATURE)
    assert found["update/loss"] == pytest.approx(wanted, abs=1e-5)
    assert policy.version == 1
    assert naive_loss(policy, weights).item() < wanted


def test_gradients_are_the_same_over_any_micro_batches_processes_and_paths(policy: Policy) -> None:
    weights = ((0.8, 0.2), (1.0,))
    for name, parameter in policy.adapter_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    torch.autograd.backward(naive_loss(policy, weights))
    wanted = take_gradients(policy.model)
    tokens = sum(w * len(c.token_ids) for t in trees(weights) for c, w in zip(*t, strict=True))
    given = [(programs, [w / tokens for w in ws]) for programs, ws in trees(weights)]
    packed, naive = UpdatePath("packed", ""), UpdatePath("naive", "")
    for path, shares, most in ((packed, 1, 999), (packed, 2, 5), (naive, 2, 5)):
        shared = shares_of_trees(
            given,
            version=0,
            tokens_per_micro_batch=most,
            packed=path is packed,
            shares=shares,
        )
        gradients = MicroBatchGradients(policy, path, LossOptions(kl_weight=0.5))
        with policy.updating(), gradients.attention():
            for share in shared:  # as another process gets it
                told = from_json(tuple[MicroBatch, ...], to_json(share))
                gradients.add(gradients.place(told), Normalizers(TEMPERATURE, 1, 1, 1))
        found = take_gradients(policy.model)
        for name, gradient in wanted.items():
            assert torch.allclose(found[name], gradient, atol=1e-5), (path.name, shares, name)
