"""File + model's entry + ``--set`` + flags -> one resolved configuration.

Order of precedence, low to high: defaults of the tree < ``overrides`` of the model's entry in
models.yaml < the shipped profile that the file names by ``profile`` < the file < ``--set a.b=c`` <
flags. Without a file, llm-as-judge.yaml of the working folder is read, else training.yaml. Secrets and paths may come
from the environment. ``training.preset`` is written out where it stands: keys of the same file, or of
the same command line, win over it, and it wins over what came before. An unknown key is an error that names the nearest known one. The documented
flat keys of training.yaml (``lora_rank``, ``rollout_batch_size`` ...) are accepted beside the tree,
and so are keys of before, with a hint (:mod:`llm_as_judge.renamed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_as_judge.config.credentials import WHERE_KEYS_BELONG, names_a_secret, without_secrets
from llm_as_judge.config.grading import judge_keys, reward_keys
from llm_as_judge.config.names import find_model, no_such_policy, resolved_name
from llm_as_judge.config.policy import PolicyConfig
from llm_as_judge.config.reading import (
    OWN_FILE,
    config_file,
    config_folders,
    iterate_fields,
    merge,
    parse_yaml,
    read_yaml,
    validated,
)
from llm_as_judge.config.training import PRESETS
from llm_as_judge.config.tree import Config
from llm_as_judge.errors import ConfigError
from llm_as_judge.renamed import with_new_keys

FLAT_KEYS: Mapping[str, str] = {
    "model_name": "policy.name",
    "strategy_model": "policy.name",
    "aflow_executor_model": "executor.model",
    "lora_rank": "policy.lora_rank",
    "lora_alpha": "policy.lora_alpha",
    "rollout_batch_size": "training.problems_per_step",
    "num_return_sequences_in_group": "training.samples_per_problem",
    "ppo_epochs": "training.epochs_per_step",
    "learning_rate": "training.learning_rate",
    "max_steps": "training.steps",
    "train_dataset": "data.train_file",
    "val_dataset": "data.val_file",
    "temperature": "sampling.temperature",
    "physical_gpus": "policy.device",
    "experience_buffer": "experience",
}
"""Documented flat key of training.yaml -> place in the tree."""


def keys_called(name: str) -> list[str]:
    """Dotted keys whose last part is ``name``, or that the documented flat key of this name stands for."""
    if name in FLAT_KEYS:
        return [FLAT_KEYS[name]]
    return [
        key for key, _ in iterate_fields(Config) if "." in key and key.rpartition(".")[2] == name
    ]


_MODELS = (
    ("policy", "name", False),
    ("executor", "model", True),
    ("judge", "model", True),
    ("experience", "embedder", False),
)
"""(section, key, whether an endpoint may have it) of each name of a model."""


def load_config(
    path: Path | str | None = None,
    *,
    model: str | None = None,
    overrides: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """The resolved configuration.

    Args:
        path: a YAML file, or the name of a shipped profile (``embedded``); None = llm-as-judge.yaml
            of the working folder, else the profile training.
        model: policy: an entry of models.yaml, a hub id or a local path (:mod:`names`).
        overrides: ``a.b=value`` texts, the value read as YAML.
        flags: dotted keys set by command-line flags; None values are skipped.
    Raises:
        ConfigError: says which file and key, and the nearest known key; ``model`` is no model.
    """
    file = _find_profile(path)
    under, tree = _layers_of_file(file)
    set_flags = {**(flags or {}), **({} if model is None else {"policy.name": model})}
    set_flags = {key: value for key, value in set_flags.items() if value is not None}
    commands = [(f"--set {without_secrets(text)}", _parse_override(text)) for text in overrides]
    commands.append(("flags", _nest(set_flags, "flags")))
    command: dict[str, Any] = {}
    for _, layer in commands:
        merge(command, layer)
    merged = _with_preset(under)
    merge(merged, _with_preset(tree))
    merge(merged, _with_preset(command))
    _resolve_names(merged)
    policy = merged.get("policy", {})
    name = policy.get("name", PolicyConfig().name) if isinstance(policy, dict) else None
    entry = find_model(name) if isinstance(name, str) else None
    if model is not None and entry is None:  # a written program would never look for it
        raise no_such_policy(model, "--model")
    overridden = _nest(entry.overrides, f"models.yaml: models.{name}.overrides") if entry else {}
    base = _with_preset(overridden)
    merge(base, merged)
    where = " + ".join(where for where, layer in ((str(file), tree), *commands) if layer)
    found = validated(Config, base, where, also_known=tuple(FLAT_KEYS))
    return found.as_commanded(
        f"{section}.{key}"
        for section, keys in command.items()
        if isinstance(keys, dict)
        for key in keys
    )


def _resolve_names(merged: Mapping[str, Any]) -> None:
    """Every model's name as :func:`resolved_name` gives it."""
    executors = merged.get("executors")
    others = executors.values() if isinstance(executors, dict) else ()
    places = [(merged.get(section), key, served) for section, key, served in _MODELS]
    for section, key, served in (*places, *((one, "model", True) for one in others)):
        if isinstance(section, dict) and isinstance(section.get(key), str):
            section[key] = resolved_name(section[key], served=served)


