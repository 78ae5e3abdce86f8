"""A whole training from a plain script: the program is not run again in any process of ours, and nothing
is left behind. In a session with a running event loop: ``test_notebook.py``."""

from __future__ import annotations

import os
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


@pytest.mark.slow
def test_training_needs_no_main_guard(served_place: Path) -> None:
    config = settings(served_place, "plain", 0)
    (served_place / "plain.py").write_text(f"CONFIG = {str(config)!r}\n{SCRIPT}")
    found = subprocess.run(
        [sys.executable, "-W", "error", "plain.py"],
        capture_output=True,
        text=True,
        cwd=served_place,
        env={**os.environ, "LLM_AS_JUDGE_CONFIG": str(served_place / "config")},
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines() == ["main runs", "steps 1"]
