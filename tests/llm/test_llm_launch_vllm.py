from __future__ import annotations

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "launch_vllm.sh"


def launch(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script with a ``vllm`` that only says how it was called."""
    fake = tmp_path / "bin" / "vllm"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text('#!/bin/sh\necho "$@"\n')
    fake.chmod(0o755)
    env = {"PATH": f"{fake.parent}:{os.environ['PATH']}", **environment}
    return subprocess.run(
        ["bash", str(SCRIPT), "--max-model-len", "8192"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_serves_the_documented_model_on_the_documented_port(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    run = launch(tmp_path, GPT_OSS_MODEL_PATH=str(tmp_path))
    assert run.stdout.startswith(f"serve {tmp_path} --served-model-name gpt-oss-120b ")
    assert "--port 8002 " in run.stdout
    assert run.stdout.endswith("--max-model-len 8192\n")
    assert "serve openai/gpt-oss-120b " in launch(tmp_path).stdout


def test_a_folder_without_weights_is_one_clear_line(tmp_path: Path) -> None:
    run = launch(tmp_path, GPT_OSS_MODEL_PATH=str(tmp_path / "none"))
    assert run.returncode == 2
    assert "holds no config.json" in run.stderr
