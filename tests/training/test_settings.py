"""Settings that bind finished rollouts, and that the learner gets the configured ones."""

from __future__ import annotations

from llm_as_judge.assembly.learning import MAY_CHANGE, rollout_settings
from llm_as_judge.config import Config, iterate_fields


def test_settings_that_may_change_exist() -> None:
    assert set(MAY_CHANGE) <= {key for key, _ in iterate_fields(Config)}


def test_what_decides_a_program_or_its_reward_binds_and_the_rest_does_not() -> None:
    then = Config().model_dump(mode="json")
    for key, binds in {
        "sampling.temperature": True,
        "training.learning_rate": True,
        "reward.weights": True,
        "executor.model": True,
        "experience.enabled": True,
        "executor.timeout_s": False,
        "training.steps": False,
        "training.save_every": False,
        "output.logs": False,
        "judge.max_ungraded_fraction": False,
    }.items():
        section, name = key.split(".")
        now = {**then, section: {**then[section], name: "other"}}
        assert (rollout_settings(then) != rollout_settings(now)) is binds, key


def test_what_only_ends_or_keeps_a_run_binds_nothing() -> None:
    bound = {key for key in rollout_settings(Config().model_dump(mode="json")) if "training" in key}
    losses = "preset baseline advantage_norm loss_aggregation loss_type clip_low clip_high is_clip_min is_clip_max kl_weight"
    optimizer = "learning_rate warmup_steps schedule weight_decay max_grad_norm epochs_per_step"
    drawn = "problems_per_step samples_per_problem seed entropy_floor"
    imitated = "warm_start warm_start_mode warm_start_epochs warm_start_learning_rate"
    assert bound == {
        f"training.{name}" for name in f"{losses} {optimizer} {drawn} {imitated}".split()
    }


def test_a_run_that_left_no_configuration_binds_nothing() -> None:
    assert rollout_settings({}) == {}


def test_rollouts_of_a_run_with_the_short_keys_of_the_reward_are_still_its_own() -> None:
    now = Config().model_dump(mode="json")
    weights, options = now["reward"]["weights"], now["reward"]["options"]
    short = {"scheme": "weighted", "budget": "middle", **weights, **options["efficiency"]}
    assert rollout_settings({**now, "reward": short}) == rollout_settings(now)


def test_a_budget_decides_a_rollout_where_one_is_paid() -> None:
    now = Config().model_dump(mode="json")
    told = {**now["reward"], "scheme": "priced", "budget": "low"}
    other = {**told, "budget": "high"}
    assert rollout_settings({**now, "reward": told}) != rollout_settings({**now, "reward": other})
