"""Made examples: every family is made, says what its label says, and no wrong one is a gold."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lake_cases import many
from llm_as_judge.audit.attacks import Case
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.training.judge.changes import changed_golds, crossed_golds
from llm_as_judge.training.judge.examples import families, free_examples
from llm_as_judge.training.judge.notation import restated, restated_math
from llm_as_judge.training.judge.questions import Question, questions_of
from llm_as_judge.training.judge.roles import turned_round
from llm_as_judge.types import Problem


def made(seed: int = 0) -> list[Case]:
    rng = random.Random(seed)
    return free_examples(questions_of(many(), rng), rng)


def test_every_family_is_made() -> None:
    both = Problem("q/both", "open", "qa", "Which two towns?", ("Venn and Mora",))
    rng = random.Random(0)
    cases = [*many(), Case(both, "Venn and Mora, both", True, "t", "labeled")]
    found = {one.category for one in free_examples(questions_of(cases, rng), rng)}
    only_of_some = {"restated", "less exact", "other word"}  # another notation, dates, such a verb
    wanted = {
        "other gold", "near miss", "near miss in a reply", "verb denied", "joined", "part", "attack", "alias",
        *families().wrong, *families().right,
    }  # fmt: skip
    assert found - only_of_some == wanted


def test_templates_name_what_a_question_has() -> None:
    """A template that names anything else would end a training."""
    known = {"gold": "g", "number": "7", "name": "N", "other": "o", "third": "t", "said": "s"}
    for texts in [*families().wrong.values(), *families().right.values()]:
        assert len(set(texts)) == len(texts) >= 4
        for text in texts:
            assert text.format(**known) != text


@pytest.mark.parametrize(
    ("question", "gold", "right", "family", "made"),
    [
        ("Who directed it?", "Ada Venn", "Ada Venn directed it.", "other word", "Ada Venn {} it."),
        ("When was it?", "May 4, 1902", "It was on May 4, 1902.", "less exact", "It was on {}."),
    ],
)
def test_a_made_reply_differs_from_a_right_one_in_what_makes_it_wrong(
    question: str, gold: str, right: str, family: str, made: str
) -> None:
    asked = Question(Problem("q/1", "open", "qa", question, (gold,)), right=(right,))
    begin, _, end = made.partition("{}")
    found = [
        one.candidate
        for seed in range(10)
        for one in free_examples([asked], random.Random(seed))
        if one.category == family and one.candidate.startswith(begin)
    ]
    assert found
    assert right not in found
    assert all(text.endswith(end) for text in found)


@pytest.mark.parametrize(
    ("golds", "parts"),
    [
        (("Haiti and the Dominican Republic",), {"Haiti", "the Dominican Republic"}),
        (("red, green and blue",), {"red", "green", "blue"}),
        (("Haiti and Cuba", "Cuba"), set()),
        (("Haiti/Haiti and Cuba",), set()),
        (("Haiti",), set()),
    ],
)
def test_a_part_is_wrong_only_where_every_gold_names_several(
    golds: tuple[str, ...], parts: set[str]
) -> None:
    problem = Problem("q/1", "open", "qa", "Which?", golds)
    found = {
        one.candidate
        for seed in range(20)
        for one in free_examples([Question(problem)], random.Random(seed))
        if one.category == "part"
    }
    assert found == parts


def test_no_wrong_answer_is_a_gold_of_its_question() -> None:
    for one in made():
        golds = {normalize_answer(gold) for gold in one.problem.answers}
        assert one.correct or normalize_answer(one.candidate) not in golds


@pytest.mark.parametrize(
    ("domain", "gold", "changed"),
    [
        ("qa", "March 4, 1921", "October 4, 1921"),
        ("qa", "14 miles", "15 miles"),
        ("qa", "5 hours", "5 minutes"),
        ("qa", "Anna Quist", "James Quist"),
        ("qa", "the northern wall", "the southern wall"),
        ("qa", "Second Street", "First Street"),
        ("math", "12", "-12"),
        ("math", "-\\frac{1}{2}", "\\frac{1}{2}"),
        ("math", "2x + 3", "2x - 3"),
        ("qa", "3.14", "314"),
        ("qa", "-5%", "5%"),
        ("qa", "A+", "A-"),
        ("qa", "C++", "C"),
        ("qa", "90 km/h", "90 m/s"),
        ("qa", "25 m^2", "25 cm^2"),
        ("qa", "42", ">= 42"),
        ("math", "x=2, y=3", "x=3, y=2"),
        ("math", "(3,6)", "(6,3)"),
    ],
)
def test_a_changed_gold_differs_in_one_thing(domain: Any, gold: str, changed: str) -> None:
    problem = Problem("q", "open", domain, "?", (gold,))
    found = changed_golds(problem, gold)
    assert changed in found
    assert gold not in found


@pytest.mark.parametrize(
    ("gold", "other", "crossed"),
    [
        ("whale oil", "olive soap", ["whale soap", "olive oil"]),
        ("Ilse Hartog", "Mara Reuel", ["Ilse Reuel", "Mara Hartog"]),
        ("Ilse Hartog", "red lamps", []),  # written otherwise: nobody would confuse them
        ("oil", "olive soap", []),  # a word alone keeps nothing
        ("whale oil", "fish oil", ["fish oil"]),
        ("12 crowns", "14 crowns", []),
        ("whale oil/tallow", "olive soap", []),  # the other spelling would stay right
    ],
)
def test_a_near_miss_keeps_words_of_the_gold_and_has_one_of_another(
    gold: str, other: str, crossed: list[str]
) -> None:
    assert crossed_golds(gold, other) == crossed


def test_a_near_miss_is_never_another_accepted_spelling() -> None:
    fuel = Problem("q/1", "open", "qa", "What lit the lamps?", ("whale oil", "whale fat"))
    kitchen = Problem("q/2", "open", "qa", "What did they cook with?", ("goose fat",))
    cases = [Case(problem, "", False, "bare", "labeled") for problem in (fuel, kitchen)]
    first, second = questions_of(cases, random.Random(0))
    assert set(first.near) == {"goose oil"}
    assert set(second.near) == {"goose oil", "whale fat"}


def test_one_of_several_answers_in_a_text_is_not_changed() -> None:
    problem = Problem("q", "open", "qa", "?", ("27/twenty-seven",))
    assert changed_golds(problem, "27/twenty-seven") == []


def test_a_zero_has_no_other_sign() -> None:
    assert "-0" not in changed_golds(Problem("q", "open", "math", "?", ("0",)), "0")


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("4 May 1902", "May 4, 1902"),
        ("May 4, 1902", "1902-05-04"),
        ("seven", "7"),
        ("12", "twelve"),
        ("1,250,000", "1 250 000"),
        ("135 minutes", "2 hours 15 minutes"),
        ("$45", "45 dollars"),
        ("3:45 pm", "15:45"),
        ("5%", "5 percent"),
    ],
)
def test_a_gold_in_another_notation_has_the_same_value(gold: str, said: str) -> None:
    assert said in restated(gold)
    assert gold not in restated(gold)


@pytest.mark.parametrize("gold", ["Venn", "the 1890s", "99 May 1902", "1 minutes", "31:99 pm"])
def test_what_has_one_notation_is_not_restated(gold: str) -> None:
    assert restated(gold) == []


@pytest.mark.parametrize(
    ("domain", "restate", "golds"),
    [
        ("math", restated_math, ("12", "\\frac{3}{4}", "2x + 3")),
        ("qa", restated, ("4 May 1902", "seven", "1,250,000", "135 minutes", "$45", "3:45 pm", "5%")),
    ],
)  # fmt: skip
async def test_a_restated_gold_is_never_rejected_by_the_rules(
    rules: Judge, domain: Any, restate: Callable[[str], Sequence[str]], golds: tuple[str, ...]
) -> None:
    for gold in golds:
        problem = Problem("q", "open", domain, "What is it?", (gold,))
        for text in restate(gold):
            verdict = await rules.grade(problem, text)
            assert verdict.correct is not False, (gold, text, verdict)


@pytest.mark.parametrize(
    ("question", "gold", "right", "turned"),
    [
        ("Who taught Plato?", "Socrates", (), ["Socrates was taught by Plato."]),
        ("Whom did Mora defeat?", "Venn", ("Mora defeated Venn.",), ["Venn defeated Mora.", "Mora was defeated by Venn."]),
        ("Mora was beaten by whom?", "Venn", ("Mora was beaten by Venn.",), ["Venn was beaten by Mora.", "Mora beat Venn."]),
        ("Whom did Mora marry?", "Venn", ("Mora married Venn.",), []),  # true both ways
        ("Which town did Mora lead?", "Venn", ("The town is Venn.",), []),
    ],
)  # fmt: skip
def test_who_and_whom_are_exchanged_where_that_makes_a_reply_wrong(
    question: str, gold: str, right: tuple[str, ...], turned: list[str]
) -> None:
    asked = Question(Problem("q", "open", "qa", question, (gold,)), right=right)
    assert turned_round(asked, random.Random(0)) == turned


def test_a_template_is_filled_only_with_the_kind_of_reference_that_it_names() -> None:
    for gold, kinds in (("1902", {"number"}), ("Ada Venn", {"name"}), ("a red kite", set())):
        asked = Question(Problem("q", "open", "qa", "Which?", (gold,)), wrong=("Mora", "Lind"))
        made = {one.category for one in free_examples([asked], random.Random(0))}
        named = {"shifted": "number", "namesake": "name"}
        assert {kind for family, kind in named.items() if family in made} == kinds
