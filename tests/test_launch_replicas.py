"""launch_replicas.sh: N servers with their own ports and GPUs; what dies is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "launch_replicas.sh"
VLLM = """#!/usr/bin/env bash
echo "$$ gpus=$CUDA_VISIBLE_DEVICES lora=$VLLM_ALLOW_RUNTIME_LORA_UPDATING $*" >> "$STARTS"
trap 'echo "$$ ended" >> "$STARTS"; exit 0' TERM
while true; do sleep 0.02; done
"""
"""Stands for vllm: says how it was started, and ends when asked."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "vllm").write_text(VLLM)
    (tmp_path / "vllm").chmod(0o755)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    return tmp_path


def environment(place: Path, **more: str) -> dict[str, str]:
    path = f"{place}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "STARTS": str(place / "starts"), **more}


@contextmanager
def running(place: Path, *arguments: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    command = ["bash", str(SCRIPT), str(place / "model"), *arguments]
    script = subprocess.Popen(
        command,
        env=environment(place, VLLM_RESTART_S="0", **more),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield script
    finally:
        script.terminate()
        script.communicate(timeout=60)


def said(place: Path, lines: int) -> list[str]:
    """What the servers have said, when there is so much of it."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = (place / "starts").read_text().splitlines() if (place / "starts").exists() else []
        if len(found) >= lines:
            return found
        time.sleep(0.02)
    raise AssertionError(f"wanted {lines} lines, found {found}")


@pytest.mark.slow
def test_each_replica_has_a_port_and_gpus_of_its_own_and_the_dead_come_back(place: Path) -> None:
    with running(place, "2", "--dtype", "float32", VLLM_TENSOR_PARALLEL="2") as script:
        assert script.stdout is not None
        wanted = "[http://127.0.0.1:8010/v1,http://127.0.0.1:8011/v1]"
        assert script.stdout.readline().endswith(f"sampling.replicas={wanted}\n")
        first, second = sorted(said(place, 2), key=lambda line: line.split(" ", 1)[1])
        for line, gpus, port in ((first, "0,1", 8010), (second, "2,3", 8011)):
            assert f"gpus={gpus} lora=1 serve {place / 'model'} " in line
            assert f"--port {port} --tensor-parallel-size 2 --enable-lora" in line
            assert line.endswith("--dtype float32")
        os.kill(int(first.split()[0]), signal.SIGKILL)
        third = said(place, 3)[2]
        assert third.split(" ", 1)[1] == first.split(" ", 1)[1]
    assert [line for line in said(place, 5)[3:] if not line.endswith(" ended")] == []


def test_a_server_that_hears_no_signal_is_killed_with_what_it_has_started(place: Path) -> None:
    (place / "vllm").write_text(
        VLLM.replace("trap '", "sleep 3600 & echo $! >> \"$STARTS\"; trap '' TERM # ")
    )
    with running(place, "1", VLLM_STOP_S="0.1"):
        server, engine = (int(line.split()[0]) for line in said(place, 2))
    for pid in (server, engine):
        assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie"


@pytest.mark.parametrize(
    ("arguments", "more", "wanted"),
    [
        (["."], {}, "wanted: FOLDER N"),
        (["/nowhere", "2"], {}, "/nowhere holds no config.json"),
        (["model", "4"], {"CUDA_VISIBLE_DEVICES": "0,1"}, "CUDA_VISIBLE_DEVICES names 2"),
    ],
)
def test_what_cannot_be_started_is_said_in_one_line(
    place: Path, arguments: list[str], more: dict[str, str], wanted: str
) -> None:
    done = subprocess.run(
        ["bash", str(SCRIPT), *arguments],
        cwd=place,
        env=environment(place, **more),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("launch_replicas.sh: ")
    assert wanted in done.stderr
    assert done.stderr.count("\n") == 1
