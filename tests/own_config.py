"""A folder of configuration for tests, as a user would copy it."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from llm_as_judge.config import shipped_dir


def with_only_model(folder: Path, weights: Path) -> Path:
    """``folder/config``: the shipped one, its only model ``tiny`` at ``weights``."""
    config = folder / "config"
    shutil.copytree(shipped_dir(), config)
    entry = {"format": "safetensors", "sources": [{"path": str(weights)}]}
    (config / "models.yaml").write_text(yaml.safe_dump({"models": {"tiny": entry}}))
    return config
