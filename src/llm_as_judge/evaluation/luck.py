"""The oracle that luck alone gives: what a Rasch model expects of the best of many programs.

Program j is right on problem i with the chance sigmoid(ability of j - difficulty of i): no program suits
any problem better than another. Abilities and the spread of difficulties are fitted (maximum marginal
likelihood, difficulties normal), then verdicts are drawn anew, with each problem's difficulty from
what its own verdicts say of it; of these the oracle is taken as of the real ones.
Source: Rasch 1960; Bock and Aitkin 1981, https://doi.org/10.1007/BF02293801.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llm_as_judge.runs.table import Array

SIMULATIONS = 200
_NODES = 41
_WIDEST = 8.0
"""Abilities and the logarithm of the spread are kept within this: of verdicts that are all alike they
would run away."""

_WIDEST_LOGIT = 20.0
"""Beyond it a chance is 1 for a computer, and its complement has no logarithm."""


@dataclass(frozen=True, slots=True)
class Luck:
    """Share of problems that the luckiest program has right, by luck alone."""

    expected: float
    low: float
    high: float
    """95 % of the simulations."""


def expected_oracle(parts: Sequence[Array], seed: int = 0) -> Luck:
    """
    Args:
        parts: (J, P, D) verdicts of each group of problems; each group has abilities of its own.
    """
    random = np.random.default_rng(seed)
    sums = np.zeros(SIMULATIONS)
    for right_JPD in parts:
        sums += _simulated(right_JPD, random)
    oracles = sums / sum(part.shape[1] for part in parts)
    mean = float(oracles.mean())
    low, high = np.quantile(oracles, [0.025, 0.975])
    # of luck rarer than one simulation in forty the mean lies above both
    return Luck(mean, min(mean, float(low)), max(mean, float(high)))


def _simulated(right_JPD: Array, random: np.random.Generator) -> Array:
    """(simulations,) sum over the problems of the best program's share of right draws."""
    draws = right_JPD.shape[2]
    right_PJ = right_JPD.sum(axis=2).T
    nodes, weights = _normal_nodes()
    abilities, spread = _fitted(right_PJ, draws, nodes, weights)
    chances_QJ = _chances(abilities, spread, nodes)
    belief_PQ = _beliefs(right_PJ, draws, chances_QJ, weights)
    found = np.zeros(SIMULATIONS)
    for n in range(SIMULATIONS):
        at = (belief_PQ.cumsum(axis=1) > random.random((len(belief_PQ), 1))).argmax(axis=1)
        again_PJ = random.binomial(draws, chances_QJ[at]) / draws
        found[n] = again_PJ.max(axis=1).sum()
    return found


def _normal_nodes() -> tuple[Array, Array]:
    """Gauss-Hermite nodes and weights of the standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, weights / weights.sum()


def _chances(abilities_J: Array, spread: float, nodes_Q: Array) -> Array:
    """(Q, J)"""
    logits = np.clip(
        abilities_J[None, :] - spread * nodes_Q[:, None], -_WIDEST_LOGIT, _WIDEST_LOGIT
    )
    return np.asarray(1 / (1 + np.exp(-logits)))


def _beliefs(right_PJ: Array, draws: int, chances_QJ: Array, weights_Q: Array) -> Array:
    """(P, Q) how likely each difficulty is, given the problem's verdicts."""
    log_PQ = _log_likelihood(right_PJ, draws, chances_QJ) + np.log(weights_Q)
    likely = np.exp(log_PQ - log_PQ.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def _log_likelihood(right_PJ: Array, draws: int, chances_QJ: Array) -> Array:
    return np.asarray(
        right_PJ @ np.log(chances_QJ).T + (draws - right_PJ) @ np.log1p(-chances_QJ).T
    )


def _fitted(right_PJ: Array, draws: int, nodes_Q: Array, weights_Q: Array) -> tuple[Array, float]:
    """(abilities (J,), spread of the difficulties)"""
    from scipy.optimize import minimize  # a second to load

    def loss(given: npt.NDArray[np.float64]) -> tuple[float, Array]:
        """Negative marginal log likelihood and its gradient."""
        spread = float(np.exp(given[-1]))
        chances = _chances(given[:-1], spread, nodes_Q)
        log_PQ = _log_likelihood(right_PJ, draws, chances) + np.log(weights_Q)
        most = log_PQ.max(axis=1, keepdims=True)
        belief = np.exp(log_PQ - most)
        total = belief.sum(axis=1, keepdims=True)
        belief /= total
        # d log likelihood / d logit of (problem, node, program), summed over problems
        slope_QJ = belief.T @ right_PJ - belief.sum(axis=0)[:, None] * draws * chances
        by_spread = -float((slope_QJ * nodes_Q[:, None]).sum()) * spread
        gradient = np.concatenate([slope_QJ.sum(axis=0), [by_spread]])
        return -float((np.log(total) + most).sum()), -gradient

    share = np.clip(right_PJ.mean(axis=0) / draws, 0.02, 0.98)
    start = np.concatenate([np.log(share / (1 - share)), [0.0]])
    bounds = [(-_WIDEST, _WIDEST)] * right_PJ.shape[1] + [(-3.0, 2.0)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x[:-1]), float(np.exp(found.x[-1]))
