"""GGUF weights are unpacked once, by whoever comes first; who is stopped leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llm_as_judge.errors import ModelError
from llm_as_judge.policy import unpacking
from tiny_models import tiny_policy

CHILD = """
import os, sys, threading, time
from pathlib import Path
from llm_as_judge.policy import unpacking

def unpack(path, folder, partial):
    (partial / "model.safetensors").write_bytes(b"begun")
    with open(folder.parent / "log", "a") as log:
        log.write("begun\\n")
    while not (folder.parent / "go").exists():
        time.sleep(0.01)
    (partial / "config.json").write_text("{}")
    partial.replace(folder)

unpacking._unpack = unpack
sys.argv[1:] = sys.argv[-2:]
unpacking.main()
"""
"""The child with a library that unpacks when it is told to."""
PARENT = f"""
import subprocess, sys
from pathlib import Path
from llm_as_judge import interruptible
from llm_as_judge.cli.stopping import signals
from llm_as_judge.policy import unpacking
import asyncio

real = interruptible.run
unpacking.interruptible.run = lambda command: real([sys.executable, "-c", {CHILD!r}, *command[-2:]])
with signals():
    async def job():
        await interruptible.in_thread(unpacking.unpack_gguf, Path(sys.argv[1]))
    asyncio.run(job())
"""


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    return path


def until(seen: Path) -> None:
    for _ in range(3000):
        if seen.exists():
            return
        time.sleep(0.02)
    raise AssertionError(f"no {seen}")


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in ("log", "go"))


@pytest.mark.slow
def test_processes_that_need_the_same_weights_unpack_them_once(weights: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(weights)]
    started = [subprocess.Popen(command) for _ in range(3)]
    until(weights.with_name("log"))
    weights.with_name("go").touch()
    assert [process.wait() for process in started] == [0, 0, 0]
    assert weights.with_name("log").read_text() == "begun\n"
    assert left(weights.parent) == [".m-safetensors.lock", "m-safetensors", "m.gguf"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_stopped_process_leaves_no_folder(weights: Path, number: signal.Signals) -> None:
    started = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(weights)],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    until(weights.with_name("log"))
    os.kill(started.pid, number)
    started.wait()
    for _ in range(500):  # of a killed one the child takes it away, by itself
        if left(weights.parent) == [".m-safetensors.lock", "m.gguf"]:
            break
        time.sleep(0.02)
    assert left(weights.parent) == [".m-safetensors.lock", "m.gguf"]


@pytest.mark.slow
def test_what_is_no_gguf_is_one_line(weights: Path) -> None:
    with pytest.raises(
        ModelError, match=r"m\.gguf: cannot be loaded as a policy: .*; wanted a causal"
    ):
        tiny_policy(weights)
    assert left(weights.parent) == [".m-safetensors.lock", "m.gguf"]


def test_folders_of_killed_processes_are_taken_away(weights: Path) -> None:
    stale = weights.with_name(".m-safetensors.abc")
    stale.mkdir()
    unpacking._remove_unfinished(weights.with_name("m-safetensors"))
    assert not stale.exists()
