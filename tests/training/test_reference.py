"""Training starts only on a path that computes the policy rightly, and says which it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AttentionInterface

from llm_as_judge.errors import ModelError
from llm_as_judge.policy.attention import ATTENTION_NAME, AttentionPlan, shared_prefix_attention
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.recompute import recompute_activations
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.reference import UpdatePath, choose_path
from llm_as_judge.types import Group, Message, Sampling
from streams import prompts
from tiny_models import FAMILIES, edited, naive_logprobs, tiny, tiny_policy, windowed
from two_problems import group_of

PROMPTS = [
    [Message("user", "Problem: 1 + 1?")],
    [Message("user", "Problem: a longer one, 2 + 2?")],
]


def policy_of(model: Any, dtype: torch.dtype = torch.float32) -> Policy:
    return Policy(model.to(dtype), tokenizer=None, device=torch.device("cpu"), dtype=dtype)


@contextmanager
def attention(function: Any) -> Iterator[None]:
    AttentionInterface.register(ATTENTION_NAME, function)
    try:
        yield
    finally:
        AttentionInterface.register(ATTENTION_NAME, shared_prefix_attention)


def blind(*args: Any, plan: AttentionPlan, **kwargs: Any) -> Any:
    """Every node sees itself alone."""
    nodes = tuple(replace(node, path=()) for node in plan.nodes)
    return shared_prefix_attention(*args, plan=replace(plan, nodes=nodes), **kwargs)


def unscaled(*args: Any, **kwargs: Any) -> Any:
    return shared_prefix_attention(*args, **{**kwargs, "scaling": 0.3})


def shallow(*args: Any, plan: AttentionPlan, **kwargs: Any) -> Any:
    """Completions do not see their own prompt's rest, only what all prompts share."""
    nodes = tuple(replace(node, path=node.path[:1]) for node in plan.nodes)
    return shared_prefix_attention(*args, plan=replace(plan, nodes=nodes), **kwargs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_supported_families_take_the_packed_path(family: str, dtype: torch.dtype) -> None:
    path = choose_path(policy_of(tiny(family), dtype))
    assert path.name == "packed"
    assert path.reason.startswith("self-check: log-prob gap")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("wrong", [blind, unscaled, shallow], ids=lambda f: f.__name__)
def test_wrong_attention_is_found_and_named(wrong: Any, dtype: torch.dtype) -> None:
    with attention(wrong):
        path = choose_path(policy_of(tiny("qwen2"), dtype))
    assert path.name == "naive"
    assert path.reason.startswith("self-check of packed rows failed: log-prob gap")


def test_the_check_leaves_no_trace() -> None:
    policy = policy_of(tiny("qwen3"))
    before = torch.get_rng_state()
    config = policy.base.config.to_dict()
    choose_path(policy)
    assert torch.equal(torch.get_rng_state(), before)
    assert policy.base.config.to_dict() == config
    assert policy.base.config.num_hidden_layers == 2


def test_recomputed_activations_are_checked_too() -> None:
    model = tiny("llama")
    recompute_activations(model.get_base_model())
    assert choose_path(policy_of(model)).name == "packed"


def test_layers_without_attention_are_refused(tiny_weights: Path, tmp_path: Path) -> None:
    folder = edited(
        tiny_weights, tmp_path / "other", layer_types=["linear_attention", "full_attention"]
    )
    with pytest.raises(ModelError, match="linear_attention"):
        tiny_policy(folder)


def groups_of(policy: Policy) -> list[Group]:
    sampled = HFSampler(policy).complete(prompts(PROMPTS), Sampling(3, 1.0, 24, seed=1))
    return [group_of(completions, [10.0, -5.0, 1.0]) for completions in sampled]


def test_a_windowed_model_samples_and_learns_on_the_naive_path(
    tiny_weights: Path, tmp_path: Path
) -> None:
    policy = tiny_policy(windowed(tiny_weights, tmp_path / "windowed"))
    path, groups = choose_path(policy), groups_of(policy)
    assert path.name == "naive"
    assert "sliding-window" in path.reason
    for completion in (r.completion for group in groups for r in group.rollouts):
        with torch.no_grad():
            wanted = naive_logprobs(
                policy.base, list(completion.prompt_ids), list(completion.token_ids), 1.0
            )
        assert torch.allclose(torch.tensor(completion.logprobs), wanted, atol=1e-5)
    learner = Learner(policy, LossOptions(), OptimizerOptions(learning_rate=1e-3))
    assert learner.update(groups, temperature=1.0)["update/logprob_gap_max"] <= 1e-4
    assert policy.version == 1


@pytest.mark.slow
def test_both_paths_make_the_same_update(tiny_weights: Path) -> None:
    states, metrics = [], []
    for name in ("packed", "naive"):
        policy = tiny_policy(tiny_weights)
        groups = groups_of(policy)
        learner = Learner(
            policy,
            LossOptions(kl_weight=0.1),
            OptimizerOptions(learning_rate=1e-3, epochs=2),
            path=UpdatePath(name, "asked for"),
        )
        metrics.append(learner.update(groups, temperature=1.0))
        states.append(policy.adapter_state())
    for name in states[0]:
        assert torch.allclose(states[0][name], states[1][name], atol=2e-5), name
    for key in ("update/loss", "update/grad_norm", "update/entropy", "update/kl"):
        assert metrics[0][key] == pytest.approx(metrics[1][key], abs=1e-4), key
    # the naive path computes every prompt once for each of its completions
    assert metrics[1]["update/micro_batch_tokens"] > 1.5 * metrics[0]["update/micro_batch_tokens"]
