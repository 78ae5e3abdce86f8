"""Made statements: what answers a question holds its gold, what is called wrong is told of something else."""

import random
import re

import pytest

from llm_as_judge.training.judge.statements import SET, statements


def test_the_same_seed_gives_the_same_statements() -> None:
    assert statements(random.Random(1)) == statements(random.Random(1))
    assert statements(random.Random(1)) != statements(random.Random(2))


def test_nothing_is_left_unfilled_and_no_reply_has_two_labels() -> None:
    found = statements(random.Random(0))
    labels = {(one.problem.question, one.problem.answers, one.candidate) for one in found}
    assert len(labels) == len(found)
    for one in found:
        assert one.category == one.problem.dataset == SET
        assert one.candidate.strip()
        assert not re.search(r"[{}]", f"{one.problem.question}{one.problem.answers}{one.candidate}")


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (r"Who trained (?P<who>\w+)\?", "{gold} trained {who}.", "{who} trained {gold}."),
        (
            r"Who is the (?P<post>\w+) of the choir\?",
            "The {post} of the choir is {gold}.",
            "The former {post} of the choir is {gold}.",
        ),
        (
            r"On which day is the (?P<place>\w+) open\?",
            "The {place} is open on {gold}.",
            "The {place} is closed on {gold}.",
        ),
    ],
)
def test_wrong_ones_are_turned_round_or_tell_something_else(
    question: str, right: str, wrong: str
) -> None:
    made = [one for seed in range(8) for one in statements(random.Random(seed))]
    labels: dict[str, set[bool]] = {"right": set(), "wrong": set()}
    for one in made:
        asked = re.fullmatch(question, one.problem.question)
        if asked is not None:
            words = {"gold": one.problem.answers[0], **asked.groupdict()}
            for name, wording in (("right", right), ("wrong", wrong)):
                if one.candidate == wording.format(**words):
                    labels[name].add(one.correct)
    assert labels == {"right": {True}, "wrong": {False}}


def test_both_labels_are_made_of_each_question() -> None:
    found = statements(random.Random(0))
    for question in {one.problem.question for one in found}:
        assert {one.correct for one in found if one.problem.question == question} == {True, False}
