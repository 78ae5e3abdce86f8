"""GGUF weights de-quantized into a safetensors folder beside the file, once for all processes of this machine.

The work is a process of its own (``python -m llm_as_judge.policy.unpacking FILE FOLDER``), which can be ended at
once; it ends by itself, and takes away what it has begun, when the process that started it is gone.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path

from llm_as_judge import interruptible
from llm_as_judge.errors import ModelError
from llm_as_judge.quoting import quoted

log = logging.getLogger(__name__)


def unpack_gguf(path: Path) -> Path:
    """``path`` without suffix + ``-safetensors``: the folder of its weights, made if it is missing.

    Raises:
        ModelError: no such file, one that is no policy, or no room.
    """
    folder = path.with_name(path.stem + "-safetensors")
    if _is_whole(folder):
        return folder
    if not path.is_file():
        raise ModelError(f"{path}: no such file; run: llm-as-judge models pull NAME")
    try:
        with interruptible.lock(folder.with_name(f".{folder.name}.lock")):
            if not _is_whole(folder):  # by the process that we waited for
                _unpacked_by_a_child(path, folder)
    except OSError as error:
        raise _no_room(path, folder, error) from error
    return folder


def _is_whole(folder: Path) -> bool:
    return (folder / "config.json").is_file()


def _unpacked_by_a_child(path: Path, folder: Path) -> None:
    log.warning("%s: unpacking it, once", path.name)
    try:
        command = [sys.executable, "-m", "llm_as_judge.policy.unpacking", str(path), str(folder)]
        child = interruptible.run(command)
    finally:
        _remove_unfinished(folder)
    if child.returncode == 0:
        return
    lines = child.stdout.strip().splitlines()
    try:
        said = str(json.loads(lines[-1])["error"])
    except (ValueError, TypeError, KeyError, IndexError):
        ended = quoted((child.stderr.strip().splitlines() or ["nothing"])[-1], 300)
        said = f"{path}: unpacking it ended with status {child.returncode}; it said: {ended}"
    raise ModelError(said)


def _remove_unfinished(folder: Path) -> None:
    """Ours, and those of processes that were killed: whoever holds the lock is alone here."""
    for partial in folder.parent.glob(f".{folder.name}.*/"):
        shutil.rmtree(partial, ignore_errors=True)


def no_policy(weights: Path, error: Exception) -> ModelError:
    """What to say of weights that transformers does not load."""
    said = quoted((str(error) or type(error).__name__).splitlines()[0], 300).rstrip(".")
    return ModelError(
        f"{weights}: cannot be loaded as a policy: {said}; wanted a causal language model of transformers with "
        "safetensors, or a GGUF file of a Qwen2 or Llama model (docs/models.md#another-policy)"
    )


def _no_room(path: Path, folder: Path, error: OSError) -> ModelError:
    return ModelError(f"{path}: cannot be unpacked to {folder}: {error}")


# -------------------------------------------------------------------------------------- the child
def _unpack(path: Path, folder: Path, partial: Path) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    try:
        model = AutoModelForCausalLM.from_pretrained(
            path.parent, gguf_file=path.name, dtype=torch.bfloat16
        )
        # Plain weights from here on: without this, saving asks for the quantizer again.
        model.hf_quantizer = None
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(partial)
        AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(partial)
        AutoConfig.from_pretrained(partial)  # readable again, or this raises
        if folder.exists():  # of a time before folders were renamed whole
            shutil.rmtree(folder)
        partial.replace(folder)
    except OSError as error:
        raise _no_room(path, folder, error) from error
    except Exception as error:  # no GGUF, or of an unknown family: the readers raise many kinds
        raise no_policy(path, error) from error


def main() -> None:
    path, folder = map(Path, sys.argv[1:])
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    partial.chmod(0o755)

    def end_with_parent() -> None:
        while os.read(0, 4096):
            pass
        shutil.rmtree(partial, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        _unpack(path, folder, partial)
    except ModelError as error:
        print(json.dumps({"error": str(error)}))  # noqa: T201 (for the process that started this one)
        sys.exit(1)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


if __name__ == "__main__":
    main()
