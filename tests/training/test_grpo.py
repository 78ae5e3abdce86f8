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

STEP_DEVIATION = math.sqrt((1 + 1 + 9 + 9) / 4)


@pytest.mark.parametrize(
    ("rewards", "options", "wanted"),
    [
        # mean 2, deviation of (1, 2, 3) with n - 1 in the denominator: 1
        pytest.param([[1.0, 2.0, 3.0]], {}, [[-1.0, 0.0, 1.0]], id="by the group"),
        pytest.param(
            [[1.0, 2.0, 6.0]],
            {"baseline": "leave_one_out", "advantage_norm": "none"},
            [[1 - 4, 2 - 3.5, 6 - 1.5]],
            id="less the mean of the siblings",
        ),
        pytest.param(
            [[0.0, 2.0], [0.0, 6.0]],
            {"advantage_norm": "batch"},
            [[-1 / STEP_DEVIATION, 1 / STEP_DEVIATION], [-3 / STEP_DEVIATION, 3 / STEP_DEVIATION]],
            id="one deviation for all groups",
        ),
    ],
)
def test_advantages(
    rewards: list[list[float]], options: dict[str, str], wanted: list[list[float]]
) -> None:
    found = step_advantages(rewards, LossOptions(**options))
    assert found == [pytest.approx(group, abs=1e-5) for group in wanted]


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


CONSTANT: dict[str, object] = {"loss_aggregation": "constant", "constant_tokens": 10}
TOKEN: dict[str, object] = {"loss_aggregation": "token"}
LOW = math.log(0.1)
LOSSES: dict[str, tuple[list[float], dict[str, object], float | None, list[float]]] = {
    # sequences: mean of (1, 1) and of (-2); their mean is -0.5, the loss +0.5
    # each token of sequence 0 has weight 1/(2*2), of sequence 1 weight 1/2
    "ratio one gives minus the mean advantage": ([0, 0, 0], {}, 0.5, [-0.25, -0.25, 1.0]),
    "all tokens alike": ([0, 0, 0], TOKEN, -(1 + 1 - 2) / 3, [-1 / 3, -1 / 3, 2 / 3]),
    "divided by the token limit": ([0, 0, 0], CONSTANT, 0.0, [-0.05, -0.05, 0.1]),
    # token 0: advantage +1, ratio 1.5 > 1.2: clipped; token 1: ratio 0.5, not clipped (min);
    # token 2: advantage -2, ratio 0.5 < 0.8: clipped
    "clip on both sides only where it would overshoot": (
        [math.log(1.5), math.log(0.5), math.log(0.5)],
        {},
        None,
        [0.0, -0.25 * 0.5, 0.0],
    ),
    "a truncated weight is capped and has no gradient": (
        [math.log(5.0), 0, 0],
        {"loss_type": "truncated_is", "is_clip_max": 2.0},
        None,
        [-0.25 * 2.0, -0.25, 1.0],
    ),
    # sequence 0: s = exp((log 1.21 + 0) / 2) = 1.1 below 1.2; sequence 1: s = 0.9, above 0.8
    # d s / d logprob = s / length: both tokens of sequence 0 alike, though only one has moved
    "gspo is the mean over sequences of their ratio times advantage": (
        [math.log(1.21), 0, math.log(0.9)],
        {"loss_type": "gspo"},
        -(1.1 * 1 + 0.9 * -2) / 2,
        [-1.1 / 2 / 2, -1.1 / 2 / 2, 2 * 0.9 / 2],
    ),
    # the first token's ratio 1.96 makes the sequence's 1.4 > 1.2: no token of it has a gradient
    "gspo clips whole sequences": (
        [math.log(1.96), 0, 0],
        {"loss_type": "gspo"},
        -(1.2 * 1 - 2) / 2,
        [0.0, 0.0, 1.0],
    ),
    "gspo clips a punished sequence below": (
        [0, 0, math.log(0.5)],
        {"loss_type": "gspo"},
        -(1 + 0.8 * -2) / 2,
        [-0.25, -0.25, 0.0],
    ),
    # ratios 5, 1, 0.1; weights 2, 1, 0.5; all tokens weigh 1/3
    "cispo keeps the gradient of every token under a clipped weight": (
        [math.log(5), 0, LOW],
        {"loss_type": "cispo", **TOKEN, "is_clip_min": 0.5, "is_clip_max": 2.0},
        -(2 * (-1.0 + math.log(5)) + 1 * -2.0 + 0.5 * -2 * (-0.5 + LOW)) / 3,
        [-2 / 3, -1 / 3, 2 * 0.5 / 3],
    ),
    "cispo of the paper has no floor": (
        [0, 0, LOW],
        {"loss_type": "cispo", **TOKEN},
        None,
        [-1 / 3, -1 / 3, 2 * 0.1 / 3],
    ),
    "a floor is cispo's alone": (
        [0, 0, LOW],
        {"loss_type": "truncated_is", **TOKEN, "is_clip_min": 0.5},
        None,
        [-1 / 3, -1 / 3, 2 * 0.1 / 3],
    ),
    "reinforce ignores the ratio": (
        [-8.0, -7.0, -8.5],
        {"loss_type": "reinforce"},
        None,
        [-0.25, -0.25, 1.0],
    ),
    # the presets on the first pass: advantages 1 | -2 at ratio 1, two tokens | one
    **{
        preset: ([0, 0, 0], {**PRESETS[preset], "constant_tokens": 10}, None, gradient)
        for preset, gradient in {
            "grpo": [-1 / 4, -1 / 4, 2 / 2],
            "dr_grpo": [-1 / 20, -1 / 20, 2 / 20],
            "dapo": [-1 / 3, -1 / 3, 2 / 3],
            "gspo": [-1 / 4, -1 / 4, 2 / 2],
            "cispo": [-1 / 3, -1 / 3, 2 / 3],
        }.items()
    },
}
"""Log-ratio of each token, options, loss, gradient."""


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_gradients_worked_by_hand(name: str) -> None:
    log_ratios, options, wanted_loss, wanted = LOSSES[name]
    loss, gradient = loss_of((OLD + torch.tensor(log_ratios)).tolist(), **options)
    assert gradient.tolist() == pytest.approx(wanted)
    if wanted_loss is not None:
        assert loss == pytest.approx(wanted_loss, abs=1e-6)


