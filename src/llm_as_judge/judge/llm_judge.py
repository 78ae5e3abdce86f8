"""Stage 4 and 5: a language model compares what the rules could not, or nobody does.

The candidate is untrusted text and reaches the model only as a value inside one JSON object. Its
word counts if the reply has the asked form, quotes an answer that really stands in the candidate,
and the same model accepts again with candidate and reference swapped. A reply that cannot be read
is never a verdict: after the last try the answer is *not graded*.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from llm_as_judge.config import config_file
from llm_as_judge.errors import ConfigError, EndpointError, RefusedRequestError
from llm_as_judge.grading.extract import clean
from llm_as_judge.grading.fingerprint import NOT_JUDGING, code_fingerprint
from llm_as_judge.judge.opinion import SCHEMA, Opinion, Unreadable, read_opinion
from llm_as_judge.judge.parts import shown_references
from llm_as_judge.judge.records import JudgeRecords, verdict_key
from llm_as_judge.types import ChatModel, ChatReply, ChatRequest, Message, Problem, Verdict

Order = Literal["reference_first", "candidate_first"]

_LONGEST_CANDIDATE = 2000
_LONGEST_QUESTION = 4000
_MOST_REFERENCES = 8
ATTEMPTS = 3
"""Tries for a readable reply, each with another seed; the last one asks for plain lines, not for JSON."""


@dataclass(frozen=True, slots=True)
class JudgePrompts:
    """``rubric``: the system message. ``plain``: added where the endpoint knows no schema."""

    rubric: str
    plain: str

    @staticmethod
    def load() -> JudgePrompts:
        """
        Raises:
            ConfigError: a file is missing.
        """
        files = [config_file(f"prompts/judge/{name}.txt") for name in ("rubric", "plain")]
        try:
            return JudgePrompts(*(file.read_text("utf-8").strip() for file in files))
        except OSError as error:
            place = error.filename
            raise ConfigError(f"{place}: judge prompt missing ({error.strerror})") from None


def llm_fingerprint(identity: str, *, max_tokens: int) -> str:
    """Hash of code, prompts, schema, model and sampling.

    Args:
        identity: of the model: its name and, where known, the hash of its weights.
    """
    prompts = JudgePrompts.load()
    parts = [
        code_fingerprint([__name__], NOT_JUDGING),
        prompts.rubric,
        prompts.plain,
        json.dumps(SCHEMA, sort_keys=True),
        identity,
        str(max_tokens),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _squeezed(text: str) -> str:
    return re.sub(r"[\s\"'`*]+", "", text).casefold()


class LlmJudge:
    """Asks ``model`` about one candidate at a time.

    Args:
        model: any OpenAI-compatible chat model.
        max_tokens: of the first try; doubled for the next, since a reasoning model may need more.
        backoff_s: pause before the second try, doubled for the third.
        records: cache and call log; None = a cache in memory, no log.
        identity: what the model is known by in the fingerprint; None = its name.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        max_tokens: int = 1024,
        backoff_s: float = 0.5,
        records: JudgeRecords | None = None,
        identity: str | None = None,
    ) -> None:
        self._model = model
        self._identity = identity or model.name
        self._prompts = JudgePrompts.load()
        self._max_tokens = max_tokens
        self._backoff_s = backoff_s
        self.records = records or JudgeRecords()

    def log_calls(self, path: Path) -> None:
        """Writes every call from now on to ``path``."""
        self.records.log_path = path

    @cached_property
    def fingerprint(self) -> str:
        """See :func:`llm_fingerprint`."""
        return llm_fingerprint(self._identity, max_tokens=self._max_tokens)

    async def judge(
        self, problem: Problem, candidate: str, score: float | None, *, fresh: bool = False
    ) -> Verdict:
        """Verdict of the model; correct None if no reply could be read (abstained).

        Args:
            candidate: the declared answer, clean.
            score: the official metric so far, kept in the verdict.
            fresh: ask the model even if the verdict is known: to see whether it still is the same.
        """
        key = verdict_key(self.fingerprint, problem, candidate)
        known = None if fresh else self.records.cached(key)
        if known is not None:
            return known
        bill = _Bill()
        verdict = await self._both_orders(problem, candidate, score, bill)
        if verdict.correct is not None and not fresh:
            self.records.keep(key, verdict)
        return verdict

    async def _both_orders(
        self, problem: Problem, candidate: str, score: float | None, bill: _Bill
    ) -> Verdict:
        accepted: list[Opinion] = []
        for order in ("reference_first", "candidate_first"):
            opinion = await self._opinion(problem, candidate, order, bill)
            if isinstance(opinion, Unreadable):
                explanation = opinion.detail
                if opinion.kind != "endpoint":
                    explanation = f"no readable reply in {ATTEMPTS} tries: {explanation}"
                return self._verdict(None, f"llm.{opinion.kind}", explanation, score, bill)
            if opinion.word != "correct":
                rule = f"llm.{opinion.word}" if not accepted else "llm.order_flip"
                return self._verdict(False, rule, opinion.differences, score, bill)
            accepted.append(opinion)
        return self._verdict(True, "llm.correct", f"accepted {accepted[0].quote!r}", score, bill)

    def _verdict(
        self, correct: bool | None, rule: str, explanation: str, score: float | None, bill: _Bill
    ) -> Verdict:
        return Verdict(correct, "llm", rule, explanation[:400], score, bill.cost_usd)

    async def _opinion(
        self, problem: Problem, candidate: str, order: Order, bill: _Bill
    ) -> Opinion | Unreadable:
        found: Opinion | Unreadable = Unreadable("endpoint", "not asked")
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(self._backoff_s * 2 ** (attempt - 1))
            schema = attempt < ATTEMPTS - 1
            request = self._request(problem, candidate, order, attempt, schema=schema)
            try:
                reply = await self._model.chat(request)
            except EndpointError as error:
                found = Unreadable("endpoint", str(error)[:200])
                self.records.log(
                    self.fingerprint[:16], problem.id, order, attempt, None, found.kind
                )
                if isinstance(error, RefusedRequestError):
                    break
                continue
            bill.add(reply)
            found = read_opinion(reply.text, reply.finish_reason, schema=schema)
            if isinstance(found, Opinion) and not _quoted(found, candidate):
                found = Unreadable("quote", "the quoted answer is not in the candidate")
            kind = found.kind if isinstance(found, Unreadable) else found.word
            self.records.log(self.fingerprint[:16], problem.id, order, attempt, reply, kind)
            if isinstance(found, Opinion):
                return found
        return found

    def _request(
        self, problem: Problem, candidate: str, order: Order, attempt: int, *, schema: bool
    ) -> ChatRequest:
        asked = replace(problem, context="").statement()  # with its options
        fields: dict[str, Any] = {"question": clean(asked)[-_LONGEST_QUESTION:]}
        golds = [clean(gold) for gold in problem.answers]
        reference = shown_references(golds, problem, candidate, _MOST_REFERENCES)
        reference = reference or ["(unanswerable)"]
        shown = _capped(candidate)
        if order == "reference_first":
            fields |= {"reference": reference, "candidate": shown}
        else:
            fields |= {"candidate": shown, "reference": reference}
        system = (
            self._prompts.rubric if schema else f"{self._prompts.rubric}\n\n{self._prompts.plain}"
        )
        return ChatRequest(
            messages=(
                Message("system", system),
                Message("user", json.dumps(fields, ensure_ascii=False)),
            ),
            max_tokens=self._max_tokens * 2**attempt,
            temperature=0.0 if attempt == 0 else 0.3,
            seed=attempt,
            json_schema=SCHEMA if schema else None,
            draw=attempt,
        )


def _capped(candidate: str) -> str:
    """A long text by its beginning and its end, where answers stand."""
    if len(candidate) <= _LONGEST_CANDIDATE:
        return candidate
    half = _LONGEST_CANDIDATE // 2
    return f"{candidate[:half]} ... {candidate[-half:]}"


def _quoted(opinion: Opinion, candidate: str) -> bool:
    """An acceptance must rest on text that is in the candidate; a rejection needs no quote."""
    if opinion.word != "correct":
        return True
    quote = _squeezed(opinion.quote)
    return bool(quote) and quote in _squeezed(candidate)


class _Bill:
    """Dollars of the calls for one verdict; unknown as soon as one is."""

    def __init__(self) -> None:
        self.cost_usd: float | None = 0.0

    def add(self, reply: ChatReply) -> None:
        if reply.cost_usd is None or self.cost_usd is None:
            self.cost_usd = None
        else:
            self.cost_usd += reply.cost_usd
