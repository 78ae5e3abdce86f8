"""Sentences that restate a question around its gold: roles, denials, tenses."""

from __future__ import annotations

import pytest

from llm_as_judge.grading.restated import affirms, restates
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem


@pytest.mark.parametrize(
    ("question", "text", "gold"),
    [
        ("What color is a contractor's badge?", "A contractor's badge is blue.", "blue"),
        ("What discount do schools get?", "Schools get 12 percent.", "12 percent"),
        ("How long is the warranty?", "The warranty is six months.", "6 months"),
        ("What does Ada teach?", "Ada teaches maths.", "maths"),
        ("Who did Socrates teach?", "Socrates did teach Plato", "Plato"),
        ("Which river enters the sea?", "The river that enters the sea is the Esk.", "Esk"),
        ("How many rooms are there?", "There are 775 rooms.", "775"),
        ("When does the office open?", "The office opens at 9 am.", "9 am"),
        ("To whom is Eve married?", "Eve is married to Ben", "Ben"),
        ("The show features what chef?", "The show features Rossi.", "Rossi"),
        ("The mother of whom is Ada?", "The mother of Eve is Ada", "Eve"),
        ("In the report, who signs?", "In the report, Ben signs.", "Ben"),
        ("When does the shop close?", "The shop closes at 16:30.", "16:30"),
        ("What time does the shop close?", "The shop closes at 16:30.", "16:30"),
        ("Which year did the war end?", "The war ended in 1945.", "1945"),
        ("In which year did Ada die?", "Ada died in 1852.", "1852"),
        ("Which team was beaten?", "The team beaten was the Red team.", "Red team"),
        ("How long is the lift out of order?", "The lift is out of order for 2 hours.", "2 hours"),
        ("How many days may a guest stay?", "A guest may stay for 14 days.", "14"),
        ("How many days may a guest stay?", "A guest may stay 14 days.", "14 days"),
        ("How tall is the tower?", "The tower is 56 m tall.", "56 m"),
        ("How much longer is the Nile?", "The Nile is 200 km longer.", "200 km"),
        ("How long ago did Ada die?", "Ada did die 3 years ago.", "3 years"),
        ("When does the shop close?", "It closes at 18:00.", "18:00"),
        ("What color is the bike?", "It is dark green.", "dark green"),
        ("Where does Ann live?", "She lives in Halby.", "Halby"),
        ("Who wrote the letter?", "Ann wrote it.", "Ann"),
        ("How many beds does ward 7 have?", "Ward 7 has 18 beds.", "18"),
        ("Who is on call on Friday?", "Dr. Lars Holm is on call on Friday.", "Dr. Lars Holm"),
        ("On which day does Dr. Holm work?", "Dr. Holm works on Friday.", "Friday"),
    ],
)
def test_the_questions_words_in_their_order_restate_it(question: str, text: str, gold: str) -> None:
    assert restates(text, gold, question)


