"""Routers: from a problem's sentence embedding to how much better or worse each program does on it.

Ridge regression and nearest neighbors, in the few lines of linear algebra that they are; how strongly
they believe the text is chosen by inner folds, and not believing it at all is among the choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from llm_as_judge.runs.table import Array

Predict = Callable[[Array, Array, Array], Array]
"""(vectors (N, E), targets (N, J), new vectors (M, E)) -> (M, J)."""


def nothing(known_NE: Array, targets_NJ: Array, new_ME: Array) -> Array:
    """The text says nothing."""
    return np.zeros((len(new_ME), targets_NJ.shape[1]))


def ridge(penalty: float, known_NE: Array, targets_NJ: Array, new_ME: Array) -> Array:
    """Ridge regression around the mean vector.

    Source: Hoerl and Kennard 1970, https://doi.org/10.1080/00401706.1970.10488634; dual form.
    """
    middle = known_NE.mean(axis=0)
    known, new = known_NE - middle, new_ME - middle
    gram = known @ known.T + penalty * np.eye(len(known))
    return np.asarray(new @ known.T @ np.linalg.solve(gram, targets_NJ))


def neighbors(count: int, known_NE: Array, targets_NJ: Array, new_ME: Array) -> Array:
    """Mean of the ``count`` nearest by cosine (vectors of unit length)."""
    nearest = np.argsort(-(new_ME @ known_NE.T), axis=1, kind="stable")[:, :count]
    return np.asarray(targets_NJ[nearest].mean(axis=1))


PREDICTORS: Mapping[str, Sequence[Predict]] = {
    "ridge": (nothing, *(partial(ridge, penalty) for penalty in (30.0, 10.0, 3.0, 1.0, 0.3))),
    "neighbors": (nothing, *(partial(neighbors, count) for count in (40, 20, 10, 5))),
}


def best_predictor(
    predictors: Sequence[Predict],
    vectors_NE: Array,
    targets_NJ: Array,
    folds_N: npt.NDArray[np.intp],
) -> Predict:
    """The predictor of the least squared error over these folds; of equals the first."""
    errors = np.zeros(len(predictors))
    for fold in np.unique(folds_N):
        mine = folds_N == fold
        if mine.all():
            return predictors[0]
        for n, predict in enumerate(predictors):
            found = predict(vectors_NE[~mine], targets_NJ[~mine], vectors_NE[mine])
            errors[n] += float(((found - targets_NJ[mine]) ** 2).sum())
    return predictors[int(errors.argmin())]
