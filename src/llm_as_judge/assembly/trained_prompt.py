"""The prompt that a policy was trained under: one record, which its checkpoint holds and every use of it puts in force.

    state.json: {"prompt": {"form": "body", "style": "signatures", "operators": [...], ...}, ...}

A file of configuration says how a run is to begin; a checkpoint knows what it was trained under, so the record
wins over the file, and a line says what it replaced. What a command line asks for is a wish: one that differs is
an error. Examples that an experience buffer adds are in the checkpoint beside the record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from llm_as_judge.assembly.policy_prompt import policy_prompt, prompt_operators
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, ModelError
from llm_as_judge.files import read_json
from llm_as_judge.operators.docs import PromptStyle
from llm_as_judge.policy.checkpoint import PROMPT, STATE
from llm_as_judge.refused import place_and_reason
from llm_as_judge.renamed import hint
from llm_as_judge.types import Budget
from llm_as_judge.workflow.program import ProgramForm

_FIELDS = {
    "sampling.form": "form",
    "sampling.prompt_style": "style",
    "sampling.operators": "operators",
    "sampling.examples": "examples",
    "sampling.problem_chars": "problem_chars",
    "reward.scheme": "scheme",
    "reward.budget": "budget",
}
"""Key of the configuration -> field of the record."""


class PromptRecord(BaseModel):
    """What decides the text that a policy reads before it writes a program."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    form: ProgramForm
    style: PromptStyle
    operators: tuple[str, ...]
    """Shown ones, by class name."""
    examples: bool
    problem_chars: int
    scheme: Literal["weighted", "gated", "priced"]
    """Of the reward: ``priced`` alone tells a budget."""
    budget: Budget | None
    """The one word that is told under ``priced``; None: training draws one for each problem."""
    sha256: str | None = None
    """Of the texts: templates, shipped examples, operators and executors as described; None: not known."""

    @classmethod
    def of(cls, config: Config) -> PromptRecord:
        """The prompt that ``config`` describes.

        Raises:
            ConfigError: a template is missing, or an operator that is to be shown.
        """
        sampling, reward = config.sampling, config.reward
        return cls(
            form=sampling.form,
            style=sampling.prompt_style,
            operators=prompt_operators(config),
            examples=sampling.examples,
            problem_chars=sampling.problem_chars,
            scheme=reward.scheme,
            budget=reward.budget,
            sha256=policy_prompt(config).sha256,
        )

    def differences(self, other: PromptRecord) -> dict[str, tuple[str, str]]:
        """Dotted key -> (value here, value there) of what makes another prompt. Any word of a budget is
        that of a policy whose training drew words."""
        alike = set()
        if (self.scheme == "priced") == (other.scheme == "priced"):
            alike.add("reward.scheme")
        if self.scheme != "priced" or self.budget is None:
            alike.add("reward.budget")
        return {
            key: (_shown(getattr(self, field)), _shown(getattr(other, field)))
            for key, field in _FIELDS.items()
            if key not in alike and getattr(self, field) != getattr(other, field)
        }

    def put_in(self, config: Config, keys: Mapping[str, object]) -> Config:
        """``config`` with the values of this record under ``keys``, dotted."""
        for key in keys:
            name, _, last = key.partition(".")
            changed = getattr(config, name).model_copy(update={last: getattr(self, _FIELDS[key])})
            config = config.model_copy(update={name: changed})
        return config


def under_trained_prompt(config: Config, checkpoint: Path | None) -> Config:
    """``config`` with the prompt that the policy of ``checkpoint`` was trained under; what it replaces of the
    configuration, and what had to be assumed, is said once on standard error.

    Args:
        checkpoint: None = no training: the prompt of the configuration.
    Raises:
        ConfigError: the command line asks for another prompt.
        ModelError: the record, or the file that holds it, is damaged.
    """
    record = None if checkpoint is None else _read(checkpoint)
    if record is None:
        return config
    now = PromptRecord.of(config)
    different = record.differences(now)
    for key, (trained, asked) in different.items():
        if key in config.commanded:
            raise ConfigError(
                f"{key}: the command line asks for {asked}, and the policy of {checkpoint} was trained under "
                f"{trained}; leave that out, or evaluate --untrained to try another prompt"
            )
    if different:
        said = ", ".join(
            f"{key} {trained} (configuration: {asked})"
            for key, (trained, asked) in different.items()
        )
        hint(f"{checkpoint}: the prompt is the one it was trained under: {said}")
        config = record.put_in(config, different)
    if record.sha256 not in (None, (made_sha256 := policy_prompt(config).sha256)):
        hint(
            f"warning: {checkpoint} was trained under prompt texts that have changed since (SHA-256 "
            f"{record.sha256[:12]}, now {made_sha256[:12]}): templates, descriptions of operators or executors"
        )
    return config


def _read(checkpoint: Path) -> PromptRecord | None:
    """The record of a checkpoint; None: it has none."""
    state = _state(checkpoint)
    if PROMPT in state:
        try:
            return PromptRecord.model_validate_json(json.dumps(state[PROMPT]))
        except ValidationError as error:
            place, reason = place_and_reason(error)
            where = f"{checkpoint / STATE}: {PROMPT}{'.' * bool(place)}{place}"
            raise ModelError(f"{where}: {reason}; the record of its prompt is damaged") from None
    if not (checkpoint / "adapter_config.json").is_file():
        return None  # no adapter: who loads it says so
    hint(f"{checkpoint}: keeps no record of its prompt; assumed: that of the configuration")
    return None


def _state(checkpoint: Path) -> Mapping[str, Any]:
    try:
        state = read_json(checkpoint / STATE)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(f"{checkpoint / STATE}: cannot be read: {error}") from None
    return state if isinstance(state, dict) else {}


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
