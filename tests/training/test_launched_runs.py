"""Whole runs under ``accelerate launch``, from a shell: equal to one process, killed, gone on with.

``make ranks``. Each process loads torch and a policy, so that this takes minutes on two processors.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from safetensors.torch import load_file
from tiny_runs import run_settings, tiny_place

pytestmark = pytest.mark.skipif("RANKS" not in os.environ, reason="minutes: `make ranks`")
ROOT = Path(__file__).resolve().parents[2]
STEPS = 5
SAME = 5e-4
"""Gap that the order of the sums explains: 1e-5 to 1e-4 on processors with and without AVX-512."""


@dataclass
class Place:
    """A folder with configuration, data and the tiny policy."""

    folder: Path

    def command(self, name: str, count: int, *more: str) -> list[str]:
        launch = ["-m", "accelerate.commands.launch", "--num_processes", str(count)]
        launch += ["--config_file", str(ROOT / "config" / "accelerate" / "ddp.yaml"), "-m"]
        config = self.folder / f"{name}.yaml"
        if not config.exists():
            shape: dict[str, Any] = {"steps": STEPS, "problems_per_step": 4, "save_every": 1}
            shape |= {"loss_type": "truncated_is", "keep_checkpoints": 9}
            config.write_text(yaml.safe_dump(run_settings(self.folder, name, training=shape)))
        train = ["llm_as_judge", "train", "--config", str(config), *more]
        return [sys.executable, *(launch if count > 1 else ["-m"]), *train]

    def start(self, name: str, count: int, *more: str) -> subprocess.Popen[str]:
        environment = {
            **{k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")},
            "LLM_AS_JUDGE_CONFIG": str(self.folder / "config"),
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "400",
        }
        command = self.command(name, count, *more)
        return subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def trained(self, name: str, count: int, *more: str) -> None:
        process = self.start(name, count, *more)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out[-2000:] + err[-2000:]

    def checkpoint(self, name: str, step: int = STEPS) -> Path:
        return self.folder / name / "checkpoints" / "tiny" / "grpo_mixed" / f"step_{step}"

    def gap(self, name: str, other: str) -> float:
        """Distance of two adapters, as a part of the way from step 1 to the last one.

        Over all weights together: AdamW divides a gradient by its own size, so that a single weight with a
        gradient near zero moves by what the order of the sums leaves, which differs by processor.
        """
        first, left, right = (
            load_file(self.checkpoint(n, step) / "adapter_model.safetensors")
            for n, step in ((name, 1), (name, STEPS), (other, STEPS))
        )
        apart = sum(float((left[key] - right[key]).pow(2).sum()) for key in left)
        moved = sum(float((left[key] - first[key]).pow(2).sum()) for key in left)
        return math.sqrt(apart / moved)


@pytest.fixture(scope="module")
def place(tiny_weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    found = Place(tiny_place(tmp_path_factory.mktemp("launched"), tiny_weights))
    found.trained("alone", 1)
    return found


def processes(launcher: subprocess.Popen[str], count: int) -> list[psutil.Process]:
    """Rank after rank."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = [
            p
            for p in psutil.Process(launcher.pid).children(recursive=True)
            if "llm_as_judge" in " ".join(p.cmdline()) and "RANK" in p.environ()
        ]
        by_rank = {int(p.environ()["RANK"]): p for p in found if p.ppid() == launcher.pid}
        if len(by_rank) == count:
            return [by_rank[rank] for rank in range(count)]
        time.sleep(0.05)
    raise AssertionError("the processes did not start")


def wait_for(path: Path, launcher: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 200
    while not path.exists():
        assert launcher.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_two_processes_from_a_shell_train_what_one_does(place: Place) -> None:
    place.trained("two", 2)
    gap = place.gap("alone", "two")
    print(f"\ngap to one process's adapter after {STEPS} steps, of the way moved: {gap:.1e}")  # noqa: T201
    assert gap <= SAME
    (facts,) = [
        json.loads(path.read_text())
        for path in (place.folder / "logs").glob("*/run.json")
        if json.loads(path.read_text())["learner_processes"] == 2
    ]
    assert facts["policy"] == "tiny"


@pytest.mark.parametrize("victim", [0, 1])
def test_whoever_is_killed_the_others_end_and_another_number_goes_on(
    place: Place, victim: int
) -> None:
    name = f"killed_{victim}"
    launcher = place.start(name, 2)
    ranks = processes(launcher, 2)
    wait_for(place.checkpoint(name, 2), launcher)
    killed = time.monotonic()
    ranks[victim].send_signal(signal.SIGKILL)
    out, err = launcher.communicate(timeout=120)
    print(f"\nrank {victim} killed: all ended after {time.monotonic() - killed:.1f} s")  # noqa: T201
    assert launcher.returncode != 0
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in ranks)
    said = [line for line in err.splitlines() if re.match("error: |stopped; ", line)]
    assert len(said) == 1, out + err
    assert err.count("Traceback (most recent call last)") == 1  # the launcher's own
    place.trained(name, 3 if victim else 1, "--resume")
    assert place.gap("alone", name) <= SAME


def test_one_process_where_several_were_asked_for_is_refused(place: Place) -> None:
    command = place.command("alone", 2)
    start = command.index("--config_file")
    done = subprocess.run(
        [*command[:start], *command[start + 2 :]],
        env={**os.environ, "LLM_AS_JUDGE_CONFIG": str(place.folder / "config")},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "add --multi_gpu" in done.stderr
