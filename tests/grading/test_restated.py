"""Sentences that restate a question around its gold: roles, denials, tenses."""

from __future__ import annotations

import pytest

from llm_as_judge.grading.text import restates


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
    ],
)
def test_other_words_another_order_and_a_denial_do_not(question: str, text: str, gold: str) -> None:
    assert not restates(text, gold, question)
