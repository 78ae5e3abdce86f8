"""Kinds of replies: those that hold the gold, and those that one word decides, which no judge may accept."""

import pytest

from llm_as_judge.judge.calibration import Thresholds, thresholds_of
from llm_as_judge.judge.parts import HOLDING, IN_LIST, OTHER_NUMBER, SHIFTED, WORD_OFF, part_of
from llm_as_judge.types import Problem

OIL = Problem("q/1", "open", "qa", "What did the lamp burn?", ("whale oil",))
YEAR = Problem("q/2", "open", "qa", "When was the storm?", ("March 1923",))
CAPITAL = Problem("q/3", "open", "qa", "What is the capital?", ("Lisbon", "Lisboa"))


@pytest.mark.parametrize(
    ("problem", "candidate", "part"),
    [
        (OIL, "The lamp burned whale oil until 1911.", HOLDING),
        (OIL, "It burned the oil of whales.", ""),
        (OIL, "olive oil", WORD_OFF),
        (OIL, "The answer is whale bone.", WORD_OFF),
        (OIL, '{"answer": "whale bone", "note": "whale oil"}', WORD_OFF),
        (OIL, "electric light, olive oil, whale oil", IN_LIST),
        (OIL, "It is whale oil, or else it is olive oil.", IN_LIST),
        (YEAR, "March 1932", OTHER_NUMBER),
        (YEAR, "May 1923", WORD_OFF),
        (YEAR, "in 1923", ""),
        (CAPITAL, "Lisbon, Madrid, Porto", IN_LIST),
        (CAPITAL, "Lisbon or Madrid", IN_LIST),
        (CAPITAL, "Lisbon or Lisboa", HOLDING),
        (CAPITAL, "Lisbon, Portugal", HOLDING),
    ],
)
def test_replies_are_told_apart_by_what_could_make_them_wrong(
    problem: Problem, candidate: str, part: str
) -> None:
    assert part_of(problem, candidate) == "qa" + part


@pytest.mark.parametrize(
    ("candidate", "part"),
    [
        ("It is the Lake Ostra, I think.", "qa" + HOLDING),
        ("lake ostra", "qa" + HOLDING),
        ("Lake Ostrava", "qa" + WORD_OFF),
        ("No, another lake.", "qa"),
    ],
)
def test_the_gold_is_held_as_whole_words(candidate: str, part: str) -> None:
    assert (
        part_of(Problem("q/1", "open", "qa", "Which lake?", ("no", "Lake Ostra")), candidate)
        == part
    )


@pytest.mark.parametrize(
    ("gold", "candidate", "other"),
    [
        ("2,300 crowns", "230 crowns", True),
        ("2,300 crowns", "It was 23,000 crowns, they say.", True),
        ("July 1, 1890", "It was patented in 1891.", True),
        ("July 1, 1890", "In 1890.", False),
        ("7", "seven", False),
        ("7", "There are seven among 73.", False),
        ("whale oil", "oil of 1890", False),
        ("2,300 crowns", "a lot of crowns", False),
    ],
)
def test_a_reply_with_other_numbers_than_the_gold_is_a_part_of_its_own(
    gold: str, candidate: str, other: bool
) -> None:
    found = part_of(Problem("q/1", "open", "qa", "How much?", (gold,)), candidate)
    assert (found == "qa" + OTHER_NUMBER) is other


def test_parts_are_of_questions_alone() -> None:
    assert part_of(Problem("m/1", "math", "math", "How many?", ("7",)), "It is 7.") == "math"


def test_a_kind_without_rows_of_its_own_is_rejected_as_its_domain_but_not_accepted() -> None:
    of_domain = Thresholds(1.0, -1.0, 1.0, 0.0, 50)
    known = {"qa": of_domain}
    assert thresholds_of("qa" + HOLDING, known) == of_domain
    for kind in (OTHER_NUMBER, IN_LIST, WORD_OFF):
        limits = thresholds_of("qa" + kind, known)
        assert limits is not None
        assert limits.verdict(9.0) is None
        assert limits.verdict(-9.0) is False
    assert thresholds_of("math", known) is None


FILLERS = [
    "{} This has been documented in detail.",
    "This question is easily answered. {}",
    "{}\nThere is more to read.",
]


@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize(
    ("problem", "candidate", "part"),
    [
        (OIL, "Olive oil.", WORD_OFF),
        (OIL, "The substitute of whale oil.", SHIFTED),
        (CAPITAL, "Lisbon, Madrid, Porto.", IN_LIST),
        (CAPITAL, "Lisbon or Madrid.", IN_LIST),
        (CAPITAL, "The suburbs of Lisbon.", SHIFTED),
        (CAPITAL, "The capital is Lisbon.", HOLDING),
    ],
)
def test_sentences_that_say_nothing_change_no_kind(
    filler: str, problem: Problem, candidate: str, part: str
) -> None:
    assert part_of(problem, candidate) == "qa" + part
    assert part_of(problem, filler.format(candidate)) == "qa" + part
