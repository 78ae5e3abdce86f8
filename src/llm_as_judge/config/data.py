"""Keys of the problems: data sets, and what is evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from llm_as_judge.config.reading import Number, Section
from llm_as_judge.plugins import no_such_name
from llm_as_judge.types import DATASET_INFO, AnswerKind, AnswerSpec, Split

DATASETS = tuple(info.name for info in DATASET_INFO.values() if info.mixed == "by_default")
EXTRA_DATASETS = tuple(info.name for info in DATASET_INFO.values() if info.mixed == "on_request")
"""Off by default; ``data.sets`` takes them in."""


class AnswersConfig(Section):
    """How the answers of a set of your own are compared. What a row of it says goes before."""

    kind: AnswerKind | None = Field(
        None,
        description="What the answers are, such as `money` (docs/DATA.md). Default: read from each answer.",
    )
    tolerance: Number | None = Field(
        None, ge=0, description="Greatest difference of two numbers that count as equal."
    )
    unit: str = Field("", description="Unit of answers without one: `km/h`, `EUR`, `%`.")
    aliases: dict[str, tuple[str, ...]] = Field(
        {}, description="Further accepted answers, by the answer of the row."
    )
    grader: Literal["exact", "typed", "judge"] | None = Field(
        None,
        description="`exact`: equal texts alone; `typed`: values, too; `judge`: no rule. Default: all of them.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> AnswersConfig:
        if fault := self.spec.contradiction:
            raise ValueError(fault)
        return self

    @property
    def spec(self) -> AnswerSpec:
        return AnswerSpec(self.kind, self.tolerance, self.unit, self.grader)


class DataConfig(Section):
    """Where problems come from."""

    data_dir: Path = Field(Path("data"), description="Holds raw/, processed/, mixed/, test/.")
    source: Path | None = Field(None, description="Folder of upstream files, instead of the hub.")
    train_file: Path = Field(Path("data/mixed/train_mixed.jsonl"), description="Training problems.")
    val_file: Path = Field(Path("data/mixed/val_mixed.jsonl"), description="Validation problems.")
    sets: tuple[str, ...] = Field(
        DATASETS,
        description=f"Data sets in the mix; also: {', '.join(EXTRA_DATASETS)}, and those of plugins.",
    )
    val_fraction: Number = Field(
        0.02, ge=0, lt=1, description="Fraction of the training rows held out for validation."
    )
    mix_size: int | None = Field(None, ge=10, description="Rows of train_mixed; default: all.")
    limit_per_set: int | None = Field(None, ge=6, description="Maximum rows of each set.")
    seed: int = Field(0, ge=0, description="Seed of split and mix.")
    documents: Path | None = Field(
        None,
        description="Folder of txt, md and pdf files. Questions of your own without `context` get passages of them.",
    )
    passages: int = Field(8, ge=1, le=64, description="How many passages such a question gets.")
    answers: dict[str, AnswersConfig] = Field(
        {}, description="How answers are compared, by name of your own set; keys below."
    )

    @field_validator("sets")
    @classmethod
    def _known(cls, sets: tuple[str, ...]) -> tuple[str, ...]:
        known = [info.name for info in DATASET_INFO.values() if info.mixed != "never"]
        if unknown := next((name for name in sets if name not in known), None):
            line = no_such_name(f"data set {unknown!r}", unknown, known)
            raise ValueError(f"{line} (own rows: --custom FILE)")
        return _each_once(sets)


def _each_once(sets: tuple[str, ...]) -> tuple[str, ...]:
    if twice := next((name for name in sets if sets.count(name) > 1), None):
        raise ValueError(f"{twice!r} is there {sets.count(twice)} times; name each set once")
    return sets


class EvaluationConfig(Section):
    """Measuring a policy on held-out problems."""

    limit_per_set: int | None = Field(
        None,
        description="Problems of each test set, a seeded, stratified sample; `all` = every row.",
    )
    sets: tuple[str, ...] | None = Field(
        None,
        description="Data sets by name, your own too; `mixed` is the test mix.\n"
        "Default: data.sets, your own sets, and the mix of the evaluated rows.",
    )
    split: Split = Field(
        "test",
        description="Rows to evaluate: `test`; `val` to choose settings; `train` to find problems that "
        "tell programs apart.",
    )
    samples: int = Field(1, ge=1, description="Rollouts of each problem, for pass@k.")
    temperature: Number = Field(
        0.0,
        ge=0,
        description="Temperature of the policy; 0 = greedy, which needs evaluation.samples = 1.",
    )

    @field_validator("limit_per_set", mode="before")
    @classmethod
    def _rows(cls, limit: object) -> object:
        """Also from text: a profile's limit must be liftable on the command line."""
        if limit is None or limit == "all":
            return None
        try:
            rows = int(str(limit))
        except ValueError:
            rows = 0
        if rows < 1:
            raise ValueError("wanted how many rows of each set, at least 1, or `all`")
        return rows

    @field_validator("sets")
    @classmethod
    def _not_twice(cls, sets: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if sets is not None and not sets:
            raise ValueError("no set; leave it out for those of data.sets")
        return sets if sets is None else _each_once(sets)
