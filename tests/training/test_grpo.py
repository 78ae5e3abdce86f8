"""Advantages and losses, worked by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.training.grpo import LossOptions, policy_loss, step_advantages


def test_grpo_advantages_are_centred_and_scaled_by_the_group() -> None:
    # mean 2, deviation of (1, 2, 3) with n - 1 in the denominator: 1
    (found,) = step_advantages([[1.0, 2.0, 3.0]])
    assert found == pytest.approx([-1.0, 0.0, 1.0], abs=1e-5)


def test_leave_one_out_subtracts_the_mean_of_the_siblings() -> None:
    (found,) = step_advantages([[1.0, 2.0, 6.0]], centre="leave_one_out", scale="none")
    assert found == pytest.approx([1 - 4, 2 - 3.5, 6 - 1.5])


def test_batch_scale_is_one_deviation_for_all_groups() -> None:
    found = step_advantages([[0.0, 2.0], [0.0, 6.0]], scale="batch")
    deviation = math.sqrt((1 + 1 + 9 + 9) / 4)
    assert found[0] == pytest.approx([-1 / deviation, 1 / deviation], abs=1e-5)
    assert found[1] == pytest.approx([-3 / deviation, 3 / deviation], abs=1e-5)


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize("centre", ["mean", "leave_one_out"])
def test_equal_rewards_teach_exactly_nothing(centre: str, scale: str) -> None:
    found = step_advantages(
        [[0.1 + 0.2, 0.3 + 1e-17, 0.30000000000000004]], centre=centre, scale=scale
    )  # type: ignore[arg-type]
    assert found == [[0.0, 0.0, 0.0]]


def test_one_reward_is_no_group() -> None:
    with pytest.raises(ValueError, match="two scored"):
        step_advantages([[1.0]])


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8))
def test_advantages_of_a_group_add_up_to_zero(rewards: list[float]) -> None:
    (found,) = step_advantages([rewards])
    assert sum(found) == pytest.approx(0.0, abs=1e-3)


LENGTHS = (2, 1)
OLD = torch.tensor([-1.0, -2.0, -0.5])
ADVANTAGES = torch.tensor([1.0, -2.0])


def loss_of(new: list[float], **options: object) -> tuple[float, torch.Tensor]:
    logprobs = torch.tensor(new, requires_grad=True)
    loss, _ = policy_loss(logprobs, OLD, ADVANTAGES, LENGTHS, LossOptions(**options))  # type: ignore[arg-type]
    loss.backward()
    assert logprobs.grad is not None
    return loss.item(), logprobs.grad


def test_ratio_one_gives_minus_the_mean_advantage() -> None:
    # sequences: mean of (1, 1) and of (-2); their mean is -0.5, the loss +0.5
    loss, gradient = loss_of(OLD.tolist())
    assert loss == pytest.approx(0.5)
    # each token of sequence 0 has weight 1/(2*2), of sequence 1 weight 1/2
    assert gradient.tolist() == pytest.approx([-0.25, -0.25, 1.0])


def test_token_aggregation_weighs_all_tokens_alike() -> None:
    loss, gradient = loss_of(OLD.tolist(), aggregate="token")
    assert loss == pytest.approx(-(1 + 1 - 2) / 3)
    assert gradient.tolist() == pytest.approx([-1 / 3, -1 / 3, 2 / 3])


def test_constant_aggregation_divides_by_the_token_limit() -> None:
    loss, _ = loss_of(OLD.tolist(), aggregate="constant", constant_tokens=10)
    assert loss == pytest.approx(0.0)
    _, gradient = loss_of(OLD.tolist(), aggregate="constant", constant_tokens=10)
    assert gradient.tolist() == pytest.approx([-0.05, -0.05, 0.1])


def test_clip_stops_the_gradient_on_both_sides_only_where_it_would_overshoot() -> None:
    up, down = math.log(1.5), math.log(0.5)
    # token 0: advantage +1, ratio 1.5 > 1.28: clipped; token 1: ratio 0.5, not clipped (min);
    # token 2: advantage -2, ratio 0.5 < 0.8: clipped
    _, gradient = loss_of([-1.0 + up, -2.0 + down, -0.5 + down])
    assert gradient[0] == 0.0
    assert gradient[1].item() == pytest.approx(-0.25 * 0.5)
    assert gradient[2] == 0.0


def test_truncated_importance_weight_is_capped_and_has_no_gradient() -> None:
    far = math.log(5.0)
    _, gradient = loss_of([-1.0 + far, -2.0, -0.5], objective="truncated_is", is_cap=2.0)
    assert gradient.tolist() == pytest.approx([-0.25 * 2.0, -0.25, 1.0])


def test_reinforce_ignores_the_ratio() -> None:
    _, gradient = loss_of([-9.0, -9.0, -9.0], objective="reinforce")
    assert gradient.tolist() == pytest.approx([-0.25, -0.25, 1.0])


def test_kl_is_zero_at_the_reference_and_positive_beside_it() -> None:
    options = LossOptions(kl_weight=1.0)
    for shift, sign in ((0.0, 0), (0.3, 1)):
        _, stats = policy_loss(
            OLD, OLD, torch.zeros(2), LENGTHS, options, reference_logprobs_T=OLD + shift
        )
        assert (stats["kl"] > 1e-6) == bool(sign)


def test_splitting_a_step_into_rows_changes_nothing() -> None:
    new = OLD + torch.tensor([0.05, -0.05, 0.1])
    whole, _ = policy_loss(new, OLD, ADVANTAGES, LENGTHS, LossOptions())
    parts = [
        policy_loss(
            new[a:b],
            OLD[a:b],
            ADVANTAGES[i : i + 1],
            (n,),
            LossOptions(),
            sequences_in_step=2,
            tokens_in_step=3,
        )[0]
        for i, (a, b, n) in enumerate([(0, 2, 2), (2, 3, 1)])
    ]
    assert torch.allclose(whole, torch.stack(parts).sum())
