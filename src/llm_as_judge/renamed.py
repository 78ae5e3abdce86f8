"""Names of before: what each is called now.

Files, `--set` and logs with an old name are read as if they had the new one. Whoever wrote the old
name is told the new one, in one line on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from llm_as_judge.errors import ConfigError

KEYS: Mapping[str, str] = {
    "judge.max_abstained_share": "judge.max_abstained_fraction",
    "judge.max_ungraded_share": "judge.max_ungraded_fraction",
    "models.licence": "models.license",
    "sampling.replicas": "sampling.server",
    "sampling.rows_at_once": "sampling.generation_batch_size",
    "training.aggregate": "training.loss_aggregation",
    "training.centre": "training.baseline",
    "training.is_cap": "training.is_clip_max",
    "training.is_floor": "training.is_clip_min",
    "training.max_failed_share": "training.max_failed_fraction",
    "training.objective": "training.loss_type",
    "training.row_tokens": "training.tokens_per_micro_batch",
    "training.runs_per_program": "workflow.draws",
    "training.scale": "training.advantage_norm",
}
"""Keys of the configuration; ``models``: of an entry of models.yaml."""
GONE = (
    "calls.max_mb",
    "data.bank",
    "executor.vote_temperature",
    "experience.retrieval",
    "judge.second_fraction",
    "judge.second_model",
    "judge.second_share",
    "policy.price",
    "policy.reader",
    "sampling.constrained",
    "workflow.group_draws",
)
"""Keys that say nothing any more."""

RECORDED: Mapping[str, str] = {
    "ledger/saved_share": "ledger/saved_fraction",
    "licence": "license",
    "time/idle_share": "time/idle_fraction",
    "update/clipped_share": "update/clipped_fraction",
    "update/row_tokens": "update/micro_batch_tokens",
}
"""Names in the logs of a run, and in the manifest of a folder of data."""


def with_new_keys(tree: Mapping[str, Any], where: str | None = None) -> dict[str, Any]:
    """``tree``, sections of a configuration, under the keys of now.

    Args:
        where: file or flag, for a hint on its old keys; None = a record of a run, which needs none.
    Raises:
        ConfigError: an old key stands beside the new one.
    """
    found = {
        name: dict(section) if isinstance(section, Mapping) else section
        for name, section in tree.items()
    }
    old = [key for key in KEYS if _has(tree, key)]
    gone = [key for key in GONE if _has(tree, key)]
    for key in old:
        _move(found, key, where)
    for section, name in (key.split(".") for key in gone):
        del found[section][name]
    if where is not None and (old or gone):
        said = [f"{key} is called {KEYS[key]} now" for key in old]
        hint(", ".join([*said, *(f"{key} is no key any more" for key in gone)]), where)
    return found


def rules_named(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section ``judge`` of all layers, or of a record: ``llm`` without a model is called ``rules``."""
    is_rules = section.get("model") == "none" and section.get("kind", "llm") == "llm"
    return {**section, "kind": "rules"} if is_rules else dict(section)


def with_new_names(row: Mapping[str, Any]) -> dict[str, Any]:
    """An object of a log or a manifest under the names of now."""
    return {RECORDED.get(name, name): value for name, value in row.items()}


@lru_cache
def hint(line: str, where: str = "") -> None:
    """Said once."""
    sys.stderr.write(f"{where}: {line}\n" if where else f"{line}\n")


def _has(tree: Mapping[str, Any], key: str) -> bool:
    section, _, name = key.partition(".")
    return isinstance(tree.get(section), Mapping) and name in tree[section]


def _move(tree: dict[str, Any], old: str, where: str | None) -> None:
    """The value of an old key to its new one."""
    now = KEYS[old]
    if _has(tree, now):
        raise ConfigError(
            f"{where or 'configuration'}: {old} is called {now} now; found both, leave out the old one"
        )
    (section, name), (new_section, new_name) = old.split("."), now.split(".")
    if not isinstance(tree.get(new_section), dict):
        tree[new_section] = {}
    tree[new_section][new_name] = tree[section].pop(name)
