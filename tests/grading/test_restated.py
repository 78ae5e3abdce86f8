"""A denial or a number that a reply only repeats from the question does not leave the reply open."""

import pytest
from open_questions import NEVER, asked

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")


COST = asked("What does the delivery of an order of 80 euros cost?", "7.50 euros")
KILOS = asked("What does the delivery of an order of 80 kilos cost?", "7 euros")
SHARE = asked("How many of the 80 bicycles were not sold in May?", "12")
YEAR = asked("In which year was no prize given?", "1940")
BORN = asked("In which year did Ilse Hartog, born in 1970, win?", "1994")
TEAM = asked("Which team was not beaten by Venn?", "Ostra")
MATCH = asked("Whom did Venn not beat in May?", "Ostra")
MAY = asked("Which runner did not beat May?", "Ostra")
TRADE = asked("Which shop is not open for sale or repair?", "the mill")


@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        (NEVER, "Cargo bicycles are never delivered."),
        (NEVER, "The bicycles that are never delivered are cargo bicycles."),
        (NEVER, "Never delivered are cargo bicycles."),
        (asked("Which tool isn't sharp?", "the old saw"), "The old saw is not sharp."),
        (asked("What can bicycles never carry?", "pianos"), "Bicycles can never carry pianos."),
        (COST, "The delivery of an order of 80 euros costs 7.50 euros."),
        (KILOS, "The delivery of an order of eighty kilos costs 7 euros."),
        (SHARE, "12 of the 80 bicycles were not sold in May."),
        (SHARE, "12 bicycles were not sold in May."),
        (YEAR, "No prize was given in 1940."),
        (YEAR, "In the year 1940 no prize was given."),
        (asked("In 1990 who was not elected?", "Otis"), "Otis was not elected in 1990."),
        (
            asked("The Arn does not flow into which lake?", "Venn"),
            "The Arn does not flow into Venn.",
        ),
        (TEAM, "Ostra was not beaten by Venn."),
        (MATCH, "Venn did not beat Ostra in May."),
        (TRADE, "The mill is not open for sale or repair."),
    ],
)
async def test_the_questions_own_denial_or_number_in_its_place_is_accepted(
    rules: Judge, problem: Problem, reply: str
) -> None:
    verdict = await rules.grade(problem, reply)
    assert verdict.correct is True, verdict
    by_value = reply in (
        "12 bicycles were not sold in May.",
        "In the year 1940 no prize was given.",
    )
    assert verdict.rule == ("number.equal" if by_value else "qa.restated")


