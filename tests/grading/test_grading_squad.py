"""The official metrics: worked examples, and equality with the published ones."""

import gzip
import json
import string
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import official_squad as official
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.grading import squad
from llm_as_judge.grading.squad import span_scores
from llm_as_judge.types import Problem

SHARED = Path(__file__).parents[3] / "shared" / "data"


def test_f1_of_half_an_answer() -> None:
    # two of three words found, two of two wanted: P = 2/3, R = 1
    assert squad.squad_f1("in September 1971", "September 1971") == pytest.approx(0.8)


def test_articles_and_punctuation_do_not_count() -> None:
    assert squad.exact_match("The  U.S.A.!", "usa") == 1.0


def test_unanswerable_is_met_by_silence_alone() -> None:
    assert squad.squad_f1("", "") == 1.0
    assert squad.squad_f1("Paris", "") == 0.0
    assert squad.squad_f1("", "Paris") == 0.0


def test_hotpot_gives_no_partial_credit_on_yes_and_no() -> None:
    assert squad.hotpot_f1("yes it is", "yes") == (0.0, 0.0, 0.0)
    assert squad.hotpot_f1("no", "no") == (1.0, 1.0, 1.0)


def test_supporting_facts_and_joint() -> None:
    gold = [("A", 0), ("B", 2)]
    em, f1, precision, recall = squad.hotpot_supporting_facts([("A", 0), ("C", 1)], gold)
    assert (em, f1, precision, recall) == (0.0, 0.5, 0.5, 0.5)
    assert squad.hotpot_supporting_facts([], gold) == (0.0, 0.0, 0.0, 0.0)
    # answer P = 1/2, R = 1; facts P = R = 1: joint P = 1/2, R = 1, F1 = 2/3
    assert squad.hotpot_joint("Paris city", gold, "Paris", gold) == pytest.approx((0.0, 2 / 3))
    assert squad.hotpot_joint("Paris", gold, "Paris", gold) == (1.0, 1.0)


WORDS = st.lists(
    st.sampled_from(["a", "the", "Paris", "in", "1971.", "U.S.", "—", "é"]), max_size=6
)


@settings(max_examples=100)
@given(st.one_of(st.text(max_size=30), WORDS.map(" ".join)), WORDS.map(" ".join))
def test_f1_is_symmetric_and_bounded(prediction: str, gold: str) -> None:
    one, other = squad.squad_f1(prediction, gold), squad.squad_f1(gold, prediction)
    assert one == pytest.approx(other)
    assert 0.0 <= one <= 1.0


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(st.text(max_size=30), WORDS.map(" ".join)),
    st.one_of(st.text(string.printable, max_size=30), WORDS.map(" ".join)),
)
def test_metrics_equal_the_published_ones(prediction: str, gold: str) -> None:
    assert squad.exact_match(prediction, gold) == float(official.compute_exact(gold, prediction))
    assert squad.squad_f1(prediction, gold) == pytest.approx(
        float(official.compute_f1(gold, prediction))
    )


def perturbed(gold: str) -> list[str]:
    words = gold.split()
    return [
        "",
        gold,
        gold.upper() + ".",
        " ".join(words[1:]),
        " ".join(words[::-1]),
        f"the {gold} x",
    ]


# ------------------------------------------------------------- HotpotQA, by its published definition
Facts = list[tuple[str, int]]


def shares(predicted: list[Any], wanted: list[Any]) -> tuple[Fraction, Fraction]:
    """(precision, recall) of what is found, each wanted item at most once."""
    left, found = list(wanted), 0
    for item in predicted:
        if item in left:
            left.remove(item)
            found += 1
    return tuple(Fraction(found, len(items) or 1) for items in (predicted, wanted))  # type: ignore[return-value]


