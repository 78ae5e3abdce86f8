"""The official metric of each data set, beside the judge's verdict.

| set | metric | source |
|---|---|---|
| GSM8K, MATH | accuracy | final answers equal, as the judge's rules compare them |
| SQuAD 2.0 | EM and F1, of all, HasAns and NoAns | evaluate-v2.0.py, arXiv:1806.03822 |
| HotpotQA | EM and F1 of the answer; with predicted facts also sp and joint | hotpot_evaluate_v1.py |
| HumanEval, MBPP | pass@k, unbiased | arXiv:2107.03374 |
| CommonsenseQA, MMLU | accuracy of the chosen letter | |

An executor says in words that there is no answer: such a sentence is the empty prediction of
SQuAD 2.0. A program that gave no answer at all is not: it scores 0, else a crash would count as
right on every unanswerable question.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from llm_as_judge.judge.abstention import is_abstention
from llm_as_judge.judge.extract import clean, declared_answer
from llm_as_judge.judge.squad import (
    exact_match,
    hotpot_f1,
    hotpot_joint,
    hotpot_supporting_facts,
    squad_f1,
)
from llm_as_judge.types import Problem, Rollout

SPAN_SETS = frozenset({"squad2", "squad_v2", "hotpotqa"})
"""Sets whose official metric compares texts."""

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
    if problem.dataset != "hotpotqa":
        return {**scores, "f1": max(squad_f1(predicted, gold) for gold in golds)}
    scores["f1"] = max(hotpot_f1(predicted, gold)[0] for gold in golds)
    if facts is not None and "supporting_facts" in problem.meta:
        wanted = [(title, number) for title, number in json.loads(problem.meta["supporting_facts"])]
        scores["sp_em"], scores["sp_f1"], _, _ = hotpot_supporting_facts(facts, wanted)
        scores["joint_em"], scores["joint_f1"] = hotpot_joint(predicted, facts, golds[0], wanted)
    return scores


def official_scores(problem: Problem, rollout: Rollout) -> Mapping[str, float]:
    """The scores of one graded rollout that its set's metric averages; empty for other sets."""
    if problem.dataset not in SPAN_SETS:
        return {}
    if rollout.execution is None or rollout.execution.status != "ok":
        return {"em": 0.0, "f1": 0.0}
    return span_scores(problem, prediction(problem, rollout.execution.answer))
