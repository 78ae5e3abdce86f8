"""The scoring judge behind an endpoint: the log-probabilities of a reply's first token, no text read.

The prompt is that of a trained judge (:func:`.scoring.label_prompt`), as one user message. What the endpoint lists is
summed over the spellings of yes and of no ("Yes", " yes"). A label that is not listed is at most as likely as
the least likely one that is. The thresholds are those that ``judge calibrate`` chose for this model.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence

from llm_as_judge.errors import EndpointError, ModelError
from llm_as_judge.judge.records import JudgeRecords
from llm_as_judge.judge.scoring import ORDERS, ROOT, Order, label_prompt
from llm_as_judge.types import ChatModel, ChatRequest, Message, Problem

TOP = 20
"""Tokens that are asked for: what OpenAI and vLLM give at most."""


class EndpointScorer:
    """See :class:`.scoring.Scorer`.

    Args:
        records: log of the calls.
    """

    def __init__(self, model: ChatModel, records: JudgeRecords | None = None) -> None:
        self._model = model
        self._records = records or JudgeRecords()

    async def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float | None]:
        """Mean of both orders, nats; None: no reply, or one that says neither yes nor no.

        Raises:
            ModelError: the endpoint gives no log-probabilities.
        """
        return list(await asyncio.gather(*(self._of(*pair) for pair in pairs)))

    async def _of(self, problem: Problem, candidate: str) -> float | None:
        found = await asyncio.gather(*(self._one(problem, candidate, order) for order in ORDERS))
        said = [one for one in found if one is not None]
        return sum(said) / len(said) if len(said) == len(ORDERS) else None

    async def _one(self, problem: Problem, candidate: str, order: Order) -> float | None:
        prompt = label_prompt(problem, candidate, order)
        message = Message("user", ROOT + prompt.prefix + prompt.rest)
        try:
            reply = await self._model.chat(ChatRequest((message,), max_tokens=1, top_logprobs=TOP))
        except EndpointError:
            self._records.log(self._model.name, problem.id, order, 0, None, "endpoint")
            return None
        if reply.first_token is None:
            raise ModelError(
                f"judge.model: {self._model.name} gives no log-probabilities of its first token; "
                "take judge.kind: llm, or an endpoint that gives them (vLLM, OpenAI)"
            )
        found = first_token_log_odds(reply.first_token)
        kind = "unreadable" if found is None else "score"
        self._records.log(self._model.name, problem.id, order, 0, reply, kind)
        return found


def first_token_log_odds(listed: Mapping[str, float]) -> float | None:
    """Log-odds, nats, of yes against no among the tokens listed with their log-probabilities; None: neither is
    among them."""
    spelled: dict[str, list[float]] = {"yes": [], "no": []}
    for token, value in listed.items():
        if (word := token.strip().casefold()) in spelled:
            spelled[word].append(value)
    if not any(spelled.values()):
        return None
    unlisted = [min(listed.values())]
    yes, no = (_summed(values or unlisted) for values in spelled.values())
    return yes - no


def _summed(values: Sequence[float]) -> float:
    """Logarithm of the sum of the probabilities."""
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))
