"""The official metrics: worked examples, and equality with the published ones."""

import json
import string
from pathlib import Path

import official_squad as official
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.judge import squad

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
    assert squad.hotpot_joint("Paris city", gold, "Paris", gold) == (0.0, pytest.approx(2 / 3))
    assert squad.hotpot_joint("Paris", gold, "Paris", gold) == (1.0, 1.0)


WORDS = st.lists(
    st.sampled_from(["a", "the", "Paris", "in", "1971.", "U.S.", "—", "é"]), max_size=6
)


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=30), WORDS.map(" ".join)), WORDS.map(" ".join))
def test_f1_is_symmetric_and_bounded(prediction: str, gold: str) -> None:
    one, other = squad.squad_f1(prediction, gold), squad.squad_f1(gold, prediction)
    assert one == pytest.approx(other)
    assert 0.0 <= one <= 1.0


@settings(max_examples=500, deadline=None)
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


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the upstream files are not here")
def test_metrics_equal_the_published_ones_on_every_upstream_row() -> None:
    golds = set()
    for name in ("train-v2.0", "dev-v2.0"):
        document = json.loads((SHARED / "squad_v2" / f"{name}.json").read_text(encoding="utf-8"))
        for article in document["data"]:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    golds |= {answer["text"] for answer in question["answers"]} or {""}
    rows = json.loads((SHARED / "hotpotqa" / "hotpot_dev_v1_simplified.json").read_text("utf-8"))
    golds |= {row["answer"] for row in rows}
    assert len(golds) > 10_000
    for gold in golds:
        for prediction in perturbed(gold):
            assert squad.exact_match(prediction, gold) == official.compute_exact(gold, prediction)
            assert squad.squad_f1(prediction, gold) == official.compute_f1(gold, prediction)
