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
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.judge.opinion import SCHEMA, Opinion, Unreadable, read_opinion
from llm_as_judge.judge.records import JudgeRecords
from llm_as_judge.types import ChatModel, ChatReply, ChatRequest, Message, Problem, Verdict

Order = Literal["reference_first", "candidate_first"]

_LONGEST_CANDIDATE = 2000
_LONGEST_QUESTION = 4000
_MOST_REFERENCES = 8
ATTEMPTS = 3
"""Tries for a readable reply."""


@dataclass(frozen=True, slots=True)
class JudgePrompts:
    """``rubric``: the system message. ``plain``: added where the endpoint knows no schema."""

    rubric: str
    plain: str

    @staticmethod
    def load(folder: Path | None = None) -> JudgePrompts:
        """The shipped prompts, or those of another folder.

        Raises:
            ConfigError: a file is missing.
        """
        names = ("rubric.txt", "plain.txt")
        files = [folder / n if folder else config_file(f"prompts/judge/{n}") for n in names]
        try:
            texts = [file.read_text("utf-8") for file in files]
        except OSError as error:
            place = error.filename
            raise ConfigError(f"{place}: judge prompt missing ({error.strerror})") from None
        return JudgePrompts(*(text.strip() for text in texts))


def llm_fingerprint(
    identity: str,
    *,
    max_tokens: int,
    prompts: JudgePrompts | None = None,
    attempts: int = ATTEMPTS,
    use_schema: bool = True,
) -> str:
    """Hash of code, prompts, schema, model and sampling.

    Args:
        identity: of the model: its name and, where known, the hash of its weights.
    """
    prompts = prompts or JudgePrompts.load()
    parts = [
        code_fingerprint([__name__], NOT_JUDGING),
        prompts.rubric,
        prompts.plain,
        json.dumps(SCHEMA, sort_keys=True),
        identity,
        f"{max_tokens};{attempts};{use_schema};temperature=0",
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _squeezed(text: str) -> str:
    return re.sub(r"[\s\"'`*]+", "", text).casefold()


class LlmJudge:
    """Asks ``model`` about one candidate at a time.

    Args:
        model: any OpenAI-compatible chat model.
        prompts: None = the shipped ones.
        max_tokens: of the first try; doubled for the next, since a reasoning model may need more.
        attempts: tries for a readable reply, each with another seed.
        backoff_s: pause before the second try, doubled for the third.
        use_schema: ask for JSON by schema; the last try is plain text in any case.
        records: cache and call log; None = a cache in memory, no log.
        identity: what the model is known by in the fingerprint; None = its name.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        prompts: JudgePrompts | None = None,
        max_tokens: int = 1024,
        attempts: int = ATTEMPTS,
        backoff_s: float = 0.5,
        use_schema: bool = True,
        records: JudgeRecords | None = None,
        identity: str | None = None,
    ) -> None:
        self._model = model
        self._identity = identity or model.name
        self._prompts = prompts or JudgePrompts.load()
        self._max_tokens = max_tokens
        self._attempts = attempts
        self._backoff_s = backoff_s
        self._use_schema = use_schema
        self.records = records or JudgeRecords()

    def log_calls(self, path: Path) -> None:
        """Writes every call from now on to ``path``."""
        self.records.log_path = path

    @cached_property
    def fingerprint(self) -> str:
        """See :func:`llm_fingerprint`."""
        return llm_fingerprint(
            self._identity,
            max_tokens=self._max_tokens,
            prompts=self._prompts,
            attempts=self._attempts,
            use_schema=self._use_schema,
        )

    async def judge(
        self, problem: Problem, candidate: str, score: float | None, *, fresh: bool = False
    ) -> Verdict:
        """Verdict of the model; correct None if no reply could be read (abstained).

        Args:
            candidate: the declared answer, clean.
            score: the official metric so far, kept in the verdict.
            fresh: ask the model even if the verdict is known: to see whether it still is the same.
        """
        key = self._key(problem, candidate)
        known = None if fresh else self.records.cached(key)
        if known is not None:
            return known
        bill = _Bill()
        verdict = await self._both_orders(problem, candidate, score, bill)
        if verdict.correct is not None and not fresh:
            self.records.keep(key, verdict)
        return verdict

    def _key(self, problem: Problem, candidate: str) -> str:
        parts = [self.fingerprint, problem.question, *problem.answers, "\0candidate", candidate]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    async def _both_orders(
        self, problem: Problem, candidate: str, score: float | None, bill: _Bill
    ) -> Verdict:
        accepted: list[Opinion] = []
        for order in ("reference_first", "candidate_first"):
            opinion = await self._opinion(problem, candidate, order, bill)
            if isinstance(opinion, Unreadable):
                explanation = opinion.detail
                if opinion.kind != "endpoint":
                    explanation = f"no readable reply in {self._attempts} tries: {explanation}"
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
        for attempt in range(self._attempts):
            if attempt:
                await asyncio.sleep(self._backoff_s * 2 ** (attempt - 1))
            plain = not self._use_schema or (attempt and attempt == self._attempts - 1)
            request = self._request(problem, candidate, order, attempt, schema=not plain)
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
            found = read_opinion(reply.text, reply.finish_reason, schema=not plain)
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
        reference = _references(problem, candidate) or ["(unanswerable)"]
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


def _references(problem: Problem, candidate: str) -> list[str]:
    """The accepted answers, each once and without the text that only lists others of them.

    Collections of open questions have dozens of spellings of one name, and on a small machine
    reading them is most of the work: of many, those with most words of the candidate are shown.
    """
    golds = [clean(gold) for gold in problem.answers]
    if problem.domain == "qa":
        known = set(golds)
        golds = [g for g in golds if "/" not in g or {p.strip() for p in g.split("/")} - known]
        golds = list({normalize_answer(gold): gold for gold in golds[::-1]}.values())[::-1]
    if len(golds) > _MOST_REFERENCES:
        said = set(normalize_answer(candidate).split())
        golds.sort(key=lambda gold: -len(said & set(normalize_answer(gold).split())))
    return golds[:_MOST_REFERENCES]


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
