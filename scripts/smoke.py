"""One real training step with SmolLM2-135M, so that the main job cannot break unseen.

Everything is real: weights, data, programs, sandbox, executor, grading, update, checkpoint. It
works in a temporary folder and says what it saw; it fails if the adapter did not move.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_S = 360


def main() -> int:
    started = time.monotonic()
    cache = os.environ.get("LLM_AS_JUDGE_CACHE", str(Path("~/.cache/llm-as-judge").expanduser()))
    with tempfile.TemporaryDirectory(prefix="llm-as-judge-smoke-") as folder:
        verb(folder, cache, "models", "pull", "--config", "smoke")
        verb(folder, cache, "download", "--config", "smoke", "--offline")
        verb(folder, cache, "process", "--config", "smoke")
        verb(folder, cache, "train", "--config", "smoke", "--run-dir", "logs/smoke")
        problem = failure(Path(folder))
    print(f"smoke: {time.monotonic() - started:.0f} s (limit {LIMIT_S} s)")
    if problem:
        print(f"smoke: {problem}", file=sys.stderr)
    return 1 if problem else 0


def verb(folder: str, cache: str, *arguments: str) -> None:
    print("+ llm-as-judge", *arguments, flush=True)
    subprocess.run(
        [sys.executable, "-m", "llm_as_judge", *arguments],
        cwd=folder,
        env={**os.environ, "LLM_AS_JUDGE_CACHE": cache},
        check=True,
        timeout=LIMIT_S,
    )


def failure(folder: Path) -> str:
    """What is wrong with the run; empty when all is well."""
    from safetensors.torch import load_file

    metrics = json.loads((folder / "logs/smoke/metrics.jsonl").read_text())
    rollouts = (folder / "logs/smoke/rollouts.jsonl").read_text().splitlines()
    if len(rollouts) != 12 or metrics["rollout/count"] != 12:
        return f"{len(rollouts)} rollouts were kept, wanted 12"
    if "update/loss" not in metrics:
        return "no group could teach, so there was no update"
    step = folder / "checkpoints/smollm2-135m/grpo_mixed/step_1"
    weights = load_file(step / "adapter_model.safetensors")
    if not any(w.abs().max() > 0 for name, w in weights.items() if "lora_B" in name):
        return "the adapter is as it was before the update"
    return ""


if __name__ == "__main__":
    sys.exit(main())
