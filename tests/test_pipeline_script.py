"""scripts/run_full_pipeline.sh: what reaches its verbs. A program in place of python writes it down."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "run_full_pipeline.sh"
VERBS = ["models", "download", "process", "evaluate", "audit", "train", "evaluate", "report"]

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start a copy of the script whose python is a shell script that ends with ``body``."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)

    def started(body: str) -> subprocess.Popen[str]:
        python.write_text(f'#!/bin/bash\necho "$3" >> {tmp_path}/verbs\n{body}\n')
        python.chmod(0o755)
        return subprocess.Popen(
            [tmp_path / "scripts" / SCRIPT.name, "--config", "embedded"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PATH": os.environ["PATH"]},
        )

    return started


def test_the_verbs_run_in_order(start: Start, tmp_path: Path) -> None:
    with start("exit 0") as script:
        output, _ = script.communicate(timeout=60)
    assert script.returncode == 0, output
    assert (tmp_path / "verbs").read_text().split() == VERBS


def test_a_verb_that_fails_ends_the_script_with_its_status(start: Start, tmp_path: Path) -> None:
    with start('if [ "$3" = process ]; then exit 2; fi') as script:
        output, _ = script.communicate(timeout=60)
    assert script.returncode == 2, output
    assert (tmp_path / "verbs").read_text().split() == VERBS[:3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_verb_and_the_script_waits_for_its_end(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    name = number.name.removeprefix("SIG")
    body = f"""trap 'sleep 0.3; echo {name} > {tmp_path}/got; exit 77' {name}
touch {tmp_path}/ready
while :; do sleep 0.05; done"""
    with start(body) as script:
        while not (tmp_path / "ready").exists():
            assert script.poll() is None
            time.sleep(0.01)
        script.send_signal(number)
        output, _ = script.communicate(timeout=60)
    assert script.returncode == 77, output
    assert (tmp_path / "got").read_text().strip() == name
    assert (tmp_path / "verbs").read_text().split() == ["models"]