def test_ratio_of_a_sequence_is_the_geometric_mean_of_its_tokens() -> None:
    # sequence 0: (log 4 + log 1) / 2 = log 2; sequence 1: log 3
    found = sequence_log_ratio(torch.tensor([4.0, 1.0, 3.0]).log(), torch.tensor([2, 1]))
    assert found.exp().tolist() == pytest.approx([2.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("loss_type", "wanted"),
    [("ppo_clip", 2 / 3), ("gspo", 2 / 3), ("cispo", 1 / 3), ("reinforce", 0.0)],
)
def test_share_of_clipped_tokens_is_reported(loss_type: str, wanted: float) -> None:
    # ratios 3, 1.4 | 1 with advantages 1 | -2: two above 1.2 (their mean too), one above the cap 2
    new = OLD + torch.tensor([3.0, 1.4, 1.0]).log()
    _, stats = policy_loss(new, OLD, ADVANTAGES, LENGTHS, LossOptions(loss_type=loss_type))
    assert stats["clipped_fraction"] == pytest.approx(wanted)


def test_default_options_are_the_grpo_preset_and_all_presets_are_worked_by_hand() -> None:
    assert set(PRESETS) <= set(LOSSES)
    assert LossOptions(**PRESETS["grpo"]) == LossOptions()


@pytest.mark.parametrize(("shift", "kl"), [(0.0, 0.0), (0.3, math.exp(0.3) - 1.3)])
def test_kl_is_zero_at_the_reference_and_its_weighted_mean_is_lost_beside_it(
    shift: float, kl: float
) -> None:
    options = LossOptions(kl_weight=0.5)
    loss, stats = policy_loss(
        OLD, OLD, torch.zeros(2), LENGTHS, options, reference_logprobs_T=OLD + shift
    )
    assert stats["kl"] == pytest.approx(kl, abs=1e-6)
    assert loss.item() == pytest.approx(0.5 * kl, abs=1e-6)


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
