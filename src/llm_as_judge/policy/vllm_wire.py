"""Requests to ``vllm serve``, and the checks on what comes back.

Names of fields and their meaning are those of vLLM 0.32 (``entrypoints/openai/completion/protocol.py``).
Everything that shapes a distribution is said in each request: what is left out, vLLM takes from the
model's generation_config.json, and a repetition penalty there would part it from the learner's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_as_judge.llm.refusals import ReplyError
from llm_as_judge.policy.chat_template import FENCE
from llm_as_judge.quoting import quoted
from llm_as_judge.types import StopReason

_LEAST_LOGPROB = -1e6
"""Below it, and NaN, is no log-prob of a token that was drawn."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One completion to be written."""

    place: tuple[int, int]
    """Position of its prompt, position among the prompt's samples."""
    prompt_ids: tuple[int, ...]
    temperature: float
    max_new_tokens: int
    seed: int
    stop_ids: tuple[int, ...]
    vocabulary: int
    """Ids are below this."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Sampled ids with their log-probs (nats)."""

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop: StopReason


def draw_seed(seed: int, prompt: int, sample: int) -> int:
    """A seed of its own for each draw: it does not depend on when it is made."""
    digest = hashlib.sha256(f"{seed}/{prompt}/{sample}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # vLLM takes signed 64 bits


def completion_body(model: str, draw: Draw) -> dict[str, Any]:
    """The JSON of one draw."""
    return {
        "model": model,
        "prompt": list(draw.prompt_ids),
        "max_tokens": draw.max_new_tokens,
        "temperature": draw.temperature,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "seed": draw.seed,
        "stop": [FENCE],
        "include_stop_str_in_output": True,
        "stop_token_ids": list(draw.stop_ids),
        "logprobs": 0,
        "return_token_ids": True,
        "n": 1,
    }


def read_drawn(content: bytes, model: str, draw: Draw) -> Drawn:
    """The completion in a response of status 200.

    Raises:
        ReplyError: it is not one completion of this prompt by this model, with an id and a log-prob
            for every token.
    """
    choice = _choice(content, model)
    if choice.get("prompt_token_ids") != list(draw.prompt_ids):
        raise _bad("prompt_token_ids are not the ids that were sent")
    ids, logprobs = _tokens(choice, draw.vocabulary)
    if len(ids) > draw.max_new_tokens:
        raise _bad(f"{len(ids)} tokens, wanted at most {draw.max_new_tokens}")
    finish = choice.get("finish_reason")
    if finish == "stop":
        return Drawn(ids, logprobs, "stop")
    if finish != "length":
        raise _bad(f"finish_reason is {quoted(str(finish))!r}, wanted 'stop' or 'length'")
    if len(ids) < draw.max_new_tokens:
        raise ReplyError(
            "cut_off",
            f"cut off after {len(ids)} of {draw.max_new_tokens} tokens: its --max-model-len is "
            f"smaller than the prompt ({len(draw.prompt_ids)} tokens) and the program together",
            retry=False,
        )
    return Drawn(ids, logprobs, "length")


def probe_body(temperature: float) -> dict[str, Any]:
    """A request whose one token is forced: its log-prob is 0 in the distribution it is drawn from,
    and less in the model's own."""
    return {
        "prompt": [1, 2],
        "max_tokens": 1,
        "temperature": temperature,
        "allowed_token_ids": [3],
        "logprobs": 0,
        "return_token_ids": True,
    }


def drawn_logprobs(content: bytes) -> bool:
    """Whether the response to :func:`probe_body` has log-probs of the distribution drawn from.

    Raises:
        ReplyError: it is no such response.
    """
    ids, logprobs = _tokens(_choice(content, None), 4)
    if ids != (3,):
        raise _bad(f"asked for token 3, found {list(ids)}")
    return abs(logprobs[0]) < 1e-6


def _choice(content: bytes, model: str | None) -> Mapping[str, Any]:
    try:
        data = json.loads(content)
        (choice,) = data["choices"]
        answered = data.get("model")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise _bad("no JSON with exactly one choice") from None
    if not isinstance(choice, dict):
        raise _bad("no JSON with exactly one choice")
    if model is not None and answered != model:
        raise _bad(f"written by {quoted(str(answered))!r}, wanted {model!r}")
    return choice


def _tokens(
    choice: Mapping[str, Any], vocabulary: int
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    ids = choice.get("token_ids")
    if not isinstance(ids, list) or not ids:
        raise _bad("no token_ids; wanted vLLM with return_token_ids")
    if not all(type(i) is int and 0 <= i < vocabulary for i in ids):
        raise _bad(f"token_ids outside of the vocabulary of {vocabulary}")
    found = choice.get("logprobs")
    logprobs = found.get("token_logprobs") if isinstance(found, dict) else None
    if not isinstance(logprobs, list) or len(logprobs) != len(ids):
        raise _bad("not one log-prob for each token")
    if not all(type(p) in (int, float) and _LEAST_LOGPROB < p <= 1e-3 for p in logprobs):
        raise _bad("log-probs that are no log-probs")
    return tuple(ids), tuple(min(float(p), 0.0) for p in logprobs)


def _bad(message: str) -> ReplyError:
    return ReplyError("bad_shape", message)
