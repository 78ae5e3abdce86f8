"""Checkpoints: one folder a step, safetensors and JSON only, complete or absent.

    checkpoints/MODEL/grpo_mixed/
        latest                      name of the newest complete checkpoint
        step_12/
            adapter_config.json     the adapter in PEFT's format; its base model is a hub id or a
                                    plain name, never a path of this machine
            adapter_model.safetensors
            optimizer.safetensors   AdamW moments
            state.json              step, schedule, data cursor, policy version, prompt
            config.yaml             the resolved configuration
            experience/             the experience buffer, where the run has one
            manifest.json           SHA-256 of each of these files; number among those written
        earlier_1/                  checkpoints of the run before

A checkpoint is written under a temporary name and renamed, so a kill at any moment leaves the
one before it in place. One process writes to a root at a time (``files.py``). A file that
is not what the manifest says is a ``ModelError``; checkpoints without a manifest are still read.
Which one is newer is counted, never told by a clock, which can be set back.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from llm_as_judge.errors import ModelError
from llm_as_judge.files import file_sha256, output_errors, read_json, write_text

if TYPE_CHECKING:  # finding a checkpoint must not wait for torch
    import torch

    from llm_as_judge.policy.model import Policy

LATEST, STATE, MANIFEST = "latest", "state.json", "manifest.json"
OPTIMIZER = "optimizer.safetensors"
EXPERIENCE = "experience"
"""Folder of the experience buffer inside a checkpoint."""
SETTINGS = "config.yaml"
PROMPT = "prompt"
"""Key of the state: the prompt that the policy was trained under (assembly/trained_prompt.py)."""


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
    with output_errors(target), _weights_errors():
        root.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".step_{step}.", dir=root))
        try:
            partial.chmod(0o755)
            policy.save_adapter(partial)
            save_file(dict(tensors), partial / OPTIMIZER)
            write_text(partial / STATE, json.dumps(state, indent=2, sort_keys=True) + "\n")
            write_text(partial / SETTINGS, yaml.safe_dump(dict(config), sort_keys=False))
            if experience is not None:
                (partial / EXPERIENCE).mkdir()
                for name, text in experience.items():
                    write_text(partial / EXPERIENCE / name, text)
            write_manifest(partial, 1 + max(map(_order, checkpoints(root)), default=0))
            _sync(partial)
            if target.exists():  # out of the way first: a folder cannot be renamed onto another
                target.replace(partial.with_name(f"{partial.name}.old"))
            partial.replace(target)
        finally:
            for unfinished in root.glob(".step_*"):  # also those of a killed process
                shutil.rmtree(unfinished, ignore_errors=True)
        write_text(root / LATEST, target.name + "\n")
        for old in newest_first(root)[keep:]:
            shutil.rmtree(old)
    return target


def set_aside(root: Path) -> Path | None:
    """Move the checkpoints of an earlier run out of the way of a new one.

    Returns:
        ``root/earlier_N``, which holds them now; None where there are none.
    Raises:
        OutputError: the folder cannot be written.
    """
    there, moving = [*root.glob("step_*"), *root.glob(LATEST)], root / ".earlier"
    if not there and not moving.exists():
        return None
    numbers = (one.name.removeprefix("earlier_") for one in root.glob("earlier_*"))
    last = max((int(number) for number in numbers if number.isdecimal()), default=0)
    target = root / f"earlier_{last + 1}"
    with output_errors(root):
        moving.mkdir(exist_ok=True)  # a process that was killed here has left it
        for one in there:
            one.replace(moving / one.name)
        moving.replace(target)
    return target


@contextlib.contextmanager
def _weights_errors() -> Iterator[None]:
    """What safetensors says of a full disk is no ``OSError``; its text ends with the number of one."""
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        raise OSError(int(number[1]) if number else errno.EIO, str(error)) from error


def checkpoint_files(folder: Path) -> dict[str, Path]:
    """Every file of a checkpoint but its manifest, by its name inside."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in paths if path.name != MANIFEST}


