"""Shifted golds are not the gold: no rule accepts one, and no score of a trained judge does."""

from __future__ import annotations

import pytest
from answer_tables import items

from llm_as_judge.grading.qa import grade_qa
from llm_as_judge.grading.shifted import is_shifted
from llm_as_judge.judge.parts import SHIFTED, part_of
from llm_as_judge.types import Problem


def asked(question: str, *golds: str) -> Problem:
    return Problem("s/1", "shop", "qa", question, golds)


RETURNS = asked("Within how many days can goods go back?", "14 days")
APPROVES = asked("Who must approve expense reports above 500 EUR?", "head of department")
KEYS = asked("Where are the keys kept?", "reception")
MANUAL = asked("Who wrote the safety manual?", "Maria Lopez")
ROOM = asked("What is stored in room B?", "spare batteries")
CLOSED = asked("When is the office closed?", "Sunday")


HAMLET = asked("Who wrote Hamlet?", "William Shakespeare", "Shakespeare")
REFUNDED = asked("Up to what amount a month are train tickets refunded?", "120 euros")
REMOTE = asked("On how many days a week is remote work allowed?", "two days a week")
RECEIVES = asked("Who receives the expense reports?", "Ida Brandt")
NEAR_THE_GOLD = [
    (RETURNS, """
At least 14 days. | Up to 14 days before delivery. | 14 days after the end of the warranty.
14 days for opened goods alone. | 14 days is the old rule. | Goods can go back within 14 working days.
"""),
    (APPROVES, """
The deputy of the head of department. | The head of department's superior. | A former head of department.
The head of department forwards them to HR, where they are approved.
"""),
    (KEYS, """
The reception used to have them. | The room opposite the reception. | Between the reception and the lift.
"""),
    (MANUAL, "The team of Maria Lopez. | Maria Lopez's husband."),
    (CLOSED, "From Sunday to Tuesday. | The Sunday after Easter. | Every second Sunday."),
    (ROOM, """
Spare batteries are banned in room B. | In room B spare batteries are forbidden.
Spare batteries were stored in room B; it stores paint.
It stores what looks like spare batteries at night.
"""),
    (HAMLET, "A former William Shakespeare."),
    (REFUNDED, """
Train tickets are refunded up to 120 euros a year. | 120 euros a year | 120 euros per trip | 120 euros daily
Train tickets are refunded up to 120 euros each week. | Tickets above 120 euros are refunded.
Train tickets are refunded up to 120 euros in a year. | 120 euros is deducted for train tickets.
"""),
    (RECEIVES, """
Ida Brandt received them until last year. | They go to HR, which informs Ida Brandt.
Ida Brandt passes them on to the chief executive, who receives them.
The policy mentions Ida Brandt, but anybody may receive them.
"""),
    (REMOTE, "Two days a week must be spent in the office."),
]  # fmt: skip
THE_GOLD = [
    (RETURNS, "Goods can go back within 14 days."),
    (APPROVES, "The head of department must approve them."),
    (KEYS, """
The keys are kept at the reception.
The director used to have them. They are kept at the reception.
"""),
    (MANUAL, "The safety manual was written by Maria Lopez in 2019."),
    (CLOSED, "It is closed on Sunday, like most shops here."),
    (asked("What does the deputy of the mayor do?", "budget"), "The deputy's budget."),
    (asked("Who is the successor of Rossi?", "Bianchi"), "Rossi's successor is Bianchi."),
    (asked("Which city is Varn in?", "Lisbon"), "It is in the city of Lisbon."),
    (asked("What is named after a general?", "Fort Hale"), "It is named after Fort Hale."),
    (asked("At least how long must one wait?", "2 hours"), "One must wait at least 2 hours."),
    (asked("What did the lamp burn?", "whale oil"), "The lamp burned whale oil until 1911."),
    (asked("Which book won?", "The Old Man and the Sea"), "The Old Man and the Sea won."),
    (asked("What did she sing?", "Once; Never"), "She sang Once; Never."),
    (REFUNDED, """
Train tickets are refunded up to 120 euros a month. | Train tickets are refunded up to 120 euros monthly.
"""),
    (asked("What is the yearly budget?", "900 euros"), "The budget is 900 euros a year."),
    (asked("What is the daily dose?", "5 drops"), "The daily dose is 5 drops a day."),
    (REMOTE, "Remote work is allowed on two days a week."),
    (RECEIVES, """
Ida Brandt (finance) receives them. | Ida Brandt of the finance team.
They go to the head of finance, who is Ida Brandt. | Ida Brandt also receives the travel reports.
"""),
    (asked("How long may goods be kept?", "14"), "14 days."),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "replies"), NEAR_THE_GOLD)
async def test_a_sentence_that_says_something_near_the_gold_is_never_accepted(
    problem: Problem, replies: str
) -> None:
    for reply in items(replies):
        assert is_shifted(problem, reply), reply
        assert (await grade_qa(problem, reply)).correct is not True, reply
        assert part_of(problem, reply) == "qa" + SHIFTED, reply


@pytest.mark.parametrize(("problem", "replies"), THE_GOLD)
def test_the_question_s_words_names_of_kinds_and_what_tells_more_shift_nothing(
    problem: Problem, replies: str
) -> None:
    for reply in items(replies):
        assert not is_shifted(problem, reply), reply
        assert not part_of(problem, reply).endswith(SHIFTED), reply
