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
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.training import gradients as gradients_module
from llm_as_judge.training.gradients import MicroBatchGradients
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.micro_batches import shares_of_trees, trees_of
from llm_as_judge.training.packing import pack_tree, packed_logprobs
from llm_as_judge.training.reference import UpdatePath, naive_logprobs
from llm_as_judge.types import Completion, Group, Message, Prompt, Sampling
from tiny_models import tiny_policy
from two_problems import group_of

PROMPT = [Message("user", "Problem: 1 + 1?")]
GRPO = LossOptions()
DEFAULTS = OptimizerOptions(learning_rate=2e-3)


def fresh(weights: Path, **how: Any) -> Policy:
    return tiny_policy(weights, AdapterSpec(8, 16), seed=0, **how)


def half(weights: Path) -> Policy:
    return fresh(weights, dtype="bfloat16")


def sampled(policy: Policy, count: int = 12, seed: int = 0) -> list[Completion]:
    sampler = HFSampler(policy)
    return sampler.complete([Prompt(PROMPT)], Sampling(count, 1.0, 80, seed=seed))[0]


def sampled_elsewhere(policy: Policy, gap: float) -> Group:
    """Log-probs at sampling that are ``gap`` nats from those of the update."""
    apart = [
        replace(c, logprobs=tuple(p - gap for p in c.logprobs)) for c in sampled(policy, count=3)
    ]
    return group_of(apart, [10.0, -5.0, 0.0])


def logprob_sum(policy: Policy, completion: Completion) -> float:
    tree = pack_tree([completion.prompt_ids], [[completion.token_ids]], policy.device)
    with torch.no_grad(), packed_attention(policy.base):
        return packed_logprobs(policy.base, tree)[0].sum().item()


def update(policy: Policy, *groups: Group, loss: LossOptions = GRPO, **options: Any) -> Any:
    """Metrics of one update."""
    return Learner(policy, loss, replace(DEFAULTS, **options)).update([*groups], temperature=1.0)


