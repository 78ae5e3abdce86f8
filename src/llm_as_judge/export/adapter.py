"""The adapter of a checkpoint, for people on other machines: as a folder, and on the hub."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path, PurePath
from typing import Any

import yaml

from llm_as_judge.config import published_base
from llm_as_judge.errors import ConfigError, ModelError, OutputError
from llm_as_judge.files import new_folder, read_json, write_text
from llm_as_judge.hub import hub_address, hub_errors, hub_unreachable
from llm_as_judge.policy.checkpoint import (
    EXPERIENCE,
    PROMPT,
    SETTINGS,
    STATE,
    checkpoint_files,
    require_whole,
    save_half,
    write_manifest,
)

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_FOR_OTHERS = ("base_model", "step", "judges", "data", PROMPT)
"""Of the state; the rest is what its own run needs to go on."""


def export_adapter(checkpoint: Path, folder: Path, card: str) -> None:
    """What others need of a checkpoint, whole or not at all: adapter, examples, settings, which base
    model it is of and who judged. It is evaluated and served as a checkpoint is, at a sixth of the size:
    its weights are rounded to half precision, as base models are kept.

    No file holds an absolute path of this machine.

    Args:
        card: README.md.
    Raises:
        ModelError: the checkpoint is damaged or none.
        OutputError: ``folder`` exists already or cannot be written.
    """
    require_whole(checkpoint)
    there = checkpoint_files(checkpoint)
    try:
        state = read_json(there[STATE])
        experience = [name for name in there if name.startswith(f"{EXPERIENCE}/")]
        copied = {name: there[name] for name in (WEIGHTS, *experience)}
        told = {key: state[key] for key in _FOR_OTHERS if key in state}
        spec = read_json(there[CONFIG])
        spec["base_model_name_or_path"] = published_base(state["base_model"])
        settings = yaml.safe_load(there[SETTINGS].read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ModelError(f"{checkpoint}: not a checkpoint of a run ({reason})") from None
    with new_folder(folder) as partial:
        for name, source in copied.items():
            (partial / name).parent.mkdir(exist_ok=True)
            if name == WEIGHTS:
                save_half(source, partial / name)
            else:
                shutil.copyfile(source, partial / name)
        write_text(partial / CONFIG, _json(without_paths(spec)))
        write_text(partial / STATE, _json(without_paths(told)))
        write_text(partial / SETTINGS, yaml.safe_dump(without_paths(settings), sort_keys=False))
        write_text(partial / "README.md", card)
        write_manifest(partial, 0)


def push_token(repository: str) -> str:
    """The token that ``repository`` (``OWNER/NAME``) is written with; asked for before anything is made.

    Raises:
        ConfigError: no such name, or no token.
    """
    from huggingface_hub import get_token

    if not re.fullmatch(r"[\w][\w.-]*/[\w][\w.-]*", repository, re.ASCII):
        raise ConfigError(f"--push {repository}: wanted a repository's id OWNER/NAME")
    token = get_token()
    if token is None:
        raise ConfigError(f"--push {repository}: no token; run: hf auth login, or set HF_TOKEN")
    return token


def push_adapter(folder: Path, repository: str, token: str) -> str:
    """Upload an exported adapter and its card; the repository is made where there is none.

    Returns:
        The address of the repository.
    Raises:
        OutputError: the hub refuses or cannot be reached; ``folder`` stays as it is.
    """
    from huggingface_hub import HfApi

    if why := hub_unreachable():
        raise _not_pushed(folder, repository, why)
    api = HfApi(endpoint=hub_address(), token=token)
    try:
        place = api.create_repo(repository, exist_ok=True)
        api.upload_folder(
            repo_id=repository, folder_path=folder, commit_message="Adapter of LLM-as-Judge"
        )
    except hub_errors() as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise _not_pushed(folder, repository, reason) from None
    return str(place)


def _not_pushed(folder: Path, repository: str, reason: str) -> OutputError:
    return OutputError(
        f"--push {repository}: {reason}; the adapter is in {folder}: mend the cause, then run: "
        f"hf upload {repository} {folder}"
    )


def without_paths(value: Any) -> Any:
    """``value`` (of JSON) with each absolute path in it cut to its last part, a ``.gguf`` to its stem."""
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_paths(item) for item in value]
    if isinstance(value, str) and PurePath(value).is_absolute():
        return PurePath(value).name.removesuffix(".gguf")
    return value


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"
