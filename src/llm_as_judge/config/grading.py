"""Keys of what a run is worth: the judge and the reward."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from llm_as_judge.config.reading import Number, Section


class JudgeConfig(Section):
    """Who grades what the rules cannot decide."""

    model: str = Field(
        "gpt-oss-120b", description="Like executor.model; `none`: rules only, no LLM judge."
    )
    max_tokens: int = Field(2048, ge=1, description="Tokens of one verdict at most.")
    qa_f1_threshold: Number | None = Field(
        None,
        gt=0,
        le=1,
        description="Rules only: F1 from which an inexact QA answer is correct; null: it is not graded.",
    )
    max_ungraded_share: Number = Field(
        0.5,
        ge=0,
        le=1,
        description="More rollouts of a step than this that ran but could not be graded stop the "
        "run; fewer are left out and counted.",
    )
    max_abstained_share: Number = Field(
        0.05,
        ge=0,
        le=1,
        description="More answers of a step than this (and more than one) for which the judge "
        "model gave no readable verdict pause the run.",
    )
    canaries_every: int = Field(
        50,
        ge=0,
        description="Steps after which 100 answers with known verdicts are graded again, to see "
        "whether the judge model is still the one that was audited; 0: never.",
    )
    second_model: str | None = Field(
        None, description="Like judge.model: grades a share of what was accepted once more."
    )
    second_share: Number = Field(
        0.02, gt=0, le=1, description="Share of accepted answers that judge.second_model sees."
    )


class RewardConfig(Section):
    """Five parts, each on -10..10; the total is their weighted sum."""

    scheme: Literal["weighted", "gated"] = Field(
        "weighted",
        description="`gated`: tokens and calls count among right programs only; a wrong one earns "
        "0 for both.",
    )
    correctness: Number = Field(0.65, ge=0, description="Weight of +10 right / -5 wrong.")
    efficiency: Number = Field(
        0.15,
        ge=0,
        description="Weight of executor tokens, which stand for cost and time, against the "
        "group and a budget.",
    )
    simplicity: Number = Field(0.10, ge=0, description="Weight of few operators and calls.")
    format: Number = Field(0.05, ge=0, description="Weight of a text that runs as written.")
    repetition: Number = Field(
        0.05, ge=0, description="Weight of the penalty for repeated programs."
    )
    token_budget: int = Field(
        4000, ge=1, description="Executor tokens a run may use before efficiency turns negative."
    )
