"""Files of configuration that tests write."""

from __future__ import annotations

from pathlib import Path


def yaml_file(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def config_folder(folder: Path, models: str, endpoints: str = "models: {}\n") -> Path:
    (folder / "models.yaml").write_text(models, encoding="utf-8")
    (folder / "aflow_llm.yaml").write_text(endpoints, encoding="utf-8")
    (folder / "training.yaml").write_text("{}\n", encoding="utf-8")
    return folder
