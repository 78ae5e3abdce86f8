"""Keys of what a run is worth: the judge and the reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from llm_as_judge.config.reading import Number, Section, as_number, merge
from llm_as_judge.errors import ConfigError
from llm_as_judge.renamed import rules_named
from llm_as_judge.reward import (
    INVALID_TEXT,
    PRICES,
    REPAIRED,
    REWARD_PARTS,
    USUAL_BUDGET,
    all_options,
    all_weights,
)
from llm_as_judge.types import Budget


def _shipped_parts() -> str:
    """For the page of keys: a line for each part, with its weight and meaning."""
    return "\n".join(
        f"`{name}` weighs {part.weight:g}. {part.meaning.rstrip('.')}."
        for name, part in REWARD_PARTS.all().items()
        if part.defined.__module__ == all_weights.__module__
    )


class JudgeConfig(Section):
    """Who grades what the rules cannot decide."""

    kind: str = Field(
        "llm",
        description="`rules`: rules alone; `llm`: judge.model writes a verdict; `scoring`: one forward pass; or a "
        "plugin's judge.\n"
        "`scoring` reads the folder judge.options.adapter: of a trained judge, or of the thresholds of judge.model; "
        "without one it is the judge that the package ships. "
        "A plugin's judge may ask judge.model.",
    )
    options: dict[str, Any] = Field({}, description="Options of `scoring` or of a plugin's judge.")
    model: str = Field(
        "gpt-oss-120b",
        description="Like executor.model; `none`: no model; `llm` is then `rules`.",
    )
    max_tokens: int = Field(2048, ge=1, description="Maximum tokens of a verdict.")
    qa_f1_threshold: Number | None = Field(
        None,
        gt=0,
        le=1,
        description="Rules only: F1 from which an inexact QA answer is correct; null: it is not graded.",
    )
    max_ungraded_fraction: Number = Field(
        0.5,
        ge=0,
        le=1,
        description="Maximum fraction of a step's rollouts that ran but could not be graded. Above it the "
        "run stops.\n"
        "Below it they are left out and counted.",
    )
    max_abstained_fraction: Number = Field(
        0.05,
        ge=0,
        le=1,
        description="Maximum fraction of a step's answers without a verdict from the judge model.\n"
        "The run stops above it, where more than one answer has none. A trained judge that is not sure has given one.",
    )
    canaries_every: int = Field(
        50,
        ge=0,
        description="Steps between checks of the judge model on 100 answers with known verdicts; 0: "
        "never.",
    )

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, given: Any) -> Any:
        return rules_named(judge_keys(given)) if isinstance(given, Mapping) else given

    @property
    def label(self) -> str:
        """What a person calls this judge: its model, or one's own by its name."""
        return self.model if self.kind == "llm" else self.kind

    def with_rules_alone(self) -> JudgeConfig:
        """The same, but what the rules leave open stays open."""
        return self.model_copy(update={"kind": "rules", "model": "none", "options": {}})

    def asking(self, model: str) -> JudgeConfig:
        """The same, but ``model`` is asked."""
        kind = "llm" if self.kind == "rules" else self.kind
        return self.model_copy(update={"kind": kind, "model": model})


class RewardConfig(Section):
    """Parts, each on -10..10; the total is their weighted sum. A weight may also stand
    beside the scheme, as `correctness: 0.65`, and so may `token_budget`."""

    scheme: Literal["weighted", "gated", "priced"] = Field(
        "weighted",
        description="`weighted`: all parts, by their weights; `gated`: costs among right programs only; "
        "`priced`: runs right less cost.\n"
        "With `gated` tokens and calls count among right programs; a wrong one earns 0 for both.\n"
        "With `priced` the reward is the share of right runs less the budget's price for 1,000 written tokens of cost.\n"
        f"With `priced` a text that cannot run as a program earns {INVALID_TEXT:g}.\n"
        f"With `priced` a text that had to be repaired earns {REPAIRED:g} less.\n"
        "With `priced` only a plugin's parts count, each a tenth of its score.",
    )
    budget: Budget | None = Field(
        None,
        description="Scheme `priced`: what 1,000 written tokens of cost take away: "
        + ", ".join(f"`{word}` {price:g}" for word, price in PRICES.items())
        + ".\nThe policy's prompt names the word.\n"
        f"Default: training draws one for each problem; everything else has `{USUAL_BUDGET}`.",
    )
    weights: dict[str, Annotated[Number, Field(ge=0)]] = Field(
        {},
        description=f"Weight of each part. A part without one here has its own.\n{_shipped_parts()}",
    )
    options: dict[str, dict[str, Any]] = Field(
        {},
        description="Part -> option -> value. `efficiency.token_budget` "
        f"({REWARD_PARTS.get('efficiency').default_options()['token_budget']}): executor tokens before "
        "efficiency turns negative.",
    )

    @property
    def one_budget(self) -> Budget:
        """Where one word stands for all problems."""
        return self.budget or USUAL_BUDGET

    @property
    def prompt_budget(self) -> Budget | None:
        """What a policy is told that is asked for one budget; None: this scheme has none."""
        return self.one_budget if self.scheme == "priced" else None

    @property
    def draws_budgets(self) -> bool:
        """Whether training draws a word for each problem."""
        return self.scheme == "priced" and self.budget is None

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, given: Any) -> Any:
        return reward_keys(given) if isinstance(given, Mapping) else given

    @field_validator("weights", "options")
    @classmethod
    def _known(cls, given: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        try:
            return all_weights(given) if info.field_name == "weights" else all_options(given)
        except ConfigError as error:  # for pydantic, which then tells file and key
            raise ValueError(str(error)) from None


RULES_ALONE: Mapping[str, str] = {"judge.kind": "llm", "judge.model": "none"}
"""Keys under which no judge is asked. A later layer may name a model: it is then asked."""


def judge_keys(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section ``judge`` with ``kind: rules`` written out: ``llm`` without a model.

    Raises:
        ValueError: a model is named beside it.
    """
    if section.get("kind") != "rules":
        return dict(section)
    model = section.get("model", "none")
    if model != "none":
        raise ValueError(
            f"judge.kind: rules asks no model, found judge.model: {model}; set judge.kind: llm"
        )
    return {**section, **{key.removeprefix("judge."): value for key, value in RULES_ALONE.items()}}


def reward_keys(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section ``reward`` with its short forms written out; what is no mapping is left as it is.

    A number under a key that the section has not is taken for the weight of a part.
    """
    tree: dict[str, Any] = {}
    parts = REWARD_PARTS.all()
    long = {key: value for key, value in section.items() if key in RewardConfig.model_fields}
    for key, value in section.items():
        if key == "token_budget":
            tree.setdefault("options", {}).setdefault("efficiency", {})[key] = value
        elif key in long:
            continue
        elif key in parts or isinstance(as_number(value), float | int):
            tree.setdefault("weights", {})[key] = value
        else:  # refused with its name
            tree[key] = value
    merge(tree, long)
    return tree