def require_near(policy: Policy, wanted: dict[str, torch.Tensor], most: float = 0.0) -> None:
    """No weight of the adapter is further than ``most`` from what is wanted."""
    for name, found in policy.adapter_state().items():
        assert torch.allclose(found, wanted[name], atol=most, rtol=0), name


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
def test_one_update_moves_rewarded_up_and_punished_down(
    tiny_weights: Path, loss: LossOptions
) -> None:
    policy = fresh(tiny_weights)
    completions = sampled(policy)
    best, worst = completions[0], next(c for c in completions if c.text != completions[0].text)
    before = [logprob_sum(policy, c) for c in (best, worst)]
    group = group_of([best, worst], [10.0, -5.0])
    metrics = update(policy, group, loss=loss, learning_rate=1e-3)
    assert metrics["update/logprob_gap_max"] <= 1e-4
    after = [logprob_sum(policy, c) for c in (best, worst)]
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_groups_without_variance_leave_the_adapter_untouched(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    start = policy.adapter_state()
    metrics = update(policy, group_of(sampled(policy, 3), [1.0, 1.0, 1.0]), weight_decay=0.1)
    assert metrics["update/groups_without_variance"] == 1
    assert "update/loss" not in metrics
    assert policy.version == 0
    require_near(policy, start)


def test_a_group_without_variance_teaches_below_the_entropy_floor(tiny_weights: Path) -> None:
    policy, floor = fresh(tiny_weights), LossOptions(entropy_floor=100.0)
    first, *others = sampled(policy)
    same = group_of([first] * 3, [1.0] * 3)
    assert "update/loss" not in update(policy, same, loss=floor), "equal programs teach nothing"
    assert policy.version == 0
    other = next(c for c in others if c.text != first.text)
    completions = [first, other, first]
    before = [logprob_sum(policy, c) for c in completions]
    metrics = update(policy, group_of(completions, [1.0] * 3), loss=floor, learning_rate=1e-3)
    assert (metrics["update/groups"], metrics["update/groups_without_variance"]) == (1, 0)
    assert metrics["update/entropy_bonus"] > 0
    gains = [logprob_sum(policy, c) - b for c, b in zip(completions, before, strict=True)]
    rarest, usual = before.index(min(before)), before.index(max(before))
    assert gains[rarest] > gains[usual]


def test_unscored_rollouts_do_not_enter_the_update(tiny_weights: Path) -> None:
    whole, part = fresh(tiny_weights), fresh(tiny_weights)
    completions = sampled(whole, 4)
    update(whole, group_of(completions, [10.0, -5.0, None, None]))
    update(part, group_of(completions[:2], [10.0, -5.0]))
    require_near(whole, part.adapter_state())


@pytest.mark.parametrize(
    ("how", "options"),
    [({}, {"tokens_per_micro_batch": 64}), ({"gradient_checkpointing": True}, {})],
    ids=["packed over several rows", "activations recomputed"],
)
def test_how_an_update_is_computed_does_not_change_it(
    tiny_weights: Path, how: dict[str, Any], options: dict[str, Any]
) -> None:
    plain, other = fresh(tiny_weights), fresh(tiny_weights, **how)
    groups = [group_of(sampled(plain, 3, seed=seed), [10.0, -5.0, 0.0]) for seed in range(3)]
    update(plain, *groups)
    metrics = update(other, *groups, **options)
    assert metrics["update/logprob_gap_max"] <= 1e-4
    require_near(other, plain.adapter_state(), 1e-5)


def test_logprobs_of_another_temperature_stop_the_run(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    start = policy.adapter_state()
    group = group_of(sampled(policy, 2), [10.0, -5.0])
    with pytest.raises(TrainingError, match="policy ratio is not 1"):
        Learner(policy, LossOptions(), DEFAULTS).update([group], temperature=0.5)
    require_near(policy, start)


def test_a_loss_that_is_no_finite_number_changes_nothing(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    start = policy.adapter_state()
    with pytest.raises(TrainingError, match=r"update 0: loss is nan; nothing was changed\. Lower"):
        update(policy, group_of(sampled(policy, 2), [math.inf, -5.0]))
    require_near(policy, start)
    assert policy.version == 0


def test_a_step_to_weights_that_are_no_finite_numbers_ends_the_run(tiny_weights: Path) -> None:
    policy = fresh(tiny_weights)
    with pytest.raises(TrainingError, match="its step made weights that are no finite numbers"):
        update(policy, group_of(sampled(policy, 2), [10.0, -5.0]), learning_rate=math.inf)
    assert policy.version == 0


@pytest.mark.parametrize(("gap", "stops"), [(0.01, False), (0.05, True)])
def test_what_half_precision_rounds_is_no_fault_and_more_is(
    tiny_weights: Path, gap: float, stops: bool
) -> None:
    policy = half(tiny_weights)
    group = sampled_elsewhere(policy, gap)
    if stops:
        said = r"mean log-prob gap .* wanted <= 3.0e-02 .rounding"
        with pytest.raises(TrainingError, match=said):
            update(policy, group)
    else:
        found = update(policy, group)["update/logprob_gap_mean"]
        assert found == pytest.approx(gap, abs=0.01)


@pytest.mark.parametrize(
    ("rounding", "gap", "options", "wanted"),
    [
        pytest.param(0.04, 0.05, {}, None, id="rounding explains it"),
        pytest.param(0.03, 0.05, {}, "4.5e-02", id="more than that"),
        pytest.param(0.5, 0.15, {}, "1.0e-01", id="more than rounding ever does"),
        pytest.param(None, 0.05, {}, "3.0e-02", id="rounding unknown"),
        pytest.param(0.04, 0.05, {"max_logprob_gap": 0.02}, "2.0e-02", id="a bar of the user's"),
    ],
)
def test_a_gap_is_held_against_what_rounding_alone_makes_of_these_programs(
    tiny_weights: Path,
    monkeypatch: pytest.MonkeyPatch,
    rounding: float | None,
    gap: float,
    options: dict[str, Any],
    wanted: str | None,
) -> None:
    policy = half(tiny_weights)
    group = sampled_elsewhere(policy, gap)
    monkeypatch.setattr(MicroBatchGradients, "rounding_gap", lambda *_: rounding)
    if wanted is None:
        assert update(policy, group, **options)["update/rounding_gap"] == rounding
    else:
        with pytest.raises(TrainingError, match=rf"wanted <= {wanted}\W"):
            update(policy, group, **options)


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
    metrics = update(policy, group_of(sampled(policy, 3), [10.0, -5.0, 0.0]), epochs=3)
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
