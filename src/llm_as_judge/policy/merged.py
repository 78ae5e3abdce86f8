"""A policy without its adapter: the low-rank update added into the base weights, for any engine."""

from __future__ import annotations

import shutil
from pathlib import Path

from llm_as_judge.files import new_folder
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.unpacking import unpack_gguf


def save_merged(policy: Policy, folder: Path, extra: dict[str, str] | None = None) -> None:
    """Write base + adapter as one model (safetensors, tokenizer) to ``folder``, whole or not at all.

    ``policy`` cannot be used afterwards: its weights are changed in place.

    Args:
        extra: file name -> text, written beside the weights (the model card).
    Raises:
        OutputError: ``folder`` exists already or cannot be written.
    """
    with new_folder(folder) as partial:
        policy.model.merge_and_unload().save_pretrained(partial)
        policy.tokenizer.save_pretrained(partial)
        _finish(partial, extra or {})


def save_base(weights: Path, folder: Path, extra: dict[str, str] | None = None) -> None:
    """Write base weights as safetensors with their tokenizer to ``folder``, whole or not at all: those
    that a policy is loaded from, byte for byte.

    Args:
        weights: safetensors folder, or a .gguf file, which is de-quantized.
        extra: file name -> text, written beside the weights.
    Raises:
        ModelError: the GGUF file cannot be unpacked.
        OutputError: ``folder`` exists already or cannot be written.
    """
    source = unpack_gguf(weights) if weights.suffix == ".gguf" else weights
    with new_folder(folder) as partial:
        for file in filter(Path.is_file, source.iterdir()):
            shutil.copyfile(file, partial / file.name)
        _finish(partial, extra or {})


def _finish(folder: Path, extra: dict[str, str]) -> None:
    for file in folder.glob("*.safetensors"):
        file.chmod(0o644)  # written for its owner alone; an engine may be another user
    for name, text in extra.items():
        (folder / name).write_text(text, encoding="utf-8")
