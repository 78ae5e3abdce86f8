"""A whole training from a plain script and an interactive session with a running event loop: the program
is not run again in any process of ours, and nothing is left behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from killable_runs import settings

SCRIPT = """import asyncio
from pathlib import Path
from llm_as_judge import GRPOTrainer
print("main runs")
trainer = GRPOTrainer(CONFIG, run_dir=Path(CONFIG).parent / "run")
result = asyncio.run(trainer.train(num_steps=1))
print("steps", result.steps)
"""
NOTEBOOK = """from pathlib import Path
from llm_as_judge import GRPOTrainer
print("main runs")
trainer = GRPOTrainer(CONFIG, run_dir=Path(CONFIG).parent / "run")
misused = trainer.train(num_steps=1)
try: asyncio.run(misused)
except RuntimeError as error: print(error)

misused.close()
result = await trainer.train(num_steps=1)
print("steps", result.steps)
"""
MISUSED = "asyncio.run() cannot be called from a running event loop"


@pytest.fixture
def place(served_place: Path) -> Path:
    return served_place


@pytest.mark.slow
@pytest.mark.parametrize("way", ["script", "running loop"])
def test_training_needs_no_main_guard(place: Path, way: str) -> None:
    config = f"CONFIG = {str(settings(place, 'plain', 0))!r}\n"
    script, notebook = config + SCRIPT, config + NOTEBOOK
    (place / "plain.py").write_text(script)
    arguments, typed = {
        "script": (["plain.py"], ""),
        "running loop": (["-m", "asyncio"], notebook),
    }[way]
    found = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        input=typed,
        capture_output=True,
        text=True,
        cwd=place,
        env={**os.environ, "LLM_AS_JUDGE_CONFIG": str(place / "config")},
        check=False,
    )
    assert found.returncode == 0, found.stderr
    misused = [MISUSED] if way == "running loop" else []
    assert re.sub(r">>> |\.\.\. ", "", found.stdout).splitlines() == [
        "main runs",
        *misused,
        "steps 1",
    ]
    said = found.stderr.replace(">>>", "").strip()
    if way == "running loop":  # which greets and says goodbye
        assert not any(word in said for word in ("leaked", "resource_tracker", "Traceback"))
    else:
        assert said == ""
