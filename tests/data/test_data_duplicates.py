import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.data.duplicates import SIMILARITY, Grouping, passages, question_text, words
from llm_as_judge.types import Problem

LONG = (
    "A baker bakes twelve trays of rolls with eighteen rolls on each tray and sells one hundred "
    "of them before noon while his sister sells forty more in the market hall in the afternoon"
)


def grouped(*rows: tuple[str, list[str]]) -> list[int]:
    grouping = Grouping()
    for question, shared in rows:
        grouping.add_texts(question, shared)
    return list(grouping.groups())


def test_same_passage_or_same_question_is_one_group() -> None:
    assert grouped(
        ("Who is the king?", ["passage one"]),
        ("Where is the river?", ["Passage  One"]),
        ("Where is the sea?", ["passage two"]),
        ("where is  the SEA?", ["passage three"]),
        ("Who runs?", []),
    ) == [0, 0, 2, 2, 4]
    assert grouped(("a b c", ["P q"]), ("d e f", ["p  Q"]), ("d e f", [])) == [0, 0, 0]


def test_one_changed_word_in_a_long_question_is_a_near_duplicate() -> None:
    changed = LONG.replace("twelve", "thirteen")
    other = " ".join(reversed(LONG.split()))
    assert grouped((LONG, []), (other, []), (changed, [])) == [0, 1, 0]


def test_short_questions_with_other_words_stay_apart() -> None:
    assert grouped(("What is 2+3?", []), ("What is 2+4?", []), ("Hi", []), ("Ho", [])) == [
        0,
        1,
        2,
        3,
    ]


def jaccard(left: str, right: str) -> float:
    def shingles(text: str) -> set[tuple[str, ...]]:
        found = words(text)
        return {tuple(found[i : i + 3]) for i in range(max(len(found) - 2, 1))}

    a, b = shingles(left), shingles(right)
    return len(a & b) / len(a | b)


def test_groups_agree_with_the_similarity_of_all_pairs() -> None:
    rng = random.Random(5)
    texts = []
    for _ in range(40):
        base = [f"w{rng.randrange(300)}" for _ in range(40)]
        texts.append(" ".join(base))
        for _ in range(3):
            edited = list(base)
            for _ in range(rng.randrange(1, 5)):
                edited[rng.randrange(40)] = f"x{rng.randrange(300)}"
            texts.append(" ".join(edited))
    groups = grouped(*((text, []) for text in texts))
    pairs = [(i, j) for i in range(len(texts)) for j in range(i)]
    close = [(i, j) for i, j in pairs if jaccard(texts[i], texts[j]) >= SIMILARITY]
    found = [(i, j) for i, j in close if groups[i] == groups[j]]
    assert len(close) > 30
    assert len(found) >= 0.98 * len(close)
    linked = {i for pair in close for i in pair}
    assert all(groups[i] == i for i in range(len(texts)) if i not in linked)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=12), st.lists(st.sampled_from("PQR"), max_size=2)), max_size=8
    )
)
def test_groups_of_any_texts(rows: list[tuple[str, list[str]]]) -> None:
    groups = grouped(*rows)
    assert len(groups) == len(rows)
    assert all(groups[group] == group <= row for row, group in enumerate(groups))


def test_hotpot_passages_are_the_supporting_ones() -> None:
    problem = Problem(
        id="h",
        dataset="hotpotqa",
        domain="qa",
        question="q",
        context="A: one.\n\nB: two.\n\nC: three.",
        meta={"supporting_facts": '[["A",0],["C",0]]'},
    )
    assert passages(problem) == ["A: one.", "C: three."]


@pytest.mark.parametrize(("context", "wanted"), [("text", ["text"]), ("", [])])
def test_passage_of_other_sets_is_the_context(context: str, wanted: list[str]) -> None:
    problem = Problem(id="s", dataset="squad2", domain="qa", question="q", context=context)
    assert passages(problem) == wanted


def test_signature_and_example_are_no_part_of_the_question() -> None:
    question = "Write it.\n\nSignature:\ndef f(a):\n\nIt must pass, for example:\nassert f(1)"
    problem = Problem(id="m", dataset="mbpp", domain="code", question=question)
    assert question_text(problem) == "Write it."
