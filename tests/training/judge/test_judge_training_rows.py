"""Rows of a judge: questions apart, nothing twice, labels that hold, broken files refused."""

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labeled_rows import rows
from llm_as_judge.audit.attacks import Case
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import DataError
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.judge.cascade import EXACT_MATCH, Judge
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import RunTable
from llm_as_judge.training.judge.changes import changed_golds, crossed_golds
from llm_as_judge.training.judge.examples import families, free_examples
from llm_as_judge.training.judge.notation import restated, restated_math
from llm_as_judge.training.judge.questions import Question, questions_of
from llm_as_judge.training.judge.roles import turned_round
from llm_as_judge.training.judge.rows import (
    Sets,
    is_for_calibration,
    question_key,
    read_training_rows,
    require_learnable,
    source_name,
    split_sets,
    without_duplicates,
)
from llm_as_judge.training.judge.sources import BARE, without_options
from llm_as_judge.types import Completion, Execution, Problem, Program, Rollout, Verdict

LAKES = ("Ostra", "Venn", "Mora", "Silt", "Arden", "Pell", "Quay", "Rook")


def case(number: int, candidate: str, correct: bool) -> Case:
    gold = f"Lake {LAKES[number % len(LAKES)]} {number}"
    question = f"Which lake does river number {number} feed?"
    problem = Problem(f"q/{number}", "open", "qa", question, (gold, gold.upper()))
    return Case(problem, candidate.format(gold=gold), correct, "labeled", "labeled")


def many(n: int = 60) -> list[Case]:
    return [
        one
        for number in range(n)
        for one in (
            case(number, "It feeds {gold}, which is large, as most know.", True),
            case(number, "Lake of tears, not far away.", False),
        )
    ]


async def sets_of(labeled: list[Case], seed: int = 0, limit: int | None = None) -> Sets:
    rules = Judge(workers=1)
    try:
        return await split_sets(labeled, [], rules, seed=seed, limit=limit)
    finally:
        await rules.aclose()


@pytest.mark.slow
async def test_no_question_is_both_learned_and_calibrated_on() -> None:
    sets = await sets_of(many())
    learned = {question_key(g.case) for g in sets.learn}
    kept_apart = {question_key(g.case) for g in sets.calibrate}
    assert learned
    assert kept_apart
    assert not learned & kept_apart


@pytest.mark.slow
async def test_thresholds_are_chosen_on_peoples_labels_where_there_are_any() -> None:
    sets = await sets_of(many())
    labeled = [g for g in sets.calibrate if g.case.category == "labeled"]
    made = [g for g in sets.calibrate if g.case.category != "labeled"]
    assert {g.case.correct for g in labeled} == {True, False}
    assert made  # they bound the thresholds: wrong, and left open by the rules
    assert all(g.open and not g.case.correct for g in made)
    learned = {question_key(g.case) for g in sets.learn}
    assert not learned & {question_key(g.case) for g in made}


@pytest.mark.slow
async def test_a_domain_is_learned_with_as_many_right_as_wrong_answers() -> None:
    for limit in (None, 40):
        sets = await sets_of(many(), limit=limit)
        right = sum(g.case.correct for g in sets.learn)
        assert 2 * right == len(sets.learn)
        assert limit is None or len(sets.learn) <= limit


@pytest.mark.slow
async def test_the_same_seed_gives_the_same_examples_and_another_seed_others() -> None:
    first, again, other = [await sets_of(many(), seed=seed) for seed in (1, 1, 2)]
    assert first == again
    assert first.learn != other.learn


def test_a_longer_file_keeps_each_question_on_its_side() -> None:
    spelled = case(3, "x", True)
    shouted = Case(
        Problem("other", "open", "qa", spelled.problem.question.upper() + "!", ("g",)),
        "x",
        True,
        "",
    )
    assert is_for_calibration(spelled, 5) is is_for_calibration(shouted, 5)
    assert {is_for_calibration(case(n, "x", True), 5) for n in range(40)} == {True, False}


def test_the_same_answer_counts_once_and_one_with_two_labels_not_at_all() -> None:
    rows = [case(1, "a", True), case(1, "a", True), case(1, "b", True), case(1, "b", False)]
    kept, again, torn = without_duplicates(rows)
    assert [one.candidate for one in kept] == ["a"]
    assert (again, torn) == (1, 2)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([case(n, "x", True) for n in range(5)], "5 labeled rows, wanted 40 or more"),
        ([case(n, "x", True) for n in range(60)], "no answer is labeled wrong"),
        ([case(n, "x", False) for n in range(60)], "no answer is labeled right"),
    ],
)
def test_rows_that_nothing_can_be_learned_from_are_refused(rows: list[Case], said: str) -> None:
    with pytest.raises(DataError, match=said) as error:
        require_learnable(rows, "rows.jsonl")
    assert str(error.value).startswith("rows.jsonl: ")
    assert "\n" not in str(error.value)


ROW = {"id": "1", "domain": "qa", "question": "Which?", "reference": "Venn"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {**ROW, "candidate": "Venn"},
            "no 'correct'; a labeled row has 'candidate' and 'correct', a question alone",
        ),
        ({**ROW, "correct": True}, "no 'candidate'"),
        ({**ROW, "candidate": "Venn", "correct": "yes"}, "'correct' must be true or false"),
        (
            {
                "id": "1",
                "domain": "code",
                "tests": ["assert f()"],
                "candidate": "x",
                "correct": True,
            },
            "a code row: .*leave code rows out",
        ),
    ],
)
def test_a_broken_row_is_told_with_its_line(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=said) as error:
        read_training_rows([path])
    assert str(error.value).startswith(f"{path}:1: ")


