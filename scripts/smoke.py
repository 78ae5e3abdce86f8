"""One real training step with SmolLM2-135M, so that the main job cannot break unseen.

Everything is real: weights, data, programs, sandbox, executor, grading, update, checkpoint. It
works in a temporary folder and says what it saw; it fails if the adapter did not move, or if the model
that `export model` merges does not compute what base and adapter compute.
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
        verb(folder, cache, "data", "download", "--config", "smoke", "--offline")
        verb(folder, cache, "data", "process", "--config", "smoke")
        verb(folder, cache, "train", "--config", "smoke", "--run-dir", "logs/smoke")
        step = "checkpoints/smollm2-135m/grpo_mixed/step_1"
        verb(folder, cache, "export", "model", step, "--config", "smoke", "--out", "merged")
        problem = failure(Path(folder)) or merge_failure(Path(folder), step)
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


def merge_failure(folder: Path, step: str) -> str:
    """What is wrong with the merged model, as any engine would load it; empty when all is well."""
    import torch
    from transformers import AutoModelForCausalLM

    from llm_as_judge.assembly import model_weights
    from llm_as_judge.config import load_config
    from llm_as_judge.policy.model import load_policy

    weights = model_weights(load_config("smoke"), "smollm2-135m", "policy.name")
    policy = load_policy(weights, adapter=folder / step, device="cpu", dtype="float32")
    merged = AutoModelForCausalLM.from_pretrained(folder / "merged", dtype=torch.float32)
    ids = torch.tensor([policy.tokenizer("What is 17 * 3?")["input_ids"]])
    with torch.no_grad():
        wanted, found = policy.model(ids).logits, merged(ids).logits
        with policy.model.disable_adapter():
            moved = (policy.model(ids).logits - wanted).abs().max().item()
    gap = (found - wanted).abs().max().item()
    print(f"merged model: logits differ by {gap:.1e}; the adapter moves them by {moved:.1e}")
    return "" if gap < 1e-2 and gap < moved / 10 else "the merged model is not base + adapter"


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
