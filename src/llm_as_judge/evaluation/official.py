"""The official metric of each data set, beside the judge's verdict.

| set | metric | source |
|---|---|---|
| GSM8K, MATH | accuracy | final answers equal, as the judge's rules compare them |
| SQuAD 2.0 | EM and F1, of all, HasAns and NoAns | evaluate-v2.0.py, arXiv:1806.03822 |
| HotpotQA | EM and F1 of the answer | hotpot_evaluate_v1.py |
| HumanEval, MBPP | pass@k, unbiased | arXiv:2107.03374 |
| CommonsenseQA, MMLU | accuracy of the chosen letter | |

A program that gave no answer at all scores 0: it is not the empty prediction, else a crash would
count as right on every unanswerable question of SQuAD 2.0. An answer that the judge leaves open has
its scores like any other: they compare texts.
"""

from __future__ import annotations

from collections.abc import Mapping

from llm_as_judge.grading.spans import prediction, span_scores
from llm_as_judge.types import Problem, Rollout


def official_scores(problem: Problem, rollout: Rollout) -> Mapping[str, float]:
    """The scores of one rollout that its set's metric averages; empty for other sets, and for a
    rollout that failed before it was judged."""
    if not problem.dataset_info.has_text_scores or rollout.verdict is None:
        return {}
    if rollout.execution is None or rollout.execution.status != "ok":
        return {"em": 0.0, "f1": 0.0}
    return span_scores(problem, prediction(problem, rollout.execution.answer))