@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        pytest.param(NEVER, "Cargo bicycles are not never delivered.", id="denied twice"),
        pytest.param(NEVER, "Not cargo bicycles are never delivered.", id="gold denied"),
        pytest.param(NEVER, "Cargo bicycles are not delivered.", id="another denial"),
        pytest.param(NEVER, "Never cargo bicycles are delivered.", id="denial before the gold"),
        pytest.param(NEVER, "Delivered are never cargo bicycles.", id="denial moved"),
        pytest.param(NEVER, "Cargo bicycles are delivered.", id="denial left out"),
        pytest.param(NEVER, "Cargo bicycles are always delivered.", id="denial reversed"),
        pytest.param(NEVER, "The bicycles that are never delivered.", id="echo"),
        pytest.param(NEVER, "Which bicycles are never delivered? Cargo bicycles", id="question"),
        pytest.param(NEVER, "Cargo bicycles are never delivered, or are they", id="second clause"),
        pytest.param(NEVER, "Cargo bicycles are never delivered?", id="asked back"),
        pytest.param(NEVER, "Cargo bicycles or tandems are never delivered.", id="choice"),
        pytest.param(NEVER, "Cargo bicycles, tandems are never delivered.", id="list"),
        pytest.param(NEVER, "Cargo bicycles are perhaps never delivered.", id="hedge"),
        pytest.param(NEVER, "Cargo bicycles are never delivered late.", id="one word more"),
        pytest.param(NEVER, "Cargo trailers are never delivered.", id="one word off"),
        pytest.param(NEVER, "Bicycles are never delivered by cargo bicycles.", id="by the gold"),
        pytest.param(NEVER, "Tandem bicycles\nCargo bicycles are never delivered.", id="lines"),
        pytest.param(NEVER, "Cargo/bicycles are never delivered.", id="gold in two"),
        pytest.param(
            COST, "The delivery of an order of 7.50 euros costs 80 euros.", id="swapped decimal"
        ),
        pytest.param(KILOS, "The delivery of an order of 7 euros costs 80 kilos.", id="swapped"),
        pytest.param(KILOS, "The delivery of an order of 7 kilos costs 80 euros.", id="exchanged"),
        pytest.param(KILOS, "80 kilos is the delivery of 7 euros.", id="swapped to the front"),
        pytest.param(COST, "The delivery of an order of 80 euros costs 8.50 euros.", id="other"),
        pytest.param(COST, "The delivery of an order of 90 euros costs 7.50 euros.", id="other 80"),
        pytest.param(COST, "An order of 80 euros costs -7.50 euros.", id="other sign"),
        pytest.param(COST, "An order of 80 euros costs 7.50 or 8.50 euros.", id="two numbers"),
        pytest.param(COST, "The delivery of an order of 80 euros costs 7.50 dollars.", id="unit"),
        pytest.param(
            KILOS, "The delivery of an order of 80 kilos costs 7 euros, 9 at night.", id="beside"
        ),
        pytest.param(KILOS, "The delivery of an order of 80 7 euros costs kilos.", id="split"),
        pytest.param(KILOS, "The delivery of 7 80 kilos costs euros.", id="joined numbers"),
        pytest.param(SHARE, "80 of the 12 bicycles were not sold in May.", id="share reversed"),
        pytest.param(SHARE, "12 of the 80 bicycles were sold in May.", id="share denied"),
        pytest.param(YEAR, "No 1940 prize was given.", id="gold behind the denial"),
        pytest.param(YEAR, "A prize was given in 1940.", id="no denial"),
        pytest.param(BORN, "Ilse Hartog, born in 1994, did win in 1970.", id="swapped years"),
        pytest.param(TEAM, "Venn was not beaten by Ostra.", id="parts exchanged"),
        pytest.param(TEAM, "Ostra was beaten by Venn.", id="beaten"),
        pytest.param(MATCH, "Ostra did not beat Venn in May.", id="beats instead"),
        pytest.param(MATCH, "Ostra did not beat in May.", id="part left out"),
        pytest.param(MAY, "May did not beat Ostra.", id="a name that is a verb"),
        pytest.param(TRADE, "The shop is not open for the mill or repair.", id="in a choice"),
        pytest.param(
            asked("Which is never late, bus or tram?", "tram"),
            "The tram is never late.",
            id="named",
        ),
    ],
)
async def test_a_denial_or_number_elsewhere_is_not_accepted(
    rules: Judge, problem: Problem, reply: str
) -> None:
    assert (await rules.grade(problem, reply)).correct is not True


@pytest.mark.parametrize("problem", [NEVER, COST, SHARE, YEAR, TEAM, MATCH])
async def test_the_question_without_the_gold_is_not_accepted(
    rules: Judge, problem: Problem
) -> None:
    statement = problem.question.rstrip("?")
    for reply in (statement, f"{statement}.", " ".join(statement.split()[1:])):
        assert (await rules.grade(problem, reply)).correct is not True


@pytest.mark.parametrize("word", ["not", "never", "no", "nor", "or", "except", "hardly", "maybe"])
@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        (NEVER, "Cargo bicycles are never delivered"),
        (KILOS, "The delivery of an order of 80 kilos costs 7 euros"),
        (SHARE, "12 of the 80 bicycles were not sold in May"),
        (YEAR, "No prize was given in 1940"),
    ],
)
async def test_no_word_that_turns_may_be_added_anywhere(
    rules: Judge, problem: Problem, reply: str, word: str
) -> None:
    words = reply.split()
    assert (await rules.grade(problem, reply)).correct is True
    for at in range(len(words) + 1):
        turned = " ".join([*words[:at], word, *words[at:]])
        assert (await rules.grade(problem, turned)).correct is not True, turned


async def test_long_replies_are_left_open_at_once(rules: Judge) -> None:
    reply = "Cargo bicycles are never delivered " + "never delivered " * 2000
    assert (await rules.grade(NEVER, reply)).correct is not True
