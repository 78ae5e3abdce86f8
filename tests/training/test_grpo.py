"""Advantages and losses, worked by hand."""

# mypy: disable-error-code="no-untyped-call"
# torch's backward() has no types

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.config import PRESETS
from llm_as_judge.training.grpo import (
    ENTROPY_WEIGHT,
    LossOptions,
    entropy_bonus,
    policy_loss,
    sequence_log_ratio,
    step_advantages,
    with_bonus,
)


def test_grpo_advantages_are_centered_and_scaled_by_the_group() -> None:
    # mean 2, deviation of (1, 2, 3) with n - 1 in the denominator: 1
    (found,) = step_advantages([[1.0, 2.0, 3.0]], LossOptions())
    assert found == pytest.approx([-1.0, 0.0, 1.0], abs=1e-5)


def test_leave_one_out_subtracts_the_mean_of_the_siblings() -> None:
    (found,) = step_advantages(
        [[1.0, 2.0, 6.0]], LossOptions(baseline="leave_one_out", advantage_norm="none")
    )
    assert found == pytest.approx([1 - 4, 2 - 3.5, 6 - 1.5])


def test_batch_scale_is_one_deviation_for_all_groups() -> None:
    found = step_advantages([[0.0, 2.0], [0.0, 6.0]], LossOptions(advantage_norm="batch"))
    deviation = math.sqrt((1 + 1 + 9 + 9) / 4)
    assert found[0] == pytest.approx([-1 / deviation, 1 / deviation], abs=1e-5)
    assert found[1] == pytest.approx([-3 / deviation, 3 / deviation], abs=1e-5)


@pytest.mark.parametrize("advantage_norm", ["group", "batch", "none"])
@pytest.mark.parametrize("baseline", ["mean", "leave_one_out"])
def test_equal_rewards_teach_exactly_nothing(baseline: str, advantage_norm: str) -> None:
    found = step_advantages(
        [[0.1 + 0.2, 0.3 + 1e-17, 0.30000000000000004]],
        LossOptions(baseline=baseline, advantage_norm=advantage_norm),
    )
    assert found == [[0.0, 0.0, 0.0]]


def test_one_reward_is_no_group() -> None:
    with pytest.raises(ValueError, match="two scored"):
        step_advantages([[1.0]], LossOptions())


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8))
def test_advantages_of_a_group_add_up_to_zero(rewards: list[float]) -> None:
    (found,) = step_advantages([rewards], LossOptions())
    assert sum(found) == pytest.approx(0.0, abs=1e-3)


def test_the_entropy_bonus_grows_as_the_entropy_falls_below_the_floor() -> None:
    written = [[-0.1, -0.3], [-0.2, -0.2]]  # 0.2 nats a token
    assert entropy_bonus(written, 0.3) == pytest.approx(ENTROPY_WEIGHT / 2)
    assert entropy_bonus(written, 0.4) == pytest.approx(ENTROPY_WEIGHT)
    assert entropy_bonus(written, 0.8) == pytest.approx(ENTROPY_WEIGHT * 3)
    assert entropy_bonus([[0.0]], 0.4) == pytest.approx(ENTROPY_WEIGHT * 9)
    assert entropy_bonus(written, 0.2) == pytest.approx(0.0)
    assert entropy_bonus(written, 0.1) == 0.0
    assert entropy_bonus(written, 0.0) == 0.0
    assert entropy_bonus([], 0.4) == 0.0


def test_rarer_programs_of_a_group_gain_advantage() -> None:
    found = with_bonus([[1.0, -1.0], [0.0, 0.0]], [[1.0, 3.0], [2.0, 2.0]], 0.1)
    assert found == [pytest.approx([0.9, -0.9]), [0.0, 0.0]]