def test_a_row_of_question_and_reference_gives_made_answers_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    labeled, bare = read_training_rows([path])
    assert (labeled, len(bare)) == ([], 1)


# ------------------------------------------------------------------------------- made answers
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


async def test_mathematics_said_otherwise_is_never_rejected_by_the_rules() -> None:
    rules = Judge(workers=1)
    try:
        for gold in ("12", "\\frac{3}{4}", "2x + 3"):
            problem = Problem("q", "math", "math", "What is it?", (gold,))
            for text in restated_math(gold):
                verdict = await rules.grade(problem, text)
                assert verdict.correct is not False, (gold, text, verdict)
    finally:
        await rules.aclose()


# ------------------------------------------------------------------- problems and replies of an evaluation
CHOICE = Problem(
    "commonsenseqa/train/1",
    "commonsenseqa",
    "qa",
    "Where would one keep a kettle?",
    ("B",),
    options=("attic", "kitchen", "garden"),
)


def test_a_multiple_choice_is_asked_without_its_options_which_are_near_misses() -> None:
    cases = [Case(CHOICE, "", False, BARE, BARE)]
    rng = random.Random(0)
    (question,) = questions_of(cases, rng)
    assert (question.problem.answers, question.problem.options) == (("kitchen",), ())
    assert set(question.options) == {"attic", "garden"}
    made = free_examples([question], rng)
    options = [one for one in made if one.category == "option"]
    assert len(options) == 2
    assert all("kitchen" not in one.candidate and not one.correct for one in options)
    assert {one.correct for one in made} == {True, False}


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Which of the following is a kitchen tool?"},
        {"options": ("attic", "kitchen", "all of these")},
        {"options": ("attic", "kitchen", "A and B")},
        {"options": ("attic", "kitchen" * 20, "garden")},
        {"options": ("Kitchen", "kitchen")},
    ],
)
def test_a_question_that_says_nothing_without_its_options_is_left_out(
    change: dict[str, Any],
) -> None:
    assert without_options(replace(CHOICE, **change)) is None


def test_files_of_problems_and_labeled_rows_are_told_apart(tmp_path: Path) -> None:
    write_problems(tmp_path / "mine_train.jsonl", [CHOICE])
    labeled = rows(tmp_path / "labeled.jsonl", 0, 2)
    people, bare = read_training_rows([tmp_path / "mine_train.jsonl", labeled])
    assert (len(people), [case.problem for case in bare]) == (4, [CHOICE])


def evaluation(folder: Path) -> Path:
    """One reply for each word of the rules, and one of a judge."""
    sums = Problem("m/1", "math", "math", "6 * 7?", ("42",))
    lake = Problem("q/1", "open", "qa", "Which lake?", ("Venn",))
    table = RunTable(folder)
    replies = [
        (sums, "42", Verdict(True, "math", "number.equal", "")),
        (sums, "41", Verdict(False, "math", "number.different", "")),
        (lake, "It is Venn", Verdict(True, "qa", "qa.equal", "")),
        (lake, "Mora", Verdict(False, "qa", EXACT_MATCH, "")),
        (lake, "the Venn", Verdict(True, "llm", "score.right", "")),
        (lake, "perhaps", Verdict(None, "qa", "qa.unequal", "")),
    ]
    for problem in (sums, lake):
        table.add_problem(problem)
    for at, (problem, reply, verdict) in enumerate(replies):
        nobody = Completion((), (), (), "", "stop")
        run = Rollout(problem.id, at, nobody, Program("", ""), Execution("ok", reply), verdict)
        table.add(RunRecord.of("direct", run, 2))
    return folder


def test_of_an_evaluation_only_what_the_rules_are_sure_of_is_learned(tmp_path: Path) -> None:
    _, bare = read_training_rows([evaluation(tmp_path)])
    assert {(case.candidate, case.correct) for case in bare} == {
        ("42", True),
        ("41", False),
        ("It is Venn", True),
    }
    (question,) = questions_of([c for c in bare if c.problem.domain == "qa"], random.Random(0))
    assert question.right == ("It is Venn",)


def test_a_folder_without_replies_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no runs\.jsonl; wanted JSONL of labeled rows") as error:
        read_training_rows([tmp_path])
    assert "\n" not in str(error.value)


@pytest.mark.slow
async def test_every_source_gives_as_many_right_as_wrong_examples_and_none_drowns_another() -> None:
    colors = [
        Problem(f"c/{n}", "colors", "qa", f"Which color has flag {n}?", (f"{LAKES[n % 8]} red",))
        for n in range(80)
    ]
    bare = [Case(problem, "", False, BARE, BARE) for problem in colors]
    rules = Judge(workers=1)
    try:
        said: list[tuple[int, int]] = []
        sets = await split_sets(
            many(40), bare, rules, seed=0, limit=120, told=lambda *at: said.append(at)
        )
    finally:
        await rules.aclose()
    assert said == sorted(said)
    assert said[-1] == (120, 120)
    found = Counter((source_name(g.case), g.case.correct) for g in sets.learn)
    for source in ("labeled, open", "made, open", "made, colors"):
        assert found[source, True] == found[source, False] > 0
    assert found["made, open", True] == pytest.approx(found["made, colors", True], abs=1)
    assert sum(found.values()) <= 120


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


async def test_a_restated_gold_is_never_rejected_by_the_rules() -> None:
    rules = Judge(workers=1)
    try:
        for gold in ("4 May 1902", "seven", "1,250,000", "135 minutes", "$45", "3:45 pm", "5%"):
            problem = Problem("q", "open", "qa", "What is it?", (gold,))
            for text in restated(gold):
                verdict = await rules.grade(problem, text)
                assert verdict.correct is not False, (gold, text, verdict)
    finally:
        await rules.aclose()


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
