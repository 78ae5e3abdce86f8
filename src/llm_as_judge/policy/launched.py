"""Rank and world size from the launcher's environment (`accelerate launch`, torchrun); no torch.

The launchers say it in the environment. Only ``train`` makes use of several processes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from llm_as_judge.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Launched:
    """The place of a process among those of one run."""

    rank: int = 0
    """0: the one that samples, runs, grades, and writes all files."""
    count: int = 1
    local_rank: int = 0
    """Among those of its machine: the number of its CUDA device."""
    local_count: int = 1


def launched(environment: Mapping[str, str] = os.environ) -> Launched:
    """What the launcher says; without one, a single process.

    Raises:
        ConfigError: it says something else than it means, or asks for what is not supported.
    """
    if "RANK" not in environment or "WORLD_SIZE" not in environment:
        if "ACCELERATE_MIXED_PRECISION" in environment and "MASTER_PORT" in environment:
            raise ConfigError(
                "accelerate launch: without several GPUs it starts a single process, whatever "
                "--num_processes says; add --multi_gpu (which needs none), or --config_file "
                "config/accelerate/ddp.yaml"
            )
        return Launched()
    found = Launched(
        rank=_number(environment, "RANK"),
        count=_number(environment, "WORLD_SIZE"),
        local_rank=_number(environment, "LOCAL_RANK"),
        local_count=_number(environment, "LOCAL_WORLD_SIZE"),
    )
    for name in ("FSDP", "DEEPSPEED"):
        if environment.get(f"ACCELERATE_USE_{name}") == "true":
            raise ConfigError(
                f"accelerate launch: {name} is not supported; take config/accelerate/ddp.yaml"
            )
    return found


def _number(environment: Mapping[str, str], name: str) -> int:
    value = environment.get(name, "1" if name == "LOCAL_WORLD_SIZE" else "0")
    if not value.isdecimal():
        raise ConfigError(f"environment variable {name}: {value!r}, wanted a number")
    return int(value)
