"""scripts/run_full_pipeline.sh: what reaches its verbs. A program in place of python writes it down."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "run_full_pipeline.sh"
VERBS = ["models", "download", "process", "evaluate", "audit", "train", "evaluate", "report"]

Start = Callable[[str], "subprocess.Popen[str]"]


def hear_interrupts() -> None:
    """In the child: what is ignored at a shell's start (as in a background job) stays ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a copy of the script whose python is a shell script that ends with ``body``."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    scripts: list[subprocess.Popen[str]] = []

    def started(body: str) -> subprocess.Popen[str]:
        python.write_text(f'#!/bin/bash\necho "$3" >> {tmp_path}/verbs\n{body}\n')
        python.chmod(0o755)
        script = subprocess.Popen(
            [tmp_path / "scripts" / SCRIPT.name, "--config", "embedded"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PATH": os.environ["PATH"]},
            preexec_fn=hear_interrupts,
        )
        scripts.append(script)
        return script

    yield started
    for script in scripts:
        script.kill()
        script.wait()


def test_the_verbs_run_in_order(start: Start, tmp_path: Path) -> None:
    script = start("exit 0")
    output, _ = script.communicate(timeout=60)
    assert script.returncode == 0, output
    assert (tmp_path / "verbs").read_text().split() == VERBS


def test_a_verb_that_fails_ends_the_script_with_its_status(start: Start, tmp_path: Path) -> None:
    script = start('if [ "$3" = process ]; then exit 2; fi')
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
for _ in $(seq 1200); do sleep 0.05; done"""
    script = start(body)
    while not (tmp_path / "ready").exists():
        assert script.poll() is None
        time.sleep(0.01)
    script.send_signal(number)
    output, _ = script.communicate(timeout=60)
    assert script.returncode == 77, output
    assert (tmp_path / "got").read_text().strip() == name
    assert (tmp_path / "verbs").read_text().split() == ["models"]
