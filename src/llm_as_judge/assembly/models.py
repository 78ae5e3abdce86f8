"""The weights that a configuration names, fetched and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from llm_as_judge.config import Config, known_model
from llm_as_judge.errors import ModelError
from llm_as_judge.llm.weights import fetch
from llm_as_judge.policy.launched import Launched
from llm_as_judge.quoting import quoted

if TYPE_CHECKING:
    from llm_as_judge.policy.adapter import AdapterSpec
    from llm_as_judge.policy.model import Policy


def load_policy_of(config: Config, adapter: AdapterSpec | Path | None, place: Launched) -> Policy:
    """The configured policy.

    Args:
        adapter: default: a fresh one of the configured shape.
        place: of this process among those of a run.
    """
    # Imported here: checking, running and grading programs must not wait for torch.
    from llm_as_judge.policy.adapter import AdapterSpec
    from llm_as_judge.policy.chat_template import require_chat_template
    from llm_as_judge.policy.model import load_policy

    policy = load_policy(
        model_weights(config, config.policy.name, "policy.name"),
        adapter=adapter
        or AdapterSpec(
            config.policy.lora_rank, config.policy.lora_alpha, config.policy.lora_targets
        ),
        name=config.policy.name,
        device=config.policy.device,
        dtype=config.policy.dtype,
        gradient_checkpointing=config.policy.gradient_checkpointing,
        seed=config.training.seed,
    )
    require_chat_template(policy.tokenizer)
    return policy


def require_usable_policy(config: Config) -> None:
    """What can be known of the configured policy's files before they are loaded; fetches them.

    Raises:
        ModelError: they cannot be had, are quantized, or have no chat template that can be used.
    """
    weights = model_weights(config, config.policy.name, "policy.name")
    if weights.suffix == ".gguf":  # unpacked when it is loaded, and looked at then
        return
    from transformers import AutoTokenizer

    from llm_as_judge.policy.chat_template import require_chat_template
    from llm_as_judge.policy.soundness import require_plain_weights

    require_plain_weights(weights)
    try:
        tokenizer = AutoTokenizer.from_pretrained(weights, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"{weights}: no tokenizer that can be loaded ({quoted(str(error))})"
        ) from None
    require_chat_template(tokenizer)


def model_weights(config: Config, name: str, key: str) -> Path:
    """Weights of the model that ``key`` names, fetched if they are not here yet."""
    return fetch(known_model(name, key), config.output.cache_dir())
