"""Log-probabilities in a response: of the tokens of a reply, and of the likeliest first ones.

OpenAI's form: ``choice.logprobs.content`` lists the tokens, each with its ``logprob`` and, where they were
asked for, its ``top_logprobs``. An endpoint is not trusted: one entry that is no log-probability, and
nothing is said of the reply.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from llm_as_judge.types import ReplyLogProbs

_LEAST = -1e6
_ROUNDING = 1e-3
"""Above 0, and of a sum above 1: what single precision makes of them."""
_DIGITS = 5


def of_tokens(choice: Any) -> ReplyLogProbs | None:
    """Of all listed tokens; None: none is listed, or one of them without its log-probability."""
    listed = _listed(choice)
    drawn = [_logprob(token) for token in listed]
    values = [value for value in drawn if value is not None]
    if not listed or len(values) < len(listed):
        return None
    entropies = [_entropy(token.get("top_logprobs")) for token in listed]
    known = [value for value in entropies if value is not None]
    whole = len(known) == len(listed)
    return ReplyLogProbs(
        tokens=len(listed),
        mean=round(sum(values) / len(values), _DIGITS),
        entropy=round(sum(known) / len(known), _DIGITS) if whole else None,
    )


def of_first_token(choice: Any) -> Mapping[str, float] | None:
    """Of the likeliest first tokens; None: the choice lists none."""
    first = next(iter(_listed(choice)), {})
    likeliest = first.get("top_logprobs")
    if not isinstance(likeliest, list) or not all(isinstance(one, Mapping) for one in likeliest):
        return None
    found = {
        one.get("token"): _logprob(one) for one in likeliest if isinstance(one.get("token"), str)
    }
    return {token: value for token, value in found.items() if value is not None} or None


def tokens_listed(choice: Any) -> int | None:
    """How many; None: the choice has no list."""
    return len(_listed(choice)) or None


def _listed(choice: Any) -> Sequence[Mapping[str, Any]]:
    logprobs = choice.get("logprobs") if isinstance(choice, Mapping) else None
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list) or not all(isinstance(token, Mapping) for token in content):
        return ()
    return content


def _logprob(token: Any) -> float | None:
    value = token.get("logprob") if isinstance(token, Mapping) else None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return min(float(value), 0.0) if _LEAST < value <= _ROUNDING else None


def _entropy(likeliest: Any) -> float | None:
    """Nats; what is not listed counts as one token more. None: two or more are not listed."""
    if not isinstance(likeliest, list) or len(likeliest) < 2:
        return None
    values = [_logprob(one) for one in likeliest]
    shares = [math.exp(value) for value in values if value is not None]
    if len(shares) < len(values) or sum(shares) > 1 + _ROUNDING:
        return None
    rest = 1 - sum(shares)
    return -sum(share * math.log(share) for share in (*shares, rest) if share > 0)