def _with_preset(layer: Mapping[str, Any]) -> dict[str, Any]:
    """``layer`` over the keys of the preset it names."""
    training = layer.get("training")
    name = training.get("preset") if isinstance(training, dict) else None
    expanded: dict[str, Any] = {}
    if isinstance(name, str) and name in PRESETS:  # any other name is refused with its key
        expanded["training"] = dict(PRESETS[name])
    merge(expanded, layer)
    return expanded


def _find_profile(path: Path | str | None) -> Path:
    if path is None:
        return OWN_FILE if OWN_FILE.is_file() else config_file("training.yaml")
    if Path(path).suffix in (".yaml", ".yml"):
        return Path(path)
    shipped = config_file(f"{path}.yaml")
    if not shipped.is_file():
        files = (p for folder in config_folders() for p in folder.glob("*.yaml"))
        profiles = ", ".join(sorted({p.stem for p in files if _is_profile(p)}))
        raise ConfigError(f"no profile {str(path)!r} (shipped: {profiles}); or give a .yaml file")
    return shipped


def _is_profile(file: Path) -> bool:
    """Whether it has a key of a run; files of models, endpoints and the like have other ones."""
    try:
        keys = read_yaml(file).keys()
    except ConfigError:
        return False
    return not keys.isdisjoint({"profile", *FLAT_KEYS, *Config.model_fields})


def _layers_of_file(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """(keys of the shipped profile that ``file`` names, its own keys), as trees.

    ``endpoints`` of llm-as-judge.yaml is read by :func:`load_endpoints` and left out here.
    """
    raw = read_yaml(file)
    if OWN_FILE.is_file() and file.samefile(OWN_FILE):
        raw.pop("endpoints", None)
    elif "endpoints" in raw:
        raise ConfigError(
            f"{file}: endpoints: found here, wanted in {OWN_FILE} of the working folder, where every command "
            "reads them whatever --config names; leave them out here"
        )
    name = raw.pop("profile", None)
    if name is None:
        return {}, _tree(raw, str(file))
    if not isinstance(name, str) or Path(name).suffix in (".yaml", ".yml"):
        raise ConfigError(f"{file}: profile: found {name!r}, wanted a shipped one, e.g. embedded")
    shipped = _find_profile(name)
    return _tree(read_yaml(shipped), str(shipped)), _tree(raw, str(file))


def _tree(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Flat documented keys moved to their place in the tree; the tree's own keys kept."""
    tree: dict[str, Any] = {}
    for key, value in raw.items():
        merge(tree, _placed(key, value, where) if key in FLAT_KEYS else {key: value})
    return _long_form(tree, where)


def _placed(key: str, value: Any, where: str) -> dict[str, Any]:
    """The layer of one key, which may be a documented flat one, or stand below one."""
    if key == "physical_gpus":
        if not isinstance(value, list) or not all(isinstance(gpu, int) for gpu in value):
            raise ConfigError(f"{where}: physical_gpus: found {value!r}, wanted e.g. [0]")
        value = f"cuda:{value[0]}" if value else "cpu"
    first, dot, rest = key.partition(".")
    return _nest({FLAT_KEYS.get(first, first) + dot + rest: value}, where)


def _parse_override(text: str) -> dict[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        shown = repr(without_secrets(text))
        raise ConfigError(f"--set {shown}: wanted key=value, e.g. --set training.steps=10")
    if names_a_secret(key):
        raise ConfigError(f"--set {key}: unknown key; {WHERE_KEYS_BELONG}")
    where = f"--set {without_secrets(text)}"
    return _placed(key, parse_yaml(value, where), where)


def _nest(dotted: Mapping[str, Any], where: str) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in dotted.items():
        node = tree
        *parents, leaf = key.split(".")
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise ConfigError(f"{where}: {key}: {parent} is a value, not a section")
        node[leaf] = value
    return _long_form(tree, where)


def _long_form(tree: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Written out before layers are merged: the later one wins in whichever form it says a thing."""
    tree = with_new_keys(tree, where)
    for name, written_out in {"reward": reward_keys, "judge": judge_keys}.items():
        if isinstance(section := tree.get(name), dict):
            try:
                tree = {**tree, name: written_out(section)}
            except ValueError as error:
                raise ConfigError(f"{where}: {error}") from None
    return tree
