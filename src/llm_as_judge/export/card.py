"""The card of a merged model, or of an adapter: what it is, how it was trained, how it did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import yaml
from jinja2 import Environment, StrictUndefined

from llm_as_judge.config import find_model
from llm_as_judge.config.names import file_label
from llm_as_judge.errors import ModelError
from llm_as_judge.runs.judges import judges_of, unaudited_warning
from llm_as_judge.runs.results import Results
from llm_as_judge.views.report.results import results_view
from llm_as_judge.views.screen import plain


def hub_name(base: str) -> str:
    """Where others find a base model; its own name where no hub has it."""
    entry = find_model(base)
    hubs = [source.hub for source in entry.sources if source.hub] if entry else []
    return hubs[0] if hubs else file_label(base)


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
        state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
        text = (checkpoint / "config.yaml").read_text(encoding="utf-8")
        config = yaml.safe_load(text)
        training, policy = config["training"], config["policy"]
        values = {
            "base": state["base_model"],
            "step": state["step"],
            "rank": policy["lora_rank"],
            "alpha": policy["lora_alpha"],
            "executor": config["executor"]["model"],
            "judge": config["judge"]["model"],
            "groups": training["problems_per_step"],
            "samples": training["samples_per_problem"],
            "learning_rate": training["learning_rate"],
            "temperature": config["sampling"]["temperature"],
            "sets": ", ".join(config["data"]["sets"]),
            "form": config["sampling"]["form"],
        }
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise ModelError(
            f"{checkpoint}: not a checkpoint of a run ({type(error).__name__}: {error}); "
            "wanted a folder like checkpoints/MODEL/grpo_mixed/step_100"
        ) from None
    entry = find_model(values["base"])
    values["hub"] = hub_name(values["base"])
    values["license"] = entry.license if entry else ""
    # one line each: a value cannot add a line to the card
    lined = {key: plain(str(value), 200) for key, value in values.items()}
    template = resources.files("llm_as_judge.export") / "templates" / "model_card.md"
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    card = environment.from_string(template.read_text(encoding="utf-8")).render(
        **lined,
        merged=merged,
        settings="training_config.yaml" if merged else "config.yaml",
        warning=plain(unaudited_warning(judges_of(checkpoint)) or "", 400),
        results=results_view(results) if results else None,
    )
    files = {"README.md": card} | ({"training_config.yaml": text} if merged else {})
    return str(state["base_model"]), files
