"""The update moves the policy where the rewards point, and refuses numbers that are wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from llm_as_judge.errors import TrainingError
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.training import gradients as gradients_module
from llm_as_judge.training.gradients import MicroBatchGradients
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.micro_batches import shares_of_trees, trees_of
from llm_as_judge.training.packing import pack_tree, packed_logprobs
from llm_as_judge.training.reference import UpdatePath, naive_logprobs
from llm_as_judge.types import (
    Completion,
    Execution,
    Group,
    Message,
    Problem,
    Program,
    Prompt,
    Reward,
    RewardPart,
    Rollout,
    Sampling,
    Verdict,
)

PROBLEM = Problem("p", "gsm8k", "math", "1 + 1?", ("2",))
PROMPT = [Message("user", "Problem: 1 + 1?")]
DEFAULTS = OptimizerOptions(learning_rate=2e-3)


def fresh(weights: Path, gradient_checkpointing: bool = False) -> Policy:
    return load_policy(
        weights,
        adapter=AdapterSpec(8, 16),
        device="cpu",
        dtype="float32",
        gradient_checkpointing=gradient_checkpointing,
        seed=0,
    )


def half(weights: Path) -> Policy:
    return load_policy(weights, adapter=AdapterSpec(8, 16), device="cpu", dtype="bfloat16", seed=0)


def sampled(policy: Policy, count: int = 12, seed: int = 0) -> list[Completion]:
    sampler = HFSampler(policy)
    return sampler.complete([Prompt(PROMPT)], Sampling(count, 1.0, 80, seed=seed))[0]


def group_of(completions: list[Completion], rewards: list[float | None]) -> Group:
    rollouts = [
        Rollout(
            "p",
            i,
            c,
            Program(c.text, c.text),
            Execution("ok"),
            Verdict(True, "s", "r"),
            Reward({"all": RewardPart(r, 1.0)}, r) if r is not None else None,
        )
        for i, (c, r) in enumerate(zip(completions, rewards, strict=True))
    ]
    return Group(PROBLEM, tuple(rollouts))


def sampled_elsewhere(policy: Policy, gap: float) -> Group:
    """Log-probs at sampling that are ``gap`` nats from those of the update."""
    apart = [
        replace(c, logprobs=tuple(p - gap for p in c.logprobs)) for c in sampled(policy, count=3)
    ]
    return group_of(apart, [10.0, -5.0, 0.0])


def uses_answer_generate(completion: Completion) -> float:
    return 10.0 if "answer_generate" in completion.text else -5.0


def logprob_sum(policy: Policy, completion: Completion) -> float:
    tree = pack_tree([completion.prompt_ids], [[completion.token_ids]], policy.device)
    with torch.no_grad(), packed_attention(policy.base):
        return packed_logprobs(policy.base, tree)[0].sum().item()


@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(LossOptions(), id="grpo"),
        pytest.param(
            LossOptions(
                baseline="leave_one_out",
                advantage_norm="batch",
                loss_aggregation="constant",
                loss_type="truncated_is",
                constant_tokens=80,
            ),
            id="embedded",
        ),
        pytest.param(
            LossOptions(loss_aggregation="token", advantage_norm="none", loss_type="reinforce"),
            id="token",
        ),
    ],
)
def test_a_hand_made_reward_raises_the_probability_of_what_it_rewards(
    tiny_weights: Path, loss: LossOptions
) -> None:
    policy = fresh(tiny_weights)
    learner = Learner(policy, loss, DEFAULTS)
    before = sampled(policy, 32, seed=99)
    for step in range(4):
        completions = sampled(policy, seed=step)
        rewards = [uses_answer_generate(c) for c in completions]
        metrics = learner.update([group_of(completions, [*rewards])], temperature=1.0)
        assert metrics["update/logprob_gap_max"] <= 1e-4
    after = sampled(policy, 32, seed=99)
    share_before = sum(uses_answer_generate(c) > 0 for c in before) / 32
    share_after = sum(uses_answer_generate(c) > 0 for c in after) / 32
    assert 0.05 < share_before < 0.9
    assert share_after > share_before + 0.05


def test_one_update_moves_rewarded_up_and_punished_down(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    completions = sampled(policy)
    best, worst = completions[0], next(c for c in completions if c.text != completions[0].text)
    before = [logprob_sum(policy, c) for c in (best, worst)]
    learner = Learner(policy, LossOptions(), replace(DEFAULTS, learning_rate=1e-3))
    learner.update([group_of([best, worst], [10.0, -5.0])], temperature=1.0)
    after = [logprob_sum(policy, c) for c in (best, worst)]
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_groups_without_variance_leave_the_adapter_untouched(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    start = policy.adapter_state()
    learner = Learner(policy, LossOptions(), replace(DEFAULTS, weight_decay=0.1))
    metrics = learner.update([group_of(sampled(policy, 3), [1.0, 1.0, 1.0])], temperature=1.0)
    assert metrics["update/groups_without_variance"] == 1
    assert "update/loss" not in metrics
    assert policy.version == 0
    assert all(torch.equal(start[n], p) for n, p in policy.adapter_state().items())


def test_a_group_without_variance_teaches_below_the_entropy_floor(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    first, *others = sampled(policy)
    other = next(c for c in others if c.text != first.text)
    completions = [first, other, first]
    before = [logprob_sum(policy, c) for c in completions]
    learner = Learner(
        policy, LossOptions(entropy_floor=100.0), replace(DEFAULTS, learning_rate=1e-3)
    )
    metrics = learner.update([group_of(completions, [1.0, 1.0, 1.0])], temperature=1.0)
    assert (metrics["update/groups"], metrics["update/groups_without_variance"]) == (1, 0)
    assert metrics["update/entropy_bonus"] > 0
    gains = [logprob_sum(policy, c) - b for c, b in zip(completions, before, strict=True)]
    rarest, usual = before.index(min(before)), before.index(max(before))
    assert gains[rarest] > gains[usual]


def test_equal_programs_of_equal_reward_teach_nothing_below_the_floor(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    same = sampled(policy, 1) * 3
    learner = Learner(policy, LossOptions(entropy_floor=100.0), DEFAULTS)
    assert "update/loss" not in learner.update([group_of(same, [1.0] * 3)], temperature=1.0)
    assert policy.version == 0


def test_unscored_rollouts_do_not_enter_the_update(tiny_weights: Path) -> None:
    completions = sampled(fresh(tiny_weights), 4)
    results = []
    for rewards, chosen in (
        ([10.0, -5.0, None, None], completions),
        ([10.0, -5.0], completions[:2]),
    ):
        policy = fresh(tiny_weights)
        Learner(policy, LossOptions(), DEFAULTS).update(
            [group_of(chosen, [*rewards])], temperature=1.0
        )
        results.append(policy.adapter_state())
    assert all(torch.equal(results[0][n], results[1][n]) for n in results[0])


@pytest.mark.slow
def test_packing_over_several_rows_does_not_change_the_update(tiny_weights: Path) -> None:
    states = []
    for tokens_per_micro_batch in (100_000, 64):
        policy = fresh(tiny_weights)
        groups = []
        for seed in range(3):
            completions = sampled(policy, 3, seed=seed)
            groups.append(group_of(completions, [10.0, -5.0, 0.0]))
        Learner(
            policy, LossOptions(), replace(DEFAULTS, tokens_per_micro_batch=tokens_per_micro_batch)
        ).update(groups, temperature=1.0)
        states.append(policy.adapter_state())
    for name in states[0]:
        assert torch.allclose(states[0][name], states[1][name], atol=1e-5), name


def test_recomputed_activations_give_the_same_update(tiny_weights: Path) -> None:
    states = []
    for recompute in (False, True):
        policy = fresh(tiny_weights, gradient_checkpointing=recompute)
        completions = sampled(policy, 4)
        learner = Learner(policy, LossOptions(), DEFAULTS)
        metrics = learner.update([group_of(completions, [10.0, -5.0, 0.0, 1.0])], temperature=1.0)
        assert metrics["update/logprob_gap_max"] <= 1e-4
        states.append(policy.adapter_state())
    for name in states[0]:
        assert torch.allclose(states[0][name], states[1][name], atol=1e-5), name


def test_logprobs_of_another_temperature_stop_the_run(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    start = policy.adapter_state()
    group = group_of(sampled(policy, 2), [10.0, -5.0])
    with pytest.raises(TrainingError, match="policy ratio is not 1"):
        Learner(policy, LossOptions(), DEFAULTS).update([group], temperature=0.5)
    assert all(torch.equal(start[n], p) for n, p in policy.adapter_state().items())


def test_a_loss_that_is_no_finite_number_changes_nothing(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    start = policy.adapter_state()
    group = group_of(sampled(policy, 2), [math.inf, -5.0])
    with pytest.raises(TrainingError, match=r"update 0: loss is nan; nothing was changed\. Lower"):
        Learner(policy, LossOptions(), DEFAULTS).update([group], temperature=1.0)
    assert all(torch.equal(start[n], p) for n, p in policy.adapter_state().items())
    assert policy.version == 0


def test_a_step_to_weights_that_are_no_finite_numbers_ends_the_run(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    group = group_of(sampled(policy, 2), [10.0, -5.0])
    learner = Learner(policy, LossOptions(), replace(DEFAULTS, learning_rate=math.inf))
    with pytest.raises(TrainingError, match="its step made weights that are no finite numbers"):
        learner.update([group], temperature=1.0)
    assert policy.version == 0


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "stops"), [(0.01, False), (0.05, True)])
def test_what_half_precision_rounds_is_no_fault_and_more_is(
    tiny_weights: Path, gap: float, stops: bool
) -> None:
    policy = half(tiny_weights)
    group = sampled_elsewhere(policy, gap)
    learner = Learner(policy, LossOptions(), DEFAULTS)
    if stops:
        with pytest.raises(
            TrainingError, match=r"mean log-prob gap .* wanted <= 3.0e-02 .rounding"
        ):
            learner.update([group], temperature=1.0)
    else:
        metrics = learner.update([group], temperature=1.0)
        assert metrics["update/logprob_gap_mean"] == pytest.approx(gap, abs=0.01)


@pytest.mark.parametrize(
    ("rounding", "gap", "wanted"),
    [(0.04, 0.05, None), (0.03, 0.05, "4.5e-02"), (0.5, 0.15, "1.0e-01"), (None, 0.05, "3.0e-02")],
)
def test_a_gap_is_held_against_what_rounding_alone_makes_of_these_programs(
    tiny_weights: Path,
    monkeypatch: pytest.MonkeyPatch,
    rounding: float | None,
    gap: float,
    wanted: str | None,
) -> None:
    policy = half(tiny_weights)
    group = sampled_elsewhere(policy, gap)
    learner = Learner(policy, LossOptions(), DEFAULTS)
    monkeypatch.setattr(MicroBatchGradients, "rounding_gap", lambda *_: rounding)
    if wanted is None:
        assert learner.update([group], temperature=1.0)["update/rounding_gap"] == rounding
    else:
        with pytest.raises(TrainingError, match=rf"wanted <= {wanted}\W"):
            learner.update([group], temperature=1.0)


def test_a_bar_that_the_user_sets_is_no_matter_of_rounding(
    tiny_weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = half(tiny_weights)
    group = sampled_elsewhere(policy, 0.05)
    options = replace(DEFAULTS, max_logprob_gap=0.02)
    monkeypatch.setattr(MicroBatchGradients, "rounding_gap", lambda *_: 0.04)
    with pytest.raises(TrainingError, match=r"wanted <= 2.0e-02: "):
        Learner(policy, LossOptions(), options).update([group], temperature=1.0)


@pytest.mark.parametrize(
    ("precision", "most"), [(fresh, 1e-6), (half, 0.03)], ids=["float32", "bfloat16"]
)
def test_rounding_is_what_two_right_ways_of_the_update_differ_by(
    tiny_weights: Path,
    monkeypatch: pytest.MonkeyPatch,
    precision: Callable[[Path], Policy],
    most: float,
) -> None:
    policy = precision(tiny_weights)
    completions = sampled(policy, count=6)
    group = group_of(completions, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    gradients = MicroBatchGradients(policy, UpdatePath("packed", ""), LossOptions())
    trees = trees_of([group], LossOptions())
    ((row,),) = shares_of_trees(trees, version=0, tokens_per_micro_batch=32768, packed=True)
    rows = gradients.place([row])
    with gradients.attention():
        gap = gradients.rounding_gap(rows, 1.0)
        assert gradients.rounding_gap([], 1.0) is None
        # How large half precision's gap is depends on the processor's kernels: with some it is 0.
        assert gap is not None
        assert 0 <= gap < most
        monkeypatch.setattr(gradients_module, "naive_logprobs", naive_log_probs_apart_by(0.5))
        assert gradients.rounding_gap(rows, 1.0) == pytest.approx(0.5, abs=most)
    naive = MicroBatchGradients(policy, UpdatePath("naive", ""), LossOptions())
    assert naive.rounding_gap(rows, 1.0) is None  # one way only


def naive_log_probs_apart_by(nats: float) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    def apart(*args: Any, **options: Any) -> tuple[torch.Tensor, torch.Tensor]:
        logprobs_T, entropy_T = naive_logprobs(*args, **options)
        return logprobs_T + nats, entropy_T

    return apart


def test_stale_completions_are_corrected_not_refused(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    old = group_of(sampled(policy, 4), [10.0, -5.0, 0.0, 1.0])
    learner = Learner(policy, LossOptions(loss_type="truncated_is"), DEFAULTS)
    learner.update([old], temperature=1.0)
    metrics = learner.update([old], temperature=1.0)
    assert metrics["update/logprob_gap_max"] > 1e-4
    assert policy.version == 2


def test_several_epochs_pass_over_the_same_rollouts(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    learner = Learner(policy, LossOptions(), replace(DEFAULTS, epochs=3))
    metrics = learner.update([group_of(sampled(policy, 3), [10.0, -5.0, 0.0])], temperature=1.0)
    assert metrics["update/ratio_max"] > 1.0 + 1e-6
    assert policy.version == 1


@pytest.mark.parametrize(
    ("schedule", "wanted"),
    [
        ("constant", [1 / 3, 2 / 3, 1.0, 1.0, 1.0]),
        ("linear", [1 / 3, 2 / 3, 1.0, 0.75, 0.5]),
        ("cosine", [1 / 3, 2 / 3, 1.0, 0.853553, 0.5]),
    ],
)
def test_warm_up_and_schedule_are_really_applied(
    tiny_weights: Path, schedule: str, wanted: list[float]
) -> None:
    policy = fresh(tiny_weights)
    options = OptimizerOptions(learning_rate=1e-3, warmup_steps=2, schedule=schedule, total_steps=6)
    learner = Learner(policy, LossOptions(loss_type="truncated_is"), options)
    group = group_of(sampled(policy, 2), [10.0, -5.0])
    rates = [learner.update([group], temperature=1.0)["update/learning_rate"] for _ in range(5)]
    assert rates == pytest.approx([1e-3 * w for w in wanted], rel=1e-5)


def test_kl_to_the_base_model_is_reported_and_pulls_back(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    learner = Learner(policy, LossOptions(loss_type="truncated_is", kl_weight=0.1), DEFAULTS)
    group = group_of(sampled(policy, 4), [10.0, -5.0, 0.0, 1.0])
    first = learner.update([group], temperature=1.0)
    second = learner.update([group], temperature=1.0)
    assert first["update/kl"] == pytest.approx(0.0, abs=1e-6)
    assert second["update/kl"] > 1e-6
