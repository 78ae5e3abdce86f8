"""A trained judge's forward pass: pairs of question and answer in, log-odds of being right out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import torch

from llm_as_judge.judge.scoring import ORDERS, label_prompt
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.label_scores import (
    LabelTokens,
    TokenizedPrompt,
    label_log_odds,
    pack_labels,
)
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.policy.soundness import require_finite_logprobs
from llm_as_judge.types import Problem

_TOKENS_PER_ROW = 2048


class LabelScorer:
    """Scores many answers in few forward passes; the mean of both orders.

    Args:
        policy: base model with the judge's adapter. In float32 the adapter is added to the weights for
            as long as the scorer is open.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._tokens = LabelTokens(policy.tokenizer)
        self._open = ExitStack()
        self._open.enter_context(policy.inference())

    @staticmethod
    def load(
        weights: Path,
        folder: Path,
        *,
        layers: int | None,
        device: str = "auto",
        dtype: Literal["auto", "bfloat16", "float32"] = "auto",
    ) -> LabelScorer:
        """The judge in ``folder`` over its base model's ``weights``.

        Raises:
            ModelError: weights or adapter cannot be loaded, or do not fit each other.
        """
        return LabelScorer(
            load_policy(weights, adapter=folder, device=device, dtype=dtype, layers=layers)
        )

    def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float]:
        """Nats, of each (problem, candidate)."""
        prompts = [
            self._tokens.prompt(label_prompt(problem, candidate, order))
            for problem, candidate in pairs
            for order in ORDERS
        ]
        scores = [score for row in _rows(prompts) for score in self._scored(row)]
        return [sum(scores[at : at + len(ORDERS)]) / len(ORDERS) for at in range(0, len(scores), 2)]

    @torch.inference_mode()
    def _scored(self, prompts_S: Sequence[TokenizedPrompt]) -> list[float]:
        row = pack_labels(self._tokens.root, prompts_S, self._policy.device)
        with packed_attention(self._policy.base):
            found: list[float] = label_log_odds(
                self._policy.base, row, self._tokens.labels
            ).tolist()
        require_finite_logprobs(found, f"judge {self._policy.name}")
        return found

    def close(self) -> None:
        """Takes the adapter out of the weights again."""
        self._open.close()


def _rows(prompts: Sequence[TokenizedPrompt]) -> list[list[TokenizedPrompt]]:
    """Prompts in order, as many to a row as fit."""
    rows: list[list[TokenizedPrompt]] = [[]]
    size = 0
    for prompt in prompts:
        if rows[-1] and size + len(prompt) > _TOKENS_PER_ROW:
            rows.append([])
            size = 0
        rows[-1].append(prompt)
        size += len(prompt)
    return rows if rows[-1] else []
