"""Kept calls of a run, and what is known of the models that answered them."""

from __future__ import annotations

import hashlib

from llm_as_judge.config import CallsConfig, config_files, find_model, load_endpoints
from llm_as_judge.errors import ConfigError
from llm_as_judge.llm.billing import Role
from llm_as_judge.llm.pool import Pool, is_pool
from llm_as_judge.llm.weights import weights_identity


def kept_calls(calls: CallsConfig) -> Pool | None:
    """What the calls of a run are answered from and kept in: the pool of the folder, or the
    recording of this one run; None = nothing is kept.

    Raises:
        UserError: the folder, or what is in it, is not as wanted.
    """
    if calls.mode == "off":
        return None
    if calls.mode != "replay" and calls.folder.is_file():
        raise ConfigError(f"calls.folder: {calls.folder} is a file; name a folder")
    if calls.mode == "replay" and not is_pool(calls.folder):
        return Pool(calls.folder, lines=True)
    pool = Pool(calls.folder, one_run=calls.mode == "record")
    if calls.mode == "record" and not pool.one_run:
        pool.close()
        raise ConfigError(
            f"calls.folder: {calls.folder} holds a pool that runs share; name another folder for a recording"
        )
    if calls.max_mb is not None and calls.mode == "cache":
        pool.prune(calls.max_mb * 2**20)
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