@pytest.mark.parametrize(
    ("question", "text", "gold"),
    [
        ("Who is the mother of Ada?", "The mother of Eve is Ada", "Eve"),
        ("Who is the mother of Ada?", "Ada is the mother of Eve", "Eve"),
        ("The mother of whom is Ada?", "The mother of Ada is Eve", "Eve"),
        ("Who defeated Ali?", "Ali defeated Frazier", "Frazier"),
        ("Who was beaten by Ali?", "Frazier had beaten Ali", "Frazier"),
        ("By whom was Plato taught?", "Socrates was taught by Plato", "Socrates"),
        ("To whom does Ada report?", "Ben does report to Ada", "Ben"),
        ("Which team did Ajax beat?", "The team that beat Ajax is PSV", "PSV"),
        ("Which river enters the Esk?", "The river that the Esk enters is the Ure", "Ure"),
        ("Who is older than Ben?", "Ben is older than Ada", "Ada"),
        ("Who is not allowed in?", "Rossi is allowed in", "Rossi"),
        ("Who isn't allowed in?", "Rossi is allowed in", "Rossi"),
        ("Who manages Ada, and who manages Ben?", "Cleo manages Ben", "Cleo"),
        ("Who leads sales?", "Rossi's deputy leads sales", "Rossi"),
        ("Which state has the largest city?", "New York City", "New York"),
        ("Is the badge blue or green?", "The badge is blue or green", "blue"),
        ("What color is a badge?", "A badge is not blue", "blue"),
        ("What color is a badge?", "A badge was blue", "blue"),
        ("What color is a badge?", "A badge is blue?", "blue"),
        ("What color is a badge?", "A badge is blue. No.", "blue"),
        ("What color is a badge?", "A badge is blue, blue", "blue"),
        ("What color is a badge?", "blue", "blue"),
        ("Who can approve?", "Ben could approve", "Ben"),
        ("Who failed to climb Everest?", "Ben climbed Everest.", "Ben"),
        ("Who shot the man who shot Ben?", "Ann shot Ben.", "Ann"),
        ("What color is the roof of the house?", "The house is red.", "red"),
        ("By whom was Ben killed?", "Ann was killed.", "Ann"),
        ("How much longer is the Nile?", "The Nile is 200 km.", "200 km"),
        ("Who has a dog?", "Ann is a dog.", "Ann"),
        ("Who might have killed Ben?", "Ann killed Ben.", "Ann"),
        ("Who has been fired?", "Ann has fired.", "Ann"),
        ("Who chairs the board?", "Rossi chaired the board.", "Rossi"),
        ("Who will be king?", "Otto was king.", "Otto"),
        ("Who did Ben guide?", "Ann was Ben's guide.", "Ann"),
        ("Whose coach is Ben?", "Ada coaches Ben.", "Ada"),
        ("Who taught Browning?", "Ann taught Brown.", "Ann"),
        ("Who killed Will Smith?", "Ann killed Smith.", "Ann"),
        ("Who is the mother of Ada?", "Is Eve the mother of Ada", "Eve"),
        ("Who follows Ben?", "Follow Ben, Ann!", "Ann"),
        ("The opposite of what is good?", "Evil is good.", "evil"),
        ("Who was the king?", "Stephen King.", "Stephen"),
        ("What color is a badge?", "A badge is \N{NOT EQUAL TO} blue", "blue"),
        ("What color is a badge?", "A badge is blue\N{FULLWIDTH QUESTION MARK}", "blue"),
        ("What is infinity?", "infinity.", "\N{INFINITY}"),
        ("Which band recorded Tommy?", "Who recorded Tommy.", "The Who"),
        ("When does the shop close?", "The shop closes by 16:30.", "16:30"),
        ("When is it open until?", "It is open at 9:00.", "9:00"),
        ("By when must it be paid?", "It must be paid on Monday.", "Monday"),
        ("How many guests did Ada cook?", "Ada did cook for 5 guests.", "5"),
        ("How many days after the fire did it open?", "It did open for 3 days.", "3"),
        ("How many days late was the train?", "The train was 3 days.", "3"),
        ("How many years older is Ada?", "Ada is 3 years old.", "3 years"),
        ("How much longer is the Nile?", "The Nile is 200 km long.", "200 km"),
        ("What fish did the bear eat?", "The trout fish did eat the bear.", "trout"),
        ("How long until the shop is open?", "The shop is open for 3 hours.", "3 hours"),
        ("Who beat Ajax?", "It beat PSV.", "PSV"),
        ("Who taught Browning?", "She taught Ann.", "Ann"),
        ("When did the shop stop selling tapes?", "It sold in 2010.", "2010"),
        ("Who shot the man who shot Ben?", "Ann shot him. It is Ann.", "Ann"),
        ("By whom was Plato taught?", "He taught Socrates.", "Socrates"),
        ("Who has a dog?", "Ann is it.", "Ann"),
    ],
)
def test_other_words_order_time_or_auxiliaries_do_not(question: str, text: str, gold: str) -> None:
    assert not restates(text, gold, question)


def test_a_text_that_is_much_longer_than_its_question_is_not_read() -> None:
    assert not restates("A badge is blue" + ", a badge" * 20_000, "blue", "What color is a badge?")


