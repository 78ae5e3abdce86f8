"""A yes or no counts where nothing behind it takes it back."""

import pytest

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADD_UP = "Do discounts add up?"
RETURN = "Can I return a bicycle within 30 days?"
NEVER = "Are cargo bicycles never delivered?"
LARGER = "Is Aldby larger than Venn?"


async def correct(rules: Judge, question: str, gold: str, reply: str) -> bool | None:
    return (await rules.grade(Problem("q/t/1", "open", "qa", question, (gold,)), reply)).correct


@pytest.mark.parametrize(
    ("question", "gold", "reply"),
    [
        (ADD_UP, "no", "No, discounts do not add up."),
        (ADD_UP, "no", "No. Discounts don't add up."),
        (ADD_UP, "no", "No, they do not."),
        (ADD_UP, "no", "So no."),
        (ADD_UP, "no", "Therefore, no: discounts do not add up."),
        (ADD_UP, "no", "No, they don't add up."),
        (ADD_UP, "yes", "Yes, discounts add up."),
        (ADD_UP, "yes", "Yes, they do."),
        (RETURN, "no", "No, you cannot return a bicycle within 30 days."),
        (RETURN, "yes", "Yes, you can return a bicycle within 30 days."),
        (LARGER, "no", "No, Aldby is not larger than Venn."),
        (NEVER, "yes", "Yes, cargo bicycles are never delivered."),
        ("Is it open on Sunday or Monday?", "no", "No, it is not open on Sunday or Monday."),
    ],
)
async def test_the_questions_own_words_said_or_denied_are_accepted(
    rules: Judge, question: str, gold: str, reply: str
) -> None:
    assert await correct(rules, question, gold, reply) is True


@pytest.mark.parametrize(
    ("question", "gold", "reply"),
    [
        (ADD_UP, "no", "No, discounts add up."),
        (ADD_UP, "no", "No, they do."),
        (ADD_UP, "no", "No, discounts always add up."),
        (ADD_UP, "no", "No, yes, discounts do not add up."),
        (ADD_UP, "no", "No, discounts do not add up, or do they?"),
        (ADD_UP, "no", "No, discounts do not add up but coupons do."),
        (ADD_UP, "no", "No, discounts do not not add up."),
        (ADD_UP, "no", "No, discounts do not never add up."),
        (ADD_UP, "no", "No, not discounts do add up."),
        (ADD_UP, "no", "No, discounts may not add up."),
        (ADD_UP, "no", "No, discounts do not add up. Yes."),
        (ADD_UP, "no", "No, coupons do not add up."),
        (ADD_UP, "no", "No, discounts do not always add up."),
        (ADD_UP, "no", "Yes, discounts do not add up."),
        (ADD_UP, "no", "Discounts do not add up: no or yes."),
        (ADD_UP, "yes", "Yes, discounts do not add up."),
        (ADD_UP, "yes", "Yes, discounts don't add up."),
        (ADD_UP, "yes", "Yes, discounts never add up."),
        (ADD_UP, "yes", "Yes, discounts cannot add up."),
        (ADD_UP, "yes", "Yes, probably."),
        (ADD_UP, "yes", "Yes, if you pay."),
        (ADD_UP, "yes", "No, discounts add up."),
        (RETURN, "no", "No, you can return a bicycle within 30 days."),
        (RETURN, "yes", "Yes, you cannot return a bicycle within 30 days."),
        (LARGER, "no", "No, it is larger than Venn."),
        (NEVER, "no", "No, cargo bicycles are never delivered."),
        (NEVER, "yes", "Yes, cargo bicycles are delivered."),
        (NEVER, "yes", "Yes, cargo bicycles are not never delivered."),
    ],
)
async def test_a_yes_or_no_that_is_taken_back_is_not_accepted(
    rules: Judge, question: str, gold: str, reply: str
) -> None:
    assert await correct(rules, question, gold, reply) is not True
