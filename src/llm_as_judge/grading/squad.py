"""The official QA metrics, written out because no offline package carries them.

Sources: SQuAD 2.0 evaluate-v2.0.py (Rajpurkar et al., arXiv:1806.03822) and HotpotQA
hotpot_evaluate_v1.py (Yang et al., arXiv:1809.09600). The two differ in two places: HotpotQA gives
no partial credit where either side is yes, no or noanswer, and none for two empty answers.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.grading.extract import clean, declared_answer
from llm_as_judge.thoughts import without_thoughts
from llm_as_judge.types import Problem

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = frozenset({"yes", "no", "noanswer"})


def normalize_answer(text: str) -> str:
    """Lower case, without ASCII punctuation and articles, single spaces."""
    text = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(prediction: str, gold: str) -> float:
    """1.0 if both are the same after :func:`normalize_answer`."""
    return float(normalize_answer(prediction) == normalize_answer(gold))


def _overlap(prediction: list[str], gold: list[str]) -> tuple[float, float, float]:
    common = sum((Counter(prediction) & Counter(gold)).values())
    if common == 0:
        return 0.0, 0.0, 0.0
    precision, recall = common / len(prediction), common / len(gold)
    return 2 * precision * recall / (precision + recall), precision, recall


def squad_f1(prediction: str, gold: str) -> float:
    """Token F1 in 0..1; an empty gold (unanswerable) is met by an empty prediction alone."""
    predicted = normalize_answer(prediction).split() if prediction else []
    wanted = normalize_answer(gold).split() if gold else []
    if not predicted or not wanted:
        return float(predicted == wanted)
    return _overlap(predicted, wanted)[0]


def hotpot_f1(prediction: str, gold: str) -> tuple[float, float, float]:
    """(F1, precision, recall) of the answer, each in 0..1."""
    predicted, wanted = normalize_answer(prediction), normalize_answer(gold)
    if predicted != wanted and (predicted in _CLOSED or wanted in _CLOSED):
        return 0.0, 0.0, 0.0
    return _overlap(predicted.split(), wanted.split())


Fact = tuple[str, int]


def hotpot_supporting_facts(
    prediction: Iterable[Fact], gold: Iterable[Fact]
) -> tuple[float, float, float, float]:
    """(EM, F1, precision, recall) of the supporting facts, pairs of title and sentence number."""
    predicted, wanted = set(prediction), set(gold)
    hits = len(predicted & wanted)
    precision = hits / len(predicted) if predicted else 0.0
    recall = hits / len(wanted) if wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return float(predicted == wanted), f1, precision, recall


def hotpot_joint(
    prediction: str, facts: Iterable[Fact], gold: str, gold_facts: Iterable[Fact]
) -> tuple[float, float]:
    """(joint EM, joint F1): precision and recall of answer and facts multiplied."""
    _, answer_precision, answer_recall = hotpot_f1(prediction, gold)
    fact_em, _, fact_precision, fact_recall = hotpot_supporting_facts(facts, gold_facts)
    precision, recall = answer_precision * fact_precision, answer_recall * fact_recall
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return exact_match(prediction, gold) * fact_em, f1


Facts = Sequence[tuple[str, int]]


def prediction(problem: Problem, answer: str) -> str:
    """The answer that ``answer`` declares; empty for a sentence that says there is none."""
    text = declared_answer(clean(without_thoughts(answer)), one_sentence=False).text.strip()
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