def harmonic(precision: Fraction, recall: Fraction) -> float:
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def published_hotpot(answer: str, facts: Facts, gold: str, gold_facts: Facts) -> dict[str, float]:
    """arXiv:1809.09600, section 5.2: exact match and F1 of answer, supporting facts and both, where
    precision and recall of both are products; a closed answer (yes, no) is all or nothing."""
    said, wanted = official.normalize_answer(answer), official.normalize_answer(gold)
    closed = said != wanted and {said, wanted} & {"yes", "no", "noanswer"}
    of_answer = (Fraction(0), Fraction(0)) if closed else shares(said.split(), wanted.split())
    of_facts = shares(sorted(set(facts)), sorted(set(gold_facts)))
    em, sp_em = float(said == wanted), float(set(facts) == set(gold_facts))
    return {
        "em": em,
        "f1": harmonic(*of_answer),
        "sp_em": sp_em,
        "sp_f1": harmonic(*of_facts),
        "joint_em": em * sp_em,
        "joint_f1": harmonic(of_answer[0] * of_facts[0], of_answer[1] * of_facts[1]),
    }


def agrees(answer: str, facts: Facts, gold: str, gold_facts: Facts) -> bool:
    """Are ours the published scores?"""
    meta = {"supporting_facts": json.dumps(gold_facts)}
    problem = Problem("h/t/1", "hotpotqa", "qa", "?", (gold,), meta=meta)
    found = span_scores(problem, answer, facts)
    wanted = published_hotpot(answer, facts, gold, gold_facts)
    return found.keys() == wanted.keys() and all(
        abs(found[name] - wanted[name]) < 1e-12 for name in wanted
    )


FACTS = st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 2)), max_size=5)
CLOSED = st.sampled_from(["yes", "no", "noanswer", "Yes.", "yes it is", "the"])


@settings(max_examples=200, deadline=None)
@given(st.one_of(CLOSED, WORDS.map(" ".join)), FACTS, st.one_of(CLOSED, WORDS.map(" ".join)), FACTS)
def test_hotpotqa_scores_equal_the_published_ones(
    answer: str, facts: Facts, gold: str, gold_facts: Facts
) -> None:
    assert agrees(answer, facts, gold, gold_facts)


def perturbed_facts(facts: Facts) -> list[Facts]:
    shifted = [(title, number + 1) for title, number in facts]
    added = [*facts, ("Elsewhere", 0)]
    return [facts, facts[:1], added, shifted, facts + facts, []] if facts else [[]]


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.skipif(not SHARED.exists(), reason="the upstream files are not here")
def test_hotpotqa_scores_equal_the_published_ones_on_every_upstream_row() -> None:
    seen = 0
    for path in sorted((SHARED / "hotpotqa").glob("*.json")):
        for row in json.loads(path.read_text("utf-8")):
            facts = [(title, number) for title, number in row.get("supporting_facts", [])]
            for answer in [*perturbed(row["answer"]), "yes", "no", "noanswer"]:
                for said in perturbed_facts(facts):
                    assert agrees(answer, said, row["answer"], facts), (row, answer, said)
                    seen += 1
    assert seen > 100_000


def answers_in(document: Any) -> Iterator[str]:
    """Every gold answer of a SQuAD file; empty for a question without one."""
    for article in document["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                yield from {answer["text"] for answer in question["answers"]} or {""}


@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.skipif(not SHARED.exists(), reason="the upstream files are not here")
def test_metrics_equal_the_published_ones_on_every_upstream_row() -> None:
    golds: set[str] = set()
    for name in ("train-v2.0", "dev-v2.0"):
        text = (SHARED / "squad_v2" / f"{name}.json").read_text(encoding="utf-8")
        golds |= set(answers_in(json.loads(text)))
    for name in ("train-v1.1", "dev-v1.1"):
        with gzip.open(SHARED / "squad_v1.1" / f"{name}.json.gz", "rt", encoding="utf-8") as file:
            golds |= set(answers_in(json.load(file)))
    for path in (SHARED / "hotpotqa").glob("*.json"):
        golds |= {row["answer"] for row in json.loads(path.read_text("utf-8"))}
    assert len(golds) > 25_000
    for gold in golds:
        for prediction in perturbed(gold):
            assert squad.exact_match(prediction, gold) == official.compute_exact(gold, prediction)
            assert squad.squad_f1(prediction, gold) == official.compute_f1(gold, prediction)
