"""What a scoring judge reads: a short prompt whose next token says whether two answers agree.

All of a question's prompts begin alike, so that a batch computes the common part once:

    root        the task, the same for every prompt
    prefix      the question and what is judged first: the reference, or the candidate
    rest        the other of the two, and where the label goes

Question, reference and candidate are untrusted: each is one JSON string, so that none can write a
line of the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from llm_as_judge.grading.extract import clean
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.types import Problem

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
    shown = ", ".join(_quoted(one, _LONGEST_REFERENCE) for one in _references(problem, candidate))
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


def _references(problem: Problem, candidate: str) -> Sequence[str]:
    """Each accepted answer once; of many, those with most words of the candidate."""
    golds = [gold for gold in problem.answers if gold.strip()]
    if problem.domain == "qa":
        known = {gold.strip() for gold in golds}
        golds = [g for g in golds if "/" not in g or {p.strip() for p in g.split("/")} - known]
        golds = list({normalize_answer(gold): gold for gold in golds[::-1]}.values())[::-1]
    if len(golds) > _MOST_REFERENCES:
        said = set(normalize_answer(candidate).split())
        golds.sort(key=lambda gold: -len(said & set(normalize_answer(gold).split())))
    return golds[:_MOST_REFERENCES]
