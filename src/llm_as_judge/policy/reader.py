"""The policy as the reader of solutions: a prompt in, one letter out, by one forward pass.

Of the head only the rows of the letters are multiplied, at the last token. The likeliest letter is the
reply, so the same weights give the same one. It is written on the policy's own thread: after what is
being sampled, before the next update.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.billing import Attempt
from llm_as_judge.llm.executors import READER_ROLE
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.policy.chat_template import prompt_ids
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.soundness import require_finite_logits
from llm_as_judge.types import PROMPT_PRICE, ChatReply, ChatRequest, Message, PolicyTurn, Usage


class PolicyReader:
    """A ``ChatModel`` that answers with one of the letters that the request's schema lists.

    Args:
        turn: where it computes; it decides the order of reading, sampling and updates.
        written_price: of its token, in written tokens of the default executor.
    """

    def __init__(
        self, policy: Policy, turn: PolicyTurn, ledger: Ledger, *, written_price: float = 1.0
    ) -> None:
        self._policy = policy
        self._turn = turn
        self._ledger = ledger
        self._written_price = written_price

    @property
    def name(self) -> str:
        return self._policy.name

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The letter, as JSON text.

        Raises:
            ModelError: the tokenizer writes a letter with more than one token.
        """
        letters = (request.json_schema or {})["enum"]
        self._ledger.record_call(READER_ROLE)
        began = time.perf_counter()
        chosen, tokens = await self._turn(partial(self._read, request.messages, letters))
        usage, seconds = Usage(tokens, 1), time.perf_counter() - began
        attempt = Attempt(
            usage, 0.0, seconds, prompt_price=PROMPT_PRICE, written_price=self._written_price
        )
        self._ledger.record_attempt(READER_ROLE, attempt)
        return ChatReply(json.dumps(letters[chosen]), "stop", usage, 0.0, seconds=seconds)

    @torch.inference_mode()
    def _read(self, messages: Sequence[Message], letters: Sequence[str]) -> tuple[int, int]:
        """(index of the likeliest letter, tokens of the prompt)."""
        policy, base = self._policy, self._policy.base
        ids = reader_prompt_ids(policy.tokenizer, messages)
        row = torch.tensor([ids], device=policy.device)
        hidden_D = base.model(input_ids=row, use_cache=False).last_hidden_state[0, -1]
        head_LD = base.lm_head.weight[letter_ids(policy.tokenizer, letters)]
        logits_L = head_LD.float() @ hidden_D.float()
        require_finite_logits(logits_L, f"policy {policy.name}")
        return int(logits_L.argmax()), len(ids)


def reader_prompt_ids(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """The prompt with the start of the policy's turn, in which the letter follows."""
    return prompt_ids(tokenizer, messages, prefix="")


def letter_ids(tokenizer: Any, letters: Sequence[str]) -> list[int]:
    """
    Raises:
        ModelError: a letter is more than one token.
    """
    found = [tokenizer(letter, add_special_tokens=False)["input_ids"] for letter in letters]
    if bad := next((a for a, ids in zip(letters, found, strict=True) if len(ids) != 1), None):
        raise ModelError(f"choose: the policy's tokenizer writes {bad!r} as more than one token")
    return [ids[0] for ids in found]
