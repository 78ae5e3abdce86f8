"""A gold in a longer reply counts where the sentence states it and nothing beside it."""

import pytest
from open_questions import NEVER, asked

from llm_as_judge.grading.whole_words import stated_gold
from llm_as_judge.types import Problem

LAKE = asked("Which lake does the river Arn feed?", "Lake Ostra", "Ostra")
COUNT = asked("How many arches has the old bridge?", "14", "fourteen")
COST = asked("What does an order of 80 kilos cost?", "7.50 euros")
RIVER = asked("Which river is called the grey one?", "Ostra")
LEFT = asked("Which hand did the clerk write with, the left hand?", "the left hand")


@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        (LAKE, "The river Arn feeds Lake Ostra."),
        (LAKE, "It is Ostra that the Arn feeds."),
        (COUNT, "The old bridge has 14 arches."),
        (COUNT, "There are fourteen arches in the old bridge."),
        (COST, "An order of 80 kilos costs 7.50 euros at night."),
    ],
)
def test_a_sentence_that_states_the_gold_is_right(problem: Problem, reply: str) -> None:
    assert stated_gold(problem, reply) in problem.answers


@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        pytest.param(LAKE, "The Arn feeds Lake Ostra, Lake Venn and Lake Mora.", id="list"),
        pytest.param(LAKE, "The Arn feeds Lake Venn and Ostra.", id="joined"),
        pytest.param(LAKE, "Venn Ostra Mora", id="words in a row"),
        pytest.param(LAKE, "It is Ostra. It is Venn. It is Mora.", id="sentences in a row"),
        pytest.param(LAKE, "the marsh beside Lake Ostra", id="beside it"),
        pytest.param(LAKE, "The Arn feeds Lake Ostra or Lake Venn.", id="choice"),
        pytest.param(LAKE, "The Arn does not feed Lake Ostra.", id="denial"),
        pytest.param(LAKE, "The Arn probably feeds Lake Ostra.", id="hedge"),
        pytest.param(LAKE, "Some say Lake Ostra is fed, but it is Venn.", id="contrast"),
        pytest.param(LAKE, "The Arn feeds New Ostra Pond.", id="longer name"),
        pytest.param(LAKE, "The Arn feeds Venn, to the north of Ostra.", id="aside"),
        pytest.param(LAKE, "It is Venn which lies near Lake Ostra.", id="clause"),
        pytest.param(LAKE, "It is Venn that is deeper than Lake Ostra.", id="comparison"),
        pytest.param(LAKE, "Lake Ostra in the east and Venn in the north.", id="another name"),
        pytest.param(LAKE, "The Arn feeds Ostra in the east and three ponds.", id="others"),
        pytest.param(LAKE, "Does the Arn feed Lake Ostra?", id="question"),
        pytest.param(LAKE, "Lake Ostra\nuser: is it?", id="second turn"),
        pytest.param(LAKE, "Lake Venn = Ostra, so Venn remains.", id="calculation"),
        pytest.param(LEFT, "The clerk did write with the left hand.", id="echo"),
        pytest.param(COUNT, "The old bridge has 14 arches of 20.", id="second number"),
        pytest.param(COUNT, "The old bridge has 14% of the arches.", id="share"),
        pytest.param(COUNT, "The old bridge has 14 million arches.", id="scaled"),
        pytest.param(COUNT, "The old bridge has 14.5 arches.", id="longer number"),
        pytest.param(COUNT, "The old bridge has -14 arches.", id="other sign"),
        pytest.param(COUNT, "The old bridge has −14 arches.", id="minus"),
        pytest.param(COUNT, "The old bridge has ≠ 14 arches.", id="unequal"),
        pytest.param(COUNT, "The old bridge has 14 arches, no.", id="taken back"),
        pytest.param(COST, "An order of 7.50 euros costs 80 kilos.", id="swapped numbers"),
        pytest.param(COST, "An order of 90 kilos costs 7.50 euros.", id="another number"),
        pytest.param(COST, "An order of 80 kilos costs 7, 50 euros.", id="number in two"),
        pytest.param(NEVER, "Cargo bicycles are always delivered.", id="what is denied"),
        pytest.param(
            RIVER, "The river is the Ostra river, Venn Hall.", id="another behind a comma"
        ),
        pytest.param(RIVER, "The river is the Ostra., Venn Hall", id="another behind a stop"),
        pytest.param(RIVER, "The river is the Ostra, 日本國.", id="another in other letters"),
        pytest.param(RIVER, "The Venn, which had been called Ostra", id="by the way"),
    ],
)
def test_a_reply_that_says_more_than_the_gold_is_left_open(problem: Problem, reply: str) -> None:
    assert stated_gold(problem, reply) is None


def test_a_gold_without_a_word_is_never_stated() -> None:
    assert stated_gold(asked("Which band is it?", "!!!"), "The band is !!!") is None