def write_manifest(folder: Path, order: int) -> None:
    """The hashes of all files in ``folder``, and its number among the checkpoints written."""
    files = {name: file_sha256(path) for name, path in checkpoint_files(folder).items()}
    text = json.dumps({"format": 1, "order": order, "files": files}, indent=2) + "\n"
    write_text(folder / MANIFEST, text)


def _manifest(folder: Path) -> dict[str, Any] | None:
    """What the manifest says; None = there is none.

    Raises:
        ModelError: it is no manifest.
    """
    path = folder / MANIFEST
    try:
        data = read_json(path)
        sound = isinstance(data["order"], int) and isinstance(data["files"], dict)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError):
        sound = False
    if not sound:
        raise ModelError(f"{path}: not a manifest; the checkpoint is damaged")
    return dict(data)


def require_whole(folder: Path) -> None:
    """Every file of the manifest is there and is what was written; nothing without a manifest.

    Raises:
        ModelError: a file is missing or has changed since.
    """
    manifest = _manifest(folder) or {"files": {}}
    there = checkpoint_files(folder)
    for name, wanted in manifest["files"].items():
        path = there.get(name)
        try:
            found = file_sha256(path) if path else None
        except OSError as error:
            raise ModelError(f"{folder}: {name} cannot be read: {error.strerror}") from None
        if found != wanted:
            what = "has changed since it was written" if path else "is missing"
            raise ModelError(f"{folder}: not a complete checkpoint: {name} {what}")


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
    found = [p for p, step in steps.items() if step.isdecimal() and (p / STATE).is_file()]
    return sorted(found, key=lambda p: int(steps[p]))


def newest_first(root: Path) -> list[Path]:
    """Complete checkpoints under ``root``, the one written last first: a run that went on from an older one
    writes lower steps again."""

    def written(checkpoint: Path) -> tuple[int, int]:
        return _order(checkpoint), (checkpoint / STATE).stat().st_mtime_ns

    return sorted(checkpoints(root), key=written, reverse=True)


def _order(checkpoint: Path) -> int:
    """Its number among those written under its root; 0 = it does not say."""
    try:
        manifest = _manifest(checkpoint)
    except ModelError:
        return 0
    return int(manifest["order"]) if manifest else 0


def latest_checkpoint(root: Path) -> Path | None:
    """The checkpoint that ``latest`` names, else the one of the highest step, else None."""
    found = checkpoints(root)
    with contextlib.suppress(OSError, ValueError):  # a spoiled pointer points nowhere
        name = (root / LATEST).read_text(encoding="utf-8").strip()
        for checkpoint in found:
            if checkpoint.name == name:
                return checkpoint
    return found[-1] if found else None


def load_state(folder: Path) -> SavedState:
    """State and tensors of a checkpoint; executes nothing of it.

    Raises:
        ModelError: a file is missing or broken.
    """
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_file

    from llm_as_judge.policy.adapter import WEIGHTS

    require_whole(folder)
    if (folder / STATE).is_file() and not (folder / OPTIMIZER).exists():
        raise ModelError(
            f"{folder}: an exported adapter, without {OPTIMIZER}: it can be evaluated and served; "
            "training goes on from a checkpoint of its own run"
        )
    try:
        state = read_json(folder / STATE)
        tensors = load_file(folder / OPTIMIZER)
        with safe_open(folder / WEIGHTS, "pt"):  # its header, and that it is as long as that says
            pass
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(f"{folder}: not a complete checkpoint: {error}") from None
    if not isinstance(state, dict):
        raise ModelError(f"{folder / STATE}: found {type(state).__name__}, wanted an object")
    return SavedState(folder, state, tensors)


def save_half(source: Path, target: Path) -> None:
    """An adapter's weights in half precision; a tensor that does not fit into its range stays as it is.

    Raises:
        OutputError: ``target`` cannot be written.
    """
    import numpy as np
    from safetensors.numpy import load_file, save_file

    with np.errstate(over="ignore"):
        halves = {name: (one, one.astype(np.float16)) for name, one in load_file(source).items()}
    kept = {name: half if np.isfinite(half).all() else one for name, (one, half) in halves.items()}
    with output_errors(target):
        save_file(kept, target, metadata={"format": "pt"})
        shutil.copymode(source, target)
