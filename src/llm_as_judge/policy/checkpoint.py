"""Checkpoints: one folder a step, safetensors and JSON only, complete or absent.

    checkpoints/MODEL/grpo_mixed/
        latest                      name of the newest complete checkpoint
        step_12/
            adapter_config.json     the adapter in PEFT's format
            adapter_model.safetensors
            optimizer.safetensors   AdamW moments
            state.json              step, schedule, data cursor, policy version
            config.yaml             the resolved configuration
            experience/             the experience buffer, where the run has one

A checkpoint is written under a temporary name and renamed, so a kill at any moment leaves the
one before it in place. One process writes to a root at a time (``monitoring/lock.py``).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from llm_as_judge.errors import ModelError
from llm_as_judge.files import output_errors, write_text

if TYPE_CHECKING:  # finding a checkpoint must not wait for torch
    import torch

    from llm_as_judge.policy.model import Policy

LATEST = "latest"
EXPERIENCE = "experience"
"""Folder of the experience buffer inside a checkpoint."""


@dataclass(frozen=True, slots=True)
class SavedState:
    """What a run needs to go on, beside the adapter."""

    folder: Path
    state: dict[str, Any]
    tensors: dict[str, torch.Tensor]


def save_checkpoint(
    root: Path,
    step: int,
    policy: Policy,
    *,
    state: Mapping[str, Any],
    tensors: Mapping[str, torch.Tensor],
    config: Mapping[str, Any],
    keep: int,
    experience: Mapping[str, str] | None = None,
) -> Path:
    """Write ``root/step_N``, point ``latest`` at it, remove all but the ``keep`` last written.

    Args:
        experience: file name -> content, written under ``experience/``; None = no such folder.
    Raises:
        OutputError: the folder cannot be written; what was there before is untouched.
    """
    from safetensors.torch import save_file

    target = root / f"step_{step}"
    with output_errors(target):
        root.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".step_{step}.", dir=root))
        try:
            partial.chmod(0o755)
            policy.save_adapter(partial)
            save_file(dict(tensors), partial / "optimizer.safetensors")
            write_text(partial / "state.json", json.dumps(state, indent=2, sort_keys=True) + "\n")
            write_text(partial / "config.yaml", yaml.safe_dump(dict(config), sort_keys=False))
            if experience is not None:
                (partial / EXPERIENCE).mkdir()
                for name, text in experience.items():
                    write_text(partial / EXPERIENCE / name, text)
            _sync(partial)
            if target.exists():  # out of the way first: a folder cannot be renamed onto another
                target.replace(partial.with_name(f"{partial.name}.old"))
            partial.replace(target)
        finally:
            for unfinished in root.glob(".step_*"):  # also those of a killed process
                shutil.rmtree(unfinished, ignore_errors=True)
        write_text(root / LATEST, target.name + "\n")
        # by time, not by step: a new run may start again below the steps of an older one
        for old in sorted(checkpoints(root), key=_written)[:-keep]:
            shutil.rmtree(old)
    return target


def _sync(folder: Path) -> None:
    """To the disk, so that a name which survives a power cut is the name of what was written."""
    for path in [*folder.rglob("*"), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def checkpoints(root: Path) -> list[Path]:
    """Complete checkpoints under ``root``, oldest step first."""
    steps = {p: p.name.removeprefix("step_") for p in root.glob("step_*")}
    found = [p for p, step in steps.items() if step.isdecimal() and (p / "state.json").is_file()]
    return sorted(found, key=lambda p: int(steps[p]))


def _written(checkpoint: Path) -> int:
    return (checkpoint / "state.json").stat().st_mtime_ns


def latest_checkpoint(root: Path) -> Path | None:
    """The checkpoint that ``latest`` names, else the one of the highest step, else None."""
    pointer = root / LATEST
    if pointer.is_file():
        named = root / pointer.read_text(encoding="utf-8").strip()
        if (named / "state.json").is_file():
            return named
    found = checkpoints(root)
    return found[-1] if found else None


def load_state(folder: Path) -> SavedState:
    """State and tensors of a checkpoint; executes nothing of it.

    Raises:
        ModelError: a file is missing or broken.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "optimizer.safetensors")
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(
            f"{folder}: not a complete checkpoint: {error}; resume from another step"
        ) from None
    return SavedState(folder, state, tensors)