@pytest.mark.parametrize(
    ("better", "rate"), [(0.0, 0.2), (1.0, 0.05)], ids=["equally_good", "one_better"]
)
def test_several_programs_stay_by_the_floor_alone(better: float, rate: float) -> None:
    """A policy over eight programs, rewarded by luck and the first by ``better``: it ends with one program,
    and by the floor with several."""

    def entropy_after(floor: float) -> float:
        random = torch.Generator().manual_seed(0)
        logits = torch.zeros(8)
        for _ in range(300):
            logprobs = torch.log_softmax(logits, 0)
            drawn = torch.multinomial(logprobs.exp(), 12, replacement=True, generator=random)
            rewards = (torch.rand(12, generator=random) + better * (drawn == 0)).tolist()
            advantages = step_advantages([rewards], LossOptions(advantage_norm="batch"))
            own = [[p] for p in logprobs[drawn].tolist()]
            bonus = entropy_bonus(own, floor)
            (found,) = with_bonus(advantages, [[-p for (p,) in own]], bonus)
            for program, advantage in zip(drawn.tolist(), found, strict=True):
                step = torch.nn.functional.one_hot(torch.tensor(program), 8) - logprobs.exp()
                logits = logits + rate * advantage * step
        logprobs = torch.log_softmax(logits, 0)
        return -(logprobs.exp() * logprobs).sum().item()

    assert entropy_after(0.0) < 0.5
    assert entropy_after(1.0) > 0.4


LENGTHS = (2, 1)
OLD = torch.tensor([-1.0, -2.0, -0.5])
ADVANTAGES = torch.tensor([1.0, -2.0])


def loss_of(new: list[float], **options: object) -> tuple[float, torch.Tensor]:
    logprobs = torch.tensor(new, requires_grad=True)
    loss, _ = policy_loss(logprobs, OLD, ADVANTAGES, LENGTHS, LossOptions(**options))
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
    loss, gradient = loss_of(OLD.tolist(), loss_aggregation="token")
    assert loss == pytest.approx(-(1 + 1 - 2) / 3)
    assert gradient.tolist() == pytest.approx([-1 / 3, -1 / 3, 2 / 3])


def test_constant_aggregation_divides_by_the_token_limit() -> None:
    loss, _ = loss_of(OLD.tolist(), loss_aggregation="constant", constant_tokens=10)
    assert loss == pytest.approx(0.0)
    _, gradient = loss_of(OLD.tolist(), loss_aggregation="constant", constant_tokens=10)
    assert gradient.tolist() == pytest.approx([-0.05, -0.05, 0.1])


def test_clip_stops_the_gradient_on_both_sides_only_where_it_would_overshoot() -> None:
    up, down = math.log(1.5), math.log(0.5)
    # token 0: advantage +1, ratio 1.5 > 1.2: clipped; token 1: ratio 0.5, not clipped (min);
    # token 2: advantage -2, ratio 0.5 < 0.8: clipped
    _, gradient = loss_of([-1.0 + up, -2.0 + down, -0.5 + down])
    assert gradient[0] == 0.0
    assert gradient[1].item() == pytest.approx(-0.25 * 0.5)
    assert gradient[2] == 0.0


def test_truncated_importance_weight_is_capped_and_has_no_gradient() -> None:
    far = math.log(5.0)
    _, gradient = loss_of([-1.0 + far, -2.0, -0.5], loss_type="truncated_is", is_clip_max=2.0)
    assert gradient.tolist() == pytest.approx([-0.25 * 2.0, -0.25, 1.0])


def test_ratio_of_a_sequence_is_the_geometric_mean_of_its_tokens() -> None:
    # sequence 0: (log 4 + log 1) / 2 = log 2; sequence 1: log 3
    found = sequence_log_ratio(torch.tensor([4.0, 1.0, 3.0]).log(), torch.tensor([2, 1]))
    assert found.exp().tolist() == pytest.approx([2.0, 2.0, 3.0])


def test_gspo_is_the_mean_over_sequences_of_their_ratio_times_advantage() -> None:
    # sequence 0: s = exp((log 1.21 + 0) / 2) = 1.1 below 1.2; sequence 1: s = 0.9, above 0.8
    new = [-1.0 + math.log(1.21), -2.0, -0.5 + math.log(0.9)]
    loss, gradient = loss_of(new, loss_type="gspo")
    assert loss == pytest.approx(-(1.1 * 1 + 0.9 * -2) / 2)
    # d s / d logprob = s / length: both tokens of sequence 0 alike, though only one has moved
    assert gradient.tolist() == pytest.approx([-1.1 / 2 / 2, -1.1 / 2 / 2, 2 * 0.9 / 2])


