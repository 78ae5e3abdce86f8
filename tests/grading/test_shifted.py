"""Shifted golds are not the gold: no rule accepts one, and no score of a trained judge does."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        (RETURNS, "At least 14 days."),
        (RETURNS, "Up to 14 days before delivery."),
        (RETURNS, "14 days after the end of the warranty."),
        (RETURNS, "14 days for opened goods alone."),
        (RETURNS, "14 days is the old rule."),
        (APPROVES, "The deputy of the head of department."),
        (APPROVES, "The head of department's superior."),
        (APPROVES, "A former head of department."),
        (KEYS, "The reception used to have them."),
        (KEYS, "The room opposite the reception."),
        (MANUAL, "The team of Maria Lopez."),
        (MANUAL, "Maria Lopez's husband."),
        (CLOSED, "From Sunday to Tuesday."),
        (KEYS, "Between the reception and the lift."),
        (CLOSED, "The Sunday after Easter."),
        (CLOSED, "Every second Sunday."),
        (ROOM, "Spare batteries are banned in room B."),
        (ROOM, "In room B spare batteries are forbidden."),
        (ROOM, "Spare batteries were stored in room B; it stores paint."),
        (ROOM, "It stores what looks like spare batteries at night."),
        (
            asked("Who wrote Hamlet?", "William Shakespeare", "Shakespeare"),
            "A former William Shakespeare.",
        ),
    ],
)
async def test_a_sentence_that_says_something_near_the_gold_is_never_accepted(
    problem: Problem, reply: str
) -> None:
    assert is_shifted(problem, reply)
    assert (await grade_qa(problem, reply)).correct is not True
    assert part_of(problem, reply) == "qa" + SHIFTED


@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        (RETURNS, "Goods can go back within 14 days."),
        (APPROVES, "The head of department must approve them."),
        (KEYS, "The keys are kept at the reception."),
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
        (KEYS, "The director used to have them. They are kept at the reception."),
    ],
)
def test_the_question_s_words_names_of_kinds_and_several_sentences_shift_nothing(
    problem: Problem, reply: str
) -> None:
    assert not is_shifted(problem, reply)
    assert not part_of(problem, reply).endswith(SHIFTED)


REFUNDED = asked("Up to what amount a month are train tickets refunded?", "120 euros")
REMOTE = asked("On how many days a week is remote work allowed?", "two days a week")
RECEIVES = asked("Who receives the expense reports?", "Ida Brandt")


@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        (REFUNDED, "Train tickets are refunded up to 120 euros a year."),
        (REFUNDED, "Train tickets are refunded up to 120 euros each week."),
        (REFUNDED, "Train tickets are refunded up to 120 euros in a year."),
        (REFUNDED, "120 euros a year"),
        (REFUNDED, "120 euros per trip"),
        (REFUNDED, "120 euros daily"),
        (REFUNDED, "Tickets above 120 euros are refunded."),
        (RETURNS, "Goods can go back within 14 working days."),
        (RECEIVES, "Ida Brandt received them until last year."),
        (RECEIVES, "Ida Brandt passes them on to the chief executive, who receives them."),
        (REFUNDED, "120 euros is deducted for train tickets."),
        (REMOTE, "Two days a week must be spent in the office."),
        (APPROVES, "The head of department forwards them to HR, where they are approved."),
        (RECEIVES, "They go to HR, which informs Ida Brandt."),
        (RECEIVES, "The policy mentions Ida Brandt, but anybody may receive them."),
    ],
)
async def test_another_period_an_end_or_what_nobody_asked_is_near_the_gold(
    problem: Problem, reply: str
) -> None:
    assert is_shifted(problem, reply)
    assert (await grade_qa(problem, reply)).correct is not True


@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        (REFUNDED, "Train tickets are refunded up to 120 euros a month."),
        (REFUNDED, "Train tickets are refunded up to 120 euros monthly."),
        (asked("What is the yearly budget?", "900 euros"), "The budget is 900 euros a year."),
        (asked("What is the daily dose?", "5 drops"), "The daily dose is 5 drops a day."),
        (REMOTE, "Remote work is allowed on two days a week."),
    ],
)
async def test_the_question_s_own_period_is_no_other(problem: Problem, reply: str) -> None:
    assert not is_shifted(problem, reply)


@pytest.mark.parametrize(
    ("problem", "reply"),
    [
        (RECEIVES, "Ida Brandt (finance) receives them."),
        (RECEIVES, "Ida Brandt of the finance team."),
        (RECEIVES, "They go to the head of finance, who is Ida Brandt."),
        (RECEIVES, "Ida Brandt also receives the travel reports."),
        (asked("How long may goods be kept?", "14"), "14 days."),
    ],
)
def test_what_tells_more_of_the_gold_shifts_nothing(problem: Problem, reply: str) -> None:
    assert not is_shifted(problem, reply)
