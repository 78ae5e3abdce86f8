"""The official scores of one answer to SQuAD 2.0 and HotpotQA, beside the judge's verdict.

An executor says in words that there is no answer: such a sentence is the empty prediction of
SQuAD 2.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.grading.extract import clean, declared_answer
from llm_as_judge.grading.squad import (
    exact_match,
    hotpot_f1,
    hotpot_joint,
    hotpot_supporting_facts,
    squad_f1,
)
from llm_as_judge.types import Problem

Facts = Sequence[tuple[str, int]]


def prediction(problem: Problem, answer: str) -> str:
    """The answer that ``answer`` declares; empty for a sentence that says there is none."""
    text = declared_answer(clean(answer), one_sentence=False).text.strip()
    return "" if is_abstention(text, problem.question) else text


def span_scores(
    problem: Problem, predicted: str, facts: Facts | None = None
) -> Mapping[str, float]:
    """``em`` and ``f1`` in 0..1, the best over all gold answers.

    Args:
        predicted: of :func:`prediction`.
        facts: HotpotQA, the predicted supporting facts (title, sentence); a workflow answers with
            a text alone, so this is for systems that give them. Adds ``sp_em``, ``sp_f1``,
            ``joint_em``, ``joint_f1``.
    """
    golds = problem.answers or ("",)
    scores = {"em": max(exact_match(predicted, gold) for gold in golds)}
    if problem.dataset_info.metric != "hotpot":
        return {**scores, "f1": max(squad_f1(predicted, gold) for gold in golds)}
    scores["f1"] = max(hotpot_f1(predicted, gold)[0] for gold in golds)
    if facts is not None and "supporting_facts" in problem.meta:
        wanted = [(title, number) for title, number in json.loads(problem.meta["supporting_facts"])]
        scores["sp_em"], scores["sp_f1"], _, _ = hotpot_supporting_facts(facts, wanted)
        scores["joint_em"], scores["joint_f1"] = hotpot_joint(predicted, facts, golds[0], wanted)
    return scores