def test_gspo_clips_whole_sequences() -> None:
    # the first token's ratio 1.96 makes the sequence's 1.4 > 1.2: no token of it has a gradient
    new = [-1.0 + math.log(1.96), -2.0, -0.5]
    loss, gradient = loss_of(new, loss_type="gspo")
    assert loss == pytest.approx(-(1.2 * 1 - 2) / 2)
    assert gradient.tolist() == pytest.approx([0.0, 0.0, 1.0])


def test_gspo_clips_a_punished_sequence_below() -> None:
    loss, gradient = loss_of([-1.0, -2.0, -0.5 + math.log(0.5)], loss_type="gspo")
    assert loss == pytest.approx(-(1 + 0.8 * -2) / 2)
    assert gradient.tolist() == pytest.approx([-0.25, -0.25, 0.0])


def test_cispo_keeps_the_gradient_of_every_token_under_a_clipped_weight() -> None:
    # ratios 5, 1, 0.1; weights 2, 1, 0.5; all tokens weigh 1/3
    new = [-1.0 + math.log(5), -2.0, -0.5 + math.log(0.1)]
    options = {
        "loss_type": "cispo",
        "loss_aggregation": "token",
        "is_clip_min": 0.5,
        "is_clip_max": 2.0,
    }
    loss, gradient = loss_of(new, **options)
    assert loss == pytest.approx(-(2 * 1 * new[0] + 1 * 1 * new[1] + 0.5 * -2 * new[2]) / 3)
    assert gradient.tolist() == pytest.approx([-2 / 3, -1 / 3, 2 * 0.5 / 3])


def test_cispo_of_the_paper_has_no_floor() -> None:
    new = [-1.0, -2.0, -0.5 + math.log(0.1)]
    _, gradient = loss_of(new, loss_type="cispo", loss_aggregation="token")
    assert gradient.tolist() == pytest.approx([-1 / 3, -1 / 3, 2 * 0.1 / 3])


def test_a_floor_is_cispo_s_alone() -> None:
    new = [-1.0, -2.0, -0.5 + math.log(0.1)]
    _, gradient = loss_of(new, loss_type="truncated_is", loss_aggregation="token", is_clip_min=0.5)
    assert gradient.tolist() == pytest.approx([-1 / 3, -1 / 3, 2 * 0.1 / 3])


@pytest.mark.parametrize(
    ("loss_type", "wanted"),
    [("ppo_clip", 2 / 3), ("gspo", 2 / 3), ("cispo", 1 / 3), ("reinforce", 0.0)],
)
def test_share_of_clipped_tokens_is_reported(loss_type: str, wanted: float) -> None:
    # ratios 3, 1.4 | 1 with advantages 1 | -2: two above 1.2 (their mean too), one above the cap 2
    new = OLD + torch.tensor([3.0, 1.4, 1.0]).log()
    _, stats = policy_loss(new, OLD, ADVANTAGES, LENGTHS, LossOptions(loss_type=loss_type))
    assert stats["clipped_fraction"] == pytest.approx(wanted)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_set_of_loss_options(preset: str) -> None:
    options = LossOptions(**PRESETS[preset])
    loss, _ = policy_loss(OLD, OLD, ADVANTAGES, LENGTHS, options)
    assert torch.isfinite(loss)


def test_default_options_are_the_grpo_preset() -> None:
    assert LossOptions(**PRESETS["grpo"]) == LossOptions()


@pytest.mark.parametrize(
    ("preset", "wanted"),
    [
        # advantages 1 | -2 at ratio 1, two tokens | one
        ("grpo", [-1 / 4, -1 / 4, 2 / 2]),
        ("dr_grpo", [-1 / 20, -1 / 20, 2 / 20]),
        ("dapo", [-1 / 3, -1 / 3, 2 / 3]),
        ("gspo", [-1 / 4, -1 / 4, 2 / 2]),
        ("cispo", [-1 / 3, -1 / 3, 2 / 3]),
    ],
)
def test_gradient_of_each_preset_on_the_first_pass(preset: str, wanted: list[float]) -> None:
    _, gradient = loss_of(OLD.tolist(), **{**PRESETS[preset], "constant_tokens": 10})
    assert gradient.tolist() == pytest.approx(wanted)


def test_reinforce_ignores_the_ratio() -> None:
    _, gradient = loss_of([-9.0, -9.0, -9.0], loss_type="reinforce")
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
