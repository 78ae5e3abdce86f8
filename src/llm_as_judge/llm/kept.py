"""Kept calls of a run, and what is known of the models that answered them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from llm_as_judge.config import config_files, find_model, load_endpoints
from llm_as_judge.errors import ConfigError
from llm_as_judge.llm.billing import Role
from llm_as_judge.llm.pool import Pool, is_pool
from llm_as_judge.llm.recorded import Mode
from llm_as_judge.llm.weights import weights_identity


def kept_calls(mode: Mode | Literal["off"], folder: Path, max_mb: int | None) -> Pool | None:
    """What the calls of a run are answered from and kept in: the pool of the folder, or the
    recording of this one run; None = nothing is kept.

    Args:
        max_mb: a pool is cut to it when it is opened; None = it is not.
    Raises:
        UserError: the folder, or what is in it, is not as wanted.
    """
    if mode == "off":
        return None
    if mode != "replay" and folder.is_file():
        raise ConfigError(f"calls.folder: {folder} is a file; name a folder")
    if mode == "replay" and not is_pool(folder):
        return Pool(folder, lines=True)
    pool = Pool(folder, one_run=mode == "record")
    if mode == "record" and not pool.one_run:
        pool.close()
        raise ConfigError(
            f"calls.folder: {folder} holds a pool that runs share; name another folder for a recording"
        )
    if max_mb is not None and mode == "cache":
        pool.prune(max_mb * 2**20)
    return pool


def origin(name: str, role: Role, seed: int) -> dict[str, str]:
    """What replies of a model come from: its weights and, of an executor, what operators ask it with.

    Args:
        seed: of its first draws.
    """
    weights = {"weights": model_identity(name)}
    if role == "judge":
        return weights
    prompts = hashlib.sha256()
    for path in config_files("prompts/operators"):
        prompts.update(path.name.encode() + path.read_bytes())
    return {**weights, "prompts": prompts.hexdigest()[:12], "seed": str(seed)}


def model_identity(name: str) -> str:
    """Weights by their hash, an endpoint by the model it is asked for; not where it runs."""
    endpoints, entry = load_endpoints(), find_model(name)
    if name in endpoints:
        return endpoints[name].model_name or name
    return (weights_identity(entry) or name) if entry else name
