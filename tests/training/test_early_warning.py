"""Early warnings: silent on a healthy run, each rule on its own sign, shown once and then rarely."""

from __future__ import annotations

import re

import pytest

from llm_as_judge.config import Config, iterate_fields
from llm_as_judge.training.early_warning import early_warnings, news

HEALTHY = {
    "update/groups": 3.0,
    "update/groups_without_variance": 1.0,
    "update/entropy": 0.4,
    "update/grad_norm": 0.6,
    "update/logprob_gap_mean": 2e-6,
    "update/clipped_fraction": 0.02,
    "update/kl": 0.01,
    "rollout/distinct_programs": 0.8,
    "rollout/truncated": 0.1,
    "rollout/strictly_valid": 0.9,
    "rollout/staleness": 0.0,
}


def run(steps: int = 10, last: int = 5, **changes: float) -> list[dict[str, float]]:
    """A healthy run whose ``last`` steps have other values."""
    changed = {key.replace("__", "/"): value for key, value in changes.items()}
    return [HEALTHY if step < steps - last else {**HEALTHY, **changed} for step in range(steps)]


ALARMS = {
    "zero_variance": run(update__groups=1.0, update__groups_without_variance=3.0),
    "entropy": run(last=3, update__entropy=0.07),
    "distinct_programs": run(
        rollout__distinct_programs=0.3, update__groups=2.0, update__groups_without_variance=2.0
    ),
    "logprob_gap": run(last=1, update__logprob_gap_mean=2e-4),
    "kl": run(last=3, update__kl=0.6),
    "clipped": run(last=3, update__clipped_fraction=0.4),
    "grad_norm": run(last=1, update__grad_norm=3.1),
    "invalid_programs": run(last=3, rollout__strictly_valid=0.3),
    "truncated": run(last=3, rollout__truncated=0.3),
}
REPAIRED = run(last=3, rollout__strictly_valid=0.02, rollout__repaired=0.95)


@pytest.mark.parametrize("name", ALARMS)
def test_each_sign_gives_its_own_warning_and_no_other(name: str) -> None:
    assert list(early_warnings(ALARMS[name])) == [name]


def test_programs_that_run_after_a_repair_alone_are_not_taken_for_bad_ones() -> None:
    assert (
        "95% of the programs run only after a repair"
        in early_warnings(REPAIRED)["invalid_programs"]
    )


@pytest.mark.parametrize(
    ("name", "steps"), [*ALARMS.items(), ("invalid_programs", REPAIRED)], ids=[*ALARMS, "repaired"]
)
def test_a_warning_names_settings_that_exist(name: str, steps: list[dict[str, float]]) -> None:
    known = {key for key, _ in iterate_fields(Config)}
    named = re.findall(r"\b[a-z]+\.[a-z_]+\b", early_warnings(steps)[name])
    settings = [word for word in named if not word.endswith(".jsonl")]
    assert settings
    assert set(settings) <= known


@pytest.mark.parametrize("name", ["zero_variance", "entropy", "distinct_programs"])
def test_a_floor_of_half_the_first_entropy_is_advised_where_a_run_has_none(name: str) -> None:
    floored = [{**step, "update/entropy_bonus": 0.0} for step in ALARMS[name]]
    assert "training.entropy_floor to half of" in early_warnings(ALARMS[name])[name]
    assert "(0.2)" in early_warnings(ALARMS[name])[name]  # it began at 0.4
    assert "entropy_floor" not in early_warnings(floored)[name]


BAD = {key: value for rows in ALARMS.values() for key, value in rows[-1].items()}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(run(), id="a healthy run"),
        *(pytest.param([BAD] * n, id=f"{n} bad steps are too few") for n in range(3)),
        pytest.param([{"rollout/count": 8.0}] * 10, id="steps without the figures"),
        pytest.param(
            run(last=9, update__logprob_gap_mean=0.3, rollout__staleness=1.0),
            id="stale programs differ from the policy",
        ),
        pytest.param(run(rollout__distinct_programs=0.0), id="no program runs"),
        pytest.param(run(rollout__distinct_programs=0.2), id="few kinds that earn unlike"),
    ],
)
def test_what_is_no_sign_gives_no_warning(steps: list[dict[str, float]]) -> None:
    assert early_warnings(steps) == {}


def test_a_warning_is_shown_when_it_comes_and_again_after_ten_steps() -> None:
    before: list[dict[str, str]] = [{}]
    shown = []
    for step in range(25):
        now = {"entropy": "low"} if step != 12 else {}
        if news(now, before):
            shown.append(step)
        before.append(now)
    assert shown == [0, 10, 13, 23]
