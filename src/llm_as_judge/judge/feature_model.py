"""Logistic regression on :mod:`features`: a millisecond's word on whether a reply is probably right.

FOLDER/features.json holds its numbers. Replies that hold a reference in one piece have weights of their own: there
it matters what else is said, elsewhere how much of the reference is there.

Two thresholds are promises of precision, chosen on questions that the model did not learn from. Below the lower one
a reply is wrong. Only from the upper one on may a judge behind it accept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from llm_as_judge.errors import ModelError
from llm_as_judge.files import write_text
from llm_as_judge.judge.calibration import accepted_from, rejected_to
from llm_as_judge.judge.features import NAMES, features
from llm_as_judge.refused import place_and_reason
from llm_as_judge.statistics import wilson
from llm_as_judge.types import Problem

FEATURES_FILE = "features.json"
_HOLDS = NAMES.index("holds")
_PARTS = ("holding", "not holding")
_PENALTY = 3.0
"""Of the squared weights of standardized features."""
_STEPS = 30

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """A reply with its label, as the model learns it."""

    values: Sequence[float]
    """Its features."""
    correct: bool
    made: bool = False
    """Its label is known by how it was made, not by a person."""


class FeatureModel(BaseModel):
    """The content of ``features.json``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = 1
    names: tuple[str, ...]
    """Of the features, in their order."""
    weights: Mapping[str, tuple[float, ...]]
    """Of the raw features, by part."""
    bias: Mapping[str, float]
    precision: float | None = None
    """What the thresholds promise; None = none chosen yet."""
    accept: float | None = None
    """Least log-odds from which a judge may accept; None: no threshold keeps the promise, and it may accept nothing."""
    reject: float | None = None
    """Greatest log-odds up to which a reply is wrong; None: none is."""
    learned: int = 0
    chosen_on: int = 0
    """People's rows that the thresholds were chosen on."""

    @model_validator(mode="after")
    def _fits(self) -> FeatureModel:
        if self.format != 1 or self.names != NAMES:
            raise ValueError(f"format {self.format} or other features than this version reads")
        if any(
            len(self.weights.get(part, ())) != len(NAMES) or part not in self.bias
            for part in _PARTS
        ):
            raise ValueError(
                f"wanted {len(NAMES)} weights and a bias for each of {', '.join(_PARTS)}"
            )
        return self

    def log_odds_of(self, values_NF: Matrix) -> Matrix:
        """[N], nats, of rows of features [N, F]."""
        weights_PF = np.array([self.weights[part] for part in _PARTS])
        bias_P = np.array([self.bias[part] for part in _PARTS])
        part_N = (values_NF[:, _HOLDS] == 0).astype(int)
        found: Matrix = (values_NF * weights_PF[part_N]).sum(axis=1) + bias_P[part_N]
        return found

    def log_odds(self, problem: Problem, reply: str) -> float:
        """Nats, of being right."""
        return float(self.log_odds_of(np.array([features(problem, reply)]))[0])


def fitted(examples: Sequence[Example]) -> FeatureModel:
    """A model without thresholds. People's rows weigh twice as much as made ones, and right ones of either as wrong ones."""
    values_NF = np.array([one.values for one in examples], dtype=float)
    correct_N = np.array([one.correct for one in examples], dtype=bool)
    made_N = np.array([one.made for one in examples], dtype=bool)
    weight_N = np.zeros(len(examples))
    for made in (True, False):
        for correct in (True, False):
            group_N = (made_N == made) & (correct_N == correct)
            weight_N[group_N] = len(examples) * (1 - made / 2) / 3 / max(1, group_N.sum())
    weights, bias = {}, {}
    for at, part in enumerate(_PARTS):
        mine_N = (values_NF[:, _HOLDS] == 0) == bool(at)
        weights[part], bias[part] = _logistic(
            values_NF[mine_N], correct_N[mine_N], weight_N[mine_N]
        )
    return FeatureModel(names=NAMES, weights=weights, bias=bias, learned=len(examples))


def _logistic(
    values_NF: Matrix, correct_N: NDArray[np.bool_], weight_N: Matrix
) -> tuple[tuple[float, ...], float]:
    """Weights of the raw features and bias, by Newton's method on the penalized likelihood (iteratively reweighted
    least squares: Hastie, Tibshirani and Friedman 2009, section 4.4.1)."""
    count = values_NF.shape[1]
    if not len(values_NF):
        return (0.0,) * count, 0.0
    mean_F, scale_F = values_NF.mean(axis=0), values_NF.std(axis=0)
    scale_F[scale_F < 1e-9] = 1.0
    rows_NG = np.column_stack([(values_NF - mean_F) / scale_F, np.ones(len(values_NF))])
    penalty_G = np.append(np.full(count, _PENALTY), 1e-3)
    found_G = np.zeros(count + 1)
    for _ in range(_STEPS):
        p_N = 1 / (1 + np.exp(-np.clip(rows_NG @ found_G, -30, 30)))
        slope_G = rows_NG.T @ (weight_N * (p_N - correct_N)) + penalty_G * found_G
        curve_N = weight_N * np.maximum(p_N * (1 - p_N), 1e-6)
        curve_GG = (rows_NG * curve_N[:, None]).T @ rows_NG + np.diag(penalty_G)
        step_G = np.linalg.solve(curve_GG, slope_G)
        found_G -= step_G
        if np.abs(step_G).max() < 1e-6:
            break
    weights_F = found_G[:-1] / scale_F
    # 7 digits: verdicts must not depend on the last bits, which vary between builds of the algebra
    return tuple(float(f"{w:.7g}") for w in weights_F), float(
        f"{found_G[-1] - weights_F @ mean_F:.7g}"
    )


def with_thresholds(
    model: FeatureModel, apart: Sequence[Example], precision: float
) -> FeatureModel:
    """With thresholds whose promise the lower end of the 95 % interval keeps: on people's rows as they come for what
    may be accepted, with right and wrong rows weighing alike for what is rejected, as in :mod:`calibration`.

    Args:
        apart: people's rows on questions that the model did not learn from.
        precision: 0..1.
    """
    if not apart:
        return model
    log_odds_N = model.log_odds_of(np.array([one.values for one in apart], dtype=float)).tolist()
    scored = list(zip(log_odds_N, (one.correct for one in apart), strict=True))
    accept = accepted_from(
        scored, lambda right, wrong: wilson(right, right + wrong)[0] >= precision
    )
    reject = rejected_to(scored, accept, precision)
    update = {"precision": precision, "accept": accept, "reject": reject, "chosen_on": len(apart)}
    return model.model_copy(update=update)


def read_features(folder: Path) -> FeatureModel | None:
    """The model of a judge's folder; None: it has none, as judges made before there were features.

    Raises:
        ModelError: the file cannot be read or is of another form.
    """
    path = folder / FEATURES_FILE
    try:
        return FeatureModel.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        place, reason = place_and_reason(error)
        raise ModelError(
            f"{path}: {place or 'file'}: {reason}; wanted what judge train writes: train the judge anew"
        ) from None


def write_features(folder: Path, model: FeatureModel) -> None:
    """
    Raises:
        OutputError: it cannot be written.
    """
    write_text(folder / FEATURES_FILE, model.model_dump_json(indent=1) + "\n")
