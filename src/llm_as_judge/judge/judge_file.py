"""``judge.json``: the description of a trained scoring judge, beside its adapter.

FOLDER/
    adapter_config.json, adapter_model.safetensors    in PEFT's format
    judge.json                                        base model, thresholds, how they were chosen
    questions.txt                                     a digest of each question it learned from
    README.md                                         the model card
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llm_as_judge.errors import ModelError
from llm_as_judge.files import file_sha256, write_text
from llm_as_judge.judge.calibration import Thresholds
from llm_as_judge.refused import place_and_reason

JUDGE_FILE, QUESTIONS = "judge.json", "questions.txt"
_ADAPTER = "adapter_model.safetensors"
_FEATURES = "features.json"


class JudgeFile(BaseModel):
    """The content of ``judge.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = 1
    base: str
    """Name of the base model in models.yaml, or its hub id; of an endpoint what its model is known by."""
    endpoint: bool = False
    """``base`` is a model behind an endpoint; there is no adapter."""
    layers: int | None = None
    """Of the base model from the bottom; None = all."""
    start: str | None = None
    """SHA-256 of the judge that it went on from."""
    seed: int
    examples: Mapping[str, int]
    """How many it learned from, by kind."""
    data_sha256: str
    """Of the examples that it learned from."""
    precision: float | None = None
    """What the thresholds promise; None = not calibrated yet."""
    thresholds: Mapping[str, Thresholds] = {}
    risk_coverage: Any = Field(default=None, exclude=True)
    reliability: Any = Field(default=None, exclude=True)
    """Figures in files of before."""


def read_judge_file(folder: Path) -> JudgeFile:
    """
    Raises:
        ModelError: the folder holds no judge, or one of another form.
    """
    refuse_features(folder)
    path = folder / JUDGE_FILE
    try:
        found = JudgeFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ModelError(
            f"{path}: cannot be read ({error.strerror}); make a judge: llm-as-judge judge train"
        ) from None
    except ValidationError as error:
        place, reason = place_and_reason(error)
        raise ModelError(
            f"{path}: {place or 'file'}: {reason}; wanted what judge train writes: copy the folder "
            "again, or train the judge anew"
        ) from None
    if found.format != 1:
        raise ModelError(f"{path}: format {found.format}, wanted 1; update the package")
    return found


def refuse_features(folder: Path) -> None:
    """
    Raises:
        ModelError: the folder's judge has lexical features, behind which its thresholds were chosen.
    """
    if (folder / _FEATURES).exists():
        raise ModelError(
            f"{folder / _FEATURES}: lexical features, which are read no more; remove the file, then choose thresholds "
            f"without them: llm-as-judge judge calibrate --judge {folder} --labeled ROWS.jsonl"
        )


def write_judge_file(folder: Path, content: JudgeFile) -> None:
    """
    Raises:
        OutputError: it cannot be written.
    """
    write_text(folder / JUDGE_FILE, content.model_dump_json(indent=1) + "\n")


def judge_sha256(folder: Path) -> str:
    """Changes with the weights of the adapter and the thresholds.

    Raises:
        ModelError: a file is missing.
    """
    try:
        names = [JUDGE_FILE] if read_judge_file(folder).endpoint else [JUDGE_FILE, _ADAPTER]
        sums = [file_sha256(folder / name) for name in names]
    except OSError as error:
        raise ModelError(
            f"{folder}: {error.strerror}; wanted the folder of a trained judge"
        ) from None
    return hashlib.sha256("".join(sums).encode()).hexdigest()
