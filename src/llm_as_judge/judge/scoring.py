"""The scoring judge: one forward pass of a model, no text written.

The mean of both orders' log-odds is held against the thresholds of the problem's domain (:mod:`calibration`). What the
rules left open in a domain without thresholds stays open, as if there were no judge. Answers that come at the same time
are scored together.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from llm_as_judge.grading.extract import clean
from llm_as_judge.grading.fingerprint import NOT_JUDGING, code_fingerprint
from llm_as_judge.judge.calibration import probability, thresholds_of
from llm_as_judge.judge.judge_file import JudgeFile, judge_sha256, read_judge_file
from llm_as_judge.judge.parts import NEVER_ACCEPTED, part_of, shown_references
from llm_as_judge.judge.records import JudgeRecords, verdict_key
from llm_as_judge.types import Problem, Verdict

Order = Literal["reference_first", "candidate_first"]
ORDERS: tuple[Order, ...] = ("reference_first", "candidate_first")
LABELS = ((" yes", " no"), ("Y", "N"))
"""Right and wrong; the first pair that a tokenizer writes as one token each."""
ROOT = "Does the candidate's answer to the question agree with a reference answer?\n"
_END = "Answer yes or no:"
_LONGEST_QUESTION, _LONGEST_REFERENCE, _LONGEST_CANDIDATE = 300, 120, 400
_MOST_REFERENCES = 4


@dataclass(frozen=True, slots=True)
class LabelPrompt:
    """One order of one pair of answers, without :data:`ROOT`."""

    prefix: str
    rest: str


def label_prompt(problem: Problem, candidate: str, order: Order) -> LabelPrompt:
    """The prompt about ``candidate``, whose parts may be cut: a long text shows both its ends."""
    question = f"Question: {_quoted(problem.question, _LONGEST_QUESTION)}\n"
    golds = [gold for gold in problem.answers if gold.strip()]
    references = shown_references(golds, problem, candidate, _MOST_REFERENCES)
    shown = ", ".join(_quoted(one, _LONGEST_REFERENCE) for one in references)
    reference = f"Reference: {shown or 'none, the question cannot be answered'}\n"
    answer = f"Candidate: {_quoted(candidate, _LONGEST_CANDIDATE)}\n"
    if order == "reference_first":
        return LabelPrompt(question + reference, answer + _END)
    return LabelPrompt(question + answer, reference + _END)


def _quoted(text: str, longest: int) -> str:
    text = clean(text)
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} ... {text[-half:]}"
    return json.dumps(text, ensure_ascii=False)


_HERE = ("judge.scoring", "policy.label_scores", "policy.label_scorer")
_BEHIND_AN_ENDPOINT = ("judge.scoring", "judge.endpoint_scorer")
_MOST_AT_ONCE = 32
# rules of its verdicts
RIGHT, WRONG = "score.right", "score.wrong"
UNSURE = "score.unsure"  # between the thresholds
UNREADABLE = "score.unreadable"  # no score
UNCALIBRATED, NEVER = "score.uncalibrated", "score.never_accepted"  # not scored


class Scorer(Protocol):
    """Log-odds of being right, nats, of (problem, candidate) pairs; None where there are none to be had."""

    async def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> Sequence[float | None]: ...


class Computing(Protocol):
    """The same, computed here."""

    def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float]: ...


class InThread:
    """Lets the others go on while ``scorer`` computes."""

    def __init__(self, scorer: Computing) -> None:
        self._scorer = scorer

    async def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> Sequence[float | None]:
        return await asyncio.to_thread(self._scorer.log_odds, pairs)


OpenScorer = Callable[[Path, JudgeFile], Computing]
"""Loads the judge of a folder over its base model."""


SHIPPED = Path("shipped")


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """``judge.options`` of ``judge.kind: scoring``."""

    adapter: Path = SHIPPED
    """Folder that ``llm-as-judge judge train`` made, or ``judge calibrate --model``; ``shipped``: the
    package's own judge."""


def scoring_fingerprint(folder: Path, base_identity: str, *, endpoint: bool = False) -> str:
    """Hash of code, adapter, thresholds and base weights, or of the endpoint's model.

    Raises:
        ModelError: the folder holds no judge.
    """
    sources = [f"llm_as_judge.{name}" for name in (_BEHIND_AN_ENDPOINT if endpoint else _HERE)]
    parts = [code_fingerprint(sources, NOT_JUDGING), judge_sha256(folder), base_identity]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _not_scored(part: str, score: float | None) -> Verdict:
    domain, _, kind = part.partition(", ")
    if part.endswith(NEVER_ACCEPTED):
        return Verdict(None, "score", NEVER, f"{kind}: the judge never accepts such a reply", score)
    return Verdict(None, "score", UNCALIBRATED, f"the judge has no thresholds for {domain}", score)


class ScoringJudge:
    """Judges what the rules leave open by the log-odds of ``scorer``.

    Args:
        folder: of the judge.
        fingerprint: see :func:`scoring_fingerprint`.
        records: verdicts already given.
    Raises:
        ModelError: the folder holds no judge.
    """

    def __init__(
        self, folder: Path, scorer: Scorer, fingerprint: str, records: JudgeRecords | None = None
    ) -> None:
        self._file = read_judge_file(folder)
        self._scorer = scorer
        self.fingerprint = fingerprint
        self._records = records or JudgeRecords()
        self._waiting: list[tuple[Problem, str, asyncio.Future[float | None]]] = []
        self._working: asyncio.Task[None] | None = None

    async def judge(
        self, problem: Problem, candidate: str, score: float | None, *, fresh: bool = False
    ) -> Verdict:
        """See :class:`llm_as_judge.judge.cascade.LastJudge`."""
        part = part_of(problem, candidate)
        thresholds = thresholds_of(part, self._file.thresholds)
        if thresholds is None or (thresholds.accept is None and thresholds.reject is None):
            return _not_scored(part, score)
        key = verdict_key(self.fingerprint, problem, candidate)
        known = None if fresh else self._records.cached(key)
        if known is not None:
            return known
        log_odds = await self._log_odds(problem, candidate)
        if log_odds is None:
            return Verdict(None, "llm", UNREADABLE, "no reply that says yes or no", score)
        correct = thresholds.verdict(log_odds)
        share = probability(log_odds, thresholds)
        rule = {True: RIGHT, False: WRONG, None: UNSURE}[correct]
        explanation = f"right with probability {share:.2f}"
        verdict = Verdict(correct, "llm", rule, explanation, score, confidence=share)
        if correct is not None and not fresh:
            self._records.keep(key, verdict)
        return verdict

    async def _log_odds(self, problem: Problem, candidate: str) -> float | None:
        answer: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((problem, candidate, answer))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        """Scores what waits, as much at once as has come meanwhile."""
        while self._waiting:
            batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            pairs = [(problem, candidate) for problem, candidate, _ in batch]
            try:
                found = await self._scorer.log_odds(pairs)
            except BaseException as error:
                for _, _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)
                if not isinstance(error, Exception):
                    raise
                continue
            for (_, _, answer), log_odds in zip(batch, found, strict=True):
                if not answer.done():  # its asker may have been cancelled
                    answer.set_result(log_odds)
