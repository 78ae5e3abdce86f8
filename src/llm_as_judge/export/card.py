"""The card of a merged model, of an adapter, or of base weights: what it is, how it was trained, how
it did, and how others load it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from llm_as_judge.config import find_model, hub_base, published_base
from llm_as_judge.config.grading import JudgeConfig
from llm_as_judge.config.names import file_label
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.errors import ModelError
from llm_as_judge.export.adapter import without_paths
from llm_as_judge.files import read_json
from llm_as_judge.runs.judges import judges_of, unaudited_warning
from llm_as_judge.runs.results import Results
from llm_as_judge.views.report.results import results_view
from llm_as_judge.views.screen import plain

_LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""Values that ``vllm serve --max-lora-rank`` takes."""
_ON_THE_HUB = ("hub", "source", "package")
"""Origins of rows that are the set which the hub has, and not rows of its form."""


def model_card(
    checkpoint: Path, results: Mapping[str, Results], *, merged: bool = True
) -> tuple[str, dict[str, str]]:
    """The base model's name, and the files that belong beside a merged model, or its adapter.

    Args:
        results: by their heading.
        merged: False = the card of the adapter alone, which has the settings with it already.
    Raises:
        ModelError: not a checkpoint of ours.
    """
    try:
        state = read_json(checkpoint / "state.json")
        config = yaml.safe_load((checkpoint / "config.yaml").read_text(encoding="utf-8"))
        training, policy = config["training"], config["policy"]
        values = {
            "step": state["step"],
            "rank": policy["lora_rank"],
            "alpha": policy["lora_alpha"],
            "executor": config["executor"]["model"],
            "judge": JudgeConfig.model_validate(config["judge"]).label,
            "groups": training["problems_per_step"],
            "samples": training["samples_per_problem"],
            "learning_rate": training["learning_rate"],
            "temperature": config["sampling"]["temperature"],
            "sets": _sets_in_words(state.get("data"), config["data"]["sets"]),
            "form": config["sampling"]["form"],
            "style": config["sampling"].get("prompt_style", "full"),
        }
        base = _base_values(state["base_model"])
        datasets = _hub_datasets(state.get("data"))
        max_rank = next((r for r in _LORA_RANKS if r >= policy["lora_rank"]), _LORA_RANKS[-1])
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        why = f"not a checkpoint of a run ({type(error).__name__}: {error})"
        raise ModelError(
            f"{checkpoint}: {why if checkpoint.is_dir() else 'no such folder'}; "
            "wanted a folder like checkpoints/MODEL/grpo_mixed/step_100"
        ) from None
    card = _filled(
        "model_card.md",
        **_lined(without_paths(values), 600),
        **base,
        datasets=[plain(name, 200) for name in datasets],
        max_rank=max_rank,
        merged=merged,
        settings="training_config.yaml" if merged else "config.yaml",
        warning=plain(unaudited_warning(judges_of(checkpoint)) or "", 400),
        results=results_view(results) if results else None,
    )
    files = {"README.md": card}
    if merged:
        text = yaml.safe_dump(without_paths(config), sort_keys=False)
        files["training_config.yaml"] = text
    return str(state["base_model"]), files


def base_card(name: str) -> str:
    """README.md beside the base weights of the model ``name``, written out as safetensors."""
    return _filled("base_card.md", **_base_values(name))


def _base_values(name: str) -> dict[str, Any]:
    """What a card says of the base model called ``name``."""
    entry = find_model(name)
    gguf = entry is not None and entry.format == "gguf"
    texts = {
        "base": file_label(name) if Path(name).is_absolute() else name,
        "published": published_base(name),
        "license": entry.license if entry else "",
        "file": entry.filename if entry and gguf else "",
    }
    on_hub = hub_base(name) is not None
    texts["exact"] = f"{file_label(name)}-base" if on_hub else texts["published"]
    return {**_lined(texts, 200), "gguf": gguf, "on_hub": on_hub}


def _lined(values: Mapping[str, object], most: int) -> dict[str, str]:
    """One line each: a value cannot add a line to the card."""
    return {key: plain(str(value), most) for key, value in values.items()}


def _filled(template: str, **values: Any) -> str:
    folder = resources.files("llm_as_judge.export") / "templates"
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    text = (folder / template).read_text(encoding="utf-8")
    return environment.from_string(text).render(**values)


# -------------------------------------------------------------------------------------- data sets
def _hub_datasets(data: Mapping[str, Mapping[str, Any]] | None) -> list[str]:
    """Hub ids of the sets whose rows were trained on; own rows have none."""
    found = []
    for name, told in (data or {}).items():
        place, _, _ = str(told["where"]).partition("@")
        if told["origin"] == "hub" and place:
            found.append(place)
        elif told["origin"] in _ON_THE_HUB and name in CATALOG and CATALOG[name].hub:
            found.append(CATALOG[name].hub[0].repo)
    return sorted(set(found))


def _sets_in_words(data: Mapping[str, Mapping[str, Any]] | None, configured: list[str]) -> str:
    if data is None:
        return f"not recorded; configured: {', '.join(configured)}"
    words = {"own": "own rows", "sample": "built-in sample", "source": "upstream files"}
    lines = []
    for name, told in data.items():
        origin = str(told["where"] or words.get(told["origin"], told["origin"]))
        lines.append(f"{name} ({told['problems']} problems, {origin})")
    return ", ".join(lines)
