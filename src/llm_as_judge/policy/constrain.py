"""Constrained decoding: at every place of a program, only the tokens that a grammar allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher
from llguidance.gbnf_to_lark import gbnf_to_lark
from llguidance.hf import from_tokenizer


class Constraint:
    """One text that is being written under a grammar."""

    def __init__(self, matcher: LLMatcher) -> None:
        self._matcher = matcher

    def allowed(self, vocabulary: int) -> torch.Tensor:
        """Which tokens may come next, (V,) of bool: a model has logits for more or fewer tokens
        than its tokenizer knows."""
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        known = np.unpackbits(bits, bitorder="little")[:vocabulary].astype(bool)
        return torch.from_numpy(np.pad(known, (0, vocabulary - len(known))))

    def take(self, token: int) -> None:
        """The token that was drawn; one of the allowed."""
        taken = self._matcher.consume_token(token)
        assert taken, self._matcher.get_error()


class Constraints:
    """Constraints for one tokenizer; each grammar is compiled once."""

    def __init__(self, tokenizer: Any) -> None:
        """
        Args:
            tokenizer: a fast one of transformers.
        """
        self._tokens = from_tokenizer(tokenizer)
        self._compiled: dict[str, LLMatcher] = {}

    def begin(self, grammar: str) -> Constraint:
        """
        Args:
            grammar: GBNF, our own; the rule ``root`` is the whole text.
        """
        if grammar not in self._compiled:
            matcher = LLMatcher(self._tokens, gbnf_to_lark(grammar))
            assert not matcher.is_error(), matcher.get_error()
            self._compiled[grammar] = matcher
        return Constraint(self._compiled[grammar].deep_copy())
