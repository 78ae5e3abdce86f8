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
    only_models(config, tiny=weights)
    return config


def only_models(config: Path, **weights: Path) -> None:
    """These are the only models of a folder of configuration, by name."""
    models = {
        name: {"format": "safetensors", "sources": [{"path": str(path)}]}
        for name, path in weights.items()
    }
    (config / "models.yaml").write_text(yaml.safe_dump({"models": models}))
