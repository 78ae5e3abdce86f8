"""launch_sampler.sh: one server that takes adapters while it runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "launch_sampler.sh"
VLLM = """#!/usr/bin/env bash
echo "gpus=$CUDA_VISIBLE_DEVICES lora=$VLLM_ALLOW_RUNTIME_LORA_UPDATING $*"
"""
"""Stands for vllm: says how it was started."""


def launched(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (place / "vllm").write_text(VLLM)
    (place / "vllm").chmod(0o755)
    (place / "model").mkdir()
    (place / "model" / "config.json").write_text("{}")
    more = {"PATH": f"{place}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": "1,2"}
    return subprocess.run(
        ["bash", str(SCRIPT), *arguments],
        cwd=place,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_server_takes_adapters_and_says_what_to_give_to_train(tmp_path: Path) -> None:
    done = launched(tmp_path, "model", "--data-parallel-size", "2")
    said, started = done.stdout.splitlines()
    assert said == ("--set sampling.backend=vllm --set sampling.server=http://127.0.0.1:8010/v1")
    assert started.startswith("gpus=1,2 lora=1 serve model --host 127.0.0.1 --port 8010")
    assert "--api-server-count 1 --enable-lora --max-lora-rank 64 --max-loras 3" in started
    assert started.endswith("--enable-prefix-caching --data-parallel-size 2")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [([], "wanted: FOLDER"), (["/nowhere"], "/nowhere holds no config.json")],
)
def test_what_cannot_be_started_is_said_in_one_line(
    tmp_path: Path, arguments: list[str], wanted: str
) -> None:
    done = launched(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"launch_sampler.sh: {wanted}")
    assert done.stderr.count("\n") == 1