@pytest.mark.parametrize(
    ("question", "gold", "text", "right", "rule"),
    [
        ("What is 17 * 23?", "391", "17 * 23 is 391.", True, "math.restated"),
        ("What is 15% of 80?", "12", "15% of 80 is 12.", True, "math.restated"),
        ("What is 17 * 23?", "391", "17 times 23 is 391.", None, "extract.undeclared"),
        ("What is 3^2?", "9", "3^2 is 9^2", None, "extract.undeclared"),
        ("What is 3 + 4?", "7", "3 + 4 is 7 + 4", None, "extract.undeclared"),
        ("What is 17 * 23?", "391", "17 * 23 is 392.", False, "math.unevaluated"),
        ("What is 6/3 - 4?", "-2", "6/3 - 4 is 2", False, "math.unevaluated"),
        ("What is 17 * 23?", "391", "17, 23, 391", False, "extract.several"),
    ],
)
async def test_the_questions_numbers_are_no_answers_beside_the_one_wanted(
    rules: Judge, question: str, gold: str, text: str, right: bool | None, rule: str
) -> None:
    verdict = await rules.grade(Problem("x/1", "x", "math", question, (gold,)), text)
    assert (verdict.correct, verdict.rule) == (right, rule)


@pytest.mark.parametrize(
    ("asking", "text", "said"),
    [
        ("May guests enter?", "Guests may enter.", True),
        ("May guests enter?", "Guests may not enter.", False),
        ("Is the ramp open on Sundays?", "The ramp isn't open on Sundays.", False),
        ("Do discounts add up?", "Discounts do not add up.", False),
        ("Does Ada teach maths?", "Ada teaches maths.", True),
        ("May guests enter?", "May guests enter", None),
        ("May guests enter?", "Guests may enter at night.", None),
        ("May guests enter?", "Guests must enter.", None),
        ("May guests enter?", "Guests may not not enter.", None),
        ("Did Ada hire Ben?", "Ben did hire Ada.", None),
        ("Is the ramp open?", "The ramp was open.", None),
        ("Is it blue or green?", "It is blue or green.", None),
        ("Can I pay by card?", "You cannot pay by card.", False),
        ("May I bring a guest?", "You may bring a guest.", True),
        ("May I bring a guest?", "I may bring a guest.", None),
        ("Who may enter?", "Guests may enter.", None),
    ],
)
def test_a_question_for_yes_or_no_is_affirmed_or_denied_in_its_words(
    asking: str, text: str, said: bool | None
) -> None:
    assert affirms(text, asking) is said


@pytest.mark.parametrize(
    ("gold", "text", "right"),
    [
        ("no", "No, guests may not enter.", True),
        ("no", "Guests may not enter.", True),
        ("no", "Guests may enter.", False),
        ("yes", "Yes, guests may enter.", True),
        ("yes", "Yes, guests may not enter.", None),
        ("yes", "Yes, of course.", True),
        ("no", "No, they may not.", True),
        ("no", "Yes, they may.", False),
        ("yes", "Yep", True),
        ("yes", "Of course.", True),
        ("no", "Of course.", False),
        ("yes", "Guests of members may enter.", None),
        ("no", "They may not.", None),
        ("no", "Paris", False),
    ],
)
async def test_a_sentence_says_yes_or_no_in_the_questions_words(
    rules: Judge, gold: str, text: str, right: bool | None
) -> None:
    problem = Problem("x/1", "x", "qa", "Members have keys. May guests enter?", (gold,))
    assert (await rules.grade(problem, text)).correct is right


@pytest.mark.parametrize("domain", ["math", "qa"])
async def test_a_duration_of_two_units_among_other_words_is_open(rules: Judge, domain: str) -> None:
    problem = Problem("x/1", "x", domain, "How long was the lift shut?", ("2 hours 15 minutes",))  # type: ignore[arg-type]
    said = "It stood still there for 2 hours and 15 minutes."
    assert (await rules.grade(problem, said)).correct is None
