"""Names of models as people write them: an entry of models.yaml, a hub id, or a local path.

    qwen25-7b                        an entry of models.yaml
    Qwen/Qwen2.5-7B-Instruct         the entry that has this hub id, else the hub's own weights
    OWNER/NAME/FILE.gguf             one file of a repository on the hub
    /models/mine, ./mine, mine.gguf  a folder with config.json, or a GGUF file, on this machine

A configuration holds the shortest of them: the entry's name where there is one, and paths whole, so
that a run is found again from another folder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from llm_as_judge.config.catalog import ModelEntry, ModelSource, load_models
from llm_as_judge.config.endpoints import load_endpoints
from llm_as_judge.errors import ConfigError

FORMS = "a hub id OWNER/NAME, a folder with config.json, or a .gguf file"
_PART = r"[A-Za-z0-9][\w.-]*"
_HUB_ID = re.compile(rf"({_PART}/{_PART})(?:/({_PART}\.gguf))?")


def find_model(name: str) -> ModelEntry | None:
    """The weights called ``name``; None: it is no entry, no hub id and no weights on this machine.

    Raises:
        ConfigError: models.yaml cannot be read.
    """
    entries = load_models()
    return entries.get(name) or _of_hub(name, entries) or _unlisted(name)


def known_model(name: str, key: str) -> ModelEntry:
    """The weights called ``name``.

    Args:
        key: where the name stands, for the message.
    Raises:
        ConfigError: there are none.
    """
    found = find_model(name)
    if found is None:
        raise no_such_policy(name, key)
    return found


def no_such_policy(name: str, key: str) -> ConfigError:
    if Path(name).is_dir():
        return ConfigError(
            f"{key}: the folder {name} has no config.json; wanted a model's folder as transformers saves it"
        )
    if name.startswith((".", "/", "~")):
        return ConfigError(
            f"{key}: no folder or file {name}; wanted a model's folder as transformers saves it, or a .gguf file"
        )
    known = ", ".join(load_models())
    return ConfigError(f"{key}: no model {name!r} in models.yaml (known: {known}; or {FORMS})")


def resolved_name(name: str, *, served: bool = False) -> str:
    """``name`` as a configuration holds it; one that names no model is left for its user to refuse.

    Args:
        served: an endpoint may have it: one whose ``model_name`` it is goes before weights.
    Raises:
        ConfigError: models.yaml or aflow_llm.yaml cannot be read.
    """
    entries = load_models()
    if name in entries:
        return name
    if served and "/" in name:
        endpoints = load_endpoints()
        asked = [key for key, one in endpoints.items() if name in (key, one.model_name)]
        if asked:
            return name if name in asked else asked[0]
    listed = _of_hub(name, entries)
    if listed is not None:
        return listed.name
    path = _weights_here(name)
    return str(path) if path else name


def file_label(name: str) -> str:
    """What files and folders of this model are called: never more than one part of a path."""
    if Path(name).is_absolute():
        return Path(name).name.removesuffix(".gguf")
    return name.replace("/", "--")


def hub_base(name: str) -> str | None:
    """Hub id of the safetensors of this base model; None: the hub is not known to have them.

    Raises:
        ConfigError: models.yaml cannot be read.
    """
    entry = find_model(name)
    if entry is None:
        return None
    if entry.format == "gguf":
        return entry.base or None
    hubs = (source.hub for source in entry.sources if source.hub)
    paths = (source.path for source in entry.sources if source.path)
    return next(hubs, None) or next(filter(None, map(_hub_of_snapshot, paths)), None)


def published_base(name: str) -> str:
    """What an adapter tells others its base model is: a hub id where there is one, and never a path of
    this machine.

    Raises:
        ConfigError: models.yaml cannot be read.
    """
    return hub_base(name) or file_label(name)


def _hub_of_snapshot(path: Path) -> str | None:
    """The hub id of a folder in the hub's own cache: ``.../models--OWNER--NAME/snapshots/COMMIT``."""
    repository, kind = path.parent.parent.name, path.parent.name
    owner, _, name = repository.removeprefix("models--").partition("--")
    whole = kind == "snapshots" and repository.startswith("models--") and owner and name
    return f"{owner}/{name}" if whole else None


def _of_hub(name: str, entries: dict[str, ModelEntry]) -> ModelEntry | None:
    having = (e for e in entries.values() if any(source.hub == name for source in e.sources))
    return next(having, None)


def _weights_here(name: str) -> Path | None:
    try:
        path = Path(name).expanduser()
        if (path / "config.json").is_file() or (path.suffix == ".gguf" and path.is_file()):
            own = path.name not in ("", "..")  # a link keeps its own name
            return path.parent.resolve() / path.name if own else path.resolve()
    except (OSError, ValueError, RuntimeError):  # no path: too long, a NUL in it, no such home
        return None
    return None


def _unlisted(name: str) -> ModelEntry | None:
    """Weights that models.yaml does not list."""
    path = _weights_here(name)
    if path is not None:
        return _entry(str(path), ModelSource(path=path), path.name if path.is_file() else "")
    on_hub = _HUB_ID.fullmatch(name)
    if on_hub is None or Path(name).exists():  # a folder of something else
        return None
    source = ModelSource(hub=on_hub[1], file=on_hub[2])
    return _entry(name, source, filename=file_label(name) if on_hub[2] else "")


def _entry(name: str, source: ModelSource, filename: str) -> ModelEntry:
    """
    Args:
        filename: of GGUF weights; empty for others.
    """
    kind: Literal["gguf", "safetensors"] = "gguf" if filename else "safetensors"
    return ModelEntry(name=file_label(name), format=kind, filename=filename, sources=(source,))
