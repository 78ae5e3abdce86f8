"""A policy without its adapter: the low-rank update added into the base weights, for any engine."""

from __future__ import annotations

from pathlib import Path

from llm_as_judge.files import new_folder
from llm_as_judge.policy.model import Policy


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
        for file in partial.glob("*.safetensors"):
            file.chmod(0o644)  # written for its owner alone; an engine may be another user
        for name, text in (extra or {}).items():
            (partial / name).write_text(text, encoding="utf-8")
