"""Rank and world size by the launchers' environment."""

from __future__ import annotations

import pytest

from llm_as_judge.errors import ConfigError
from llm_as_judge.policy.launched import Launched, launched

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}


def test_without_a_launcher_there_is_one_process() -> None:
    assert launched({}) == Launched(0, 1, 0, 1)


def test_a_process_knows_its_place() -> None:
    assert launched(TORCHRUN) == Launched(5, 8, 1, 4)


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        (
            {"ACCELERATE_MIXED_PRECISION": "no", "MASTER_PORT": "29500"},
            "starts a single process, whatever --num_processes says; add --multi_gpu",
        ),
        (TORCHRUN | {"ACCELERATE_USE_FSDP": "true"}, "FSDP is not supported; take config/acc"),
        (TORCHRUN | {"ACCELERATE_USE_DEEPSPEED": "true"}, "DEEPSPEED is not supported"),
        (TORCHRUN | {"RANK": "first"}, "RANK: 'first', wanted a number"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_do(
    environment: dict[str, str], wanted: str
) -> None:
    with pytest.raises(ConfigError, match=wanted):
        launched(environment)
