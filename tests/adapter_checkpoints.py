"""A policy whose adapter does something, and what training saves of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from llm_as_judge.config import Config
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.checkpoint import save_checkpoint
from llm_as_judge.policy.model import load_policy


def trained(weights: Path, name: str | None = None) -> Any:
    policy = load_policy(
        weights, adapter=AdapterSpec(4, 8), name=name, device="cpu", dtype="float32"
    )
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _, parameter in policy.adapter_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.05)
    return policy


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(input_ids=torch.tensor([[3, 5, 8, 13, 21]])).logits
    return found


def _told(root: Path, base: str, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """State and configuration."""
    config = Config().model_dump(mode="json")
    config["policy"]["name"] = base
    config["data"]["train_file"] = str(root / "rows.jsonl")
    state = {"step": 7, "base_model": base, "judges": [], "run_dir": "/home/me/run", **more}
    return state, config


def checkpoint(root: Path, policy: Any, base: str = "tiny", **more: Any) -> Path:
    state, config = _told(root, base, **more)
    return save_checkpoint(
        root,
        7,
        policy,
        state=state,
        tensors={"x": torch.zeros(1)},
        config=config,
        keep=1,
        experience={"entries.jsonl": "{}\n"},
    )


def told_of(folder: Path, base: str = "tiny", **more: Any) -> Path:
    """A checkpoint without weights: all that a card is made of."""
    folder.mkdir(parents=True, exist_ok=True)
    state, config = _told(folder, base, **more)
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
    return folder
