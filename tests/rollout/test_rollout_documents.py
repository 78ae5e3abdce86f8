"""Documents of a run: programs see them, judge and policy do not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from environments import environment

from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators.retrieval import Library
from llm_as_judge.types import ChatModel, Execution, Problem, Program, Verdict

LIBRARY = Library(("Keys: Ada keeps key 1.", "Badges: yellow.", "Hours: nine to five."), 2)
QUESTION = Problem("mine/1", "mine", "qa", "Who keeps key 1, and what are the hours?", ("Ada",))


class SeenJudge:
    def __init__(self) -> None:
        self.seen: list[Problem] = []

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        self.seen.append(problem)
        return Verdict(True, "exact", "equal")


async def test_the_program_gets_the_passages_and_the_judge_the_row_as_it_is() -> None:
    ran: list[Problem] = []

    async def run(program: Program, problem: Problem, executor: ChatModel) -> Execution:
        ran.append(problem)
        return Execution("ok", "Ada")

    judge = SeenJudge()
    env = environment(run, judge, ScriptedChat(), documents=LIBRARY)
    execution = await env.run(Program("x", "x"), QUESTION)
    await env.grade(QUESTION, execution)
    assert [problem.context for problem in ran] == [
        "Keys: Ada keeps key 1.\n\nHours: nine to five."
    ]
    assert judge.seen == [QUESTION]


@pytest.mark.parametrize(
    "problem",
    [
        replace(QUESTION, context="Key 1 was lost."),
        replace(QUESTION, question="Context:\nKey 1.\n\nQuestion: Who?"),
        replace(QUESTION, domain="math"),
        replace(QUESTION, dataset="commonsenseqa"),
    ],
    ids=["context", "context in the question", "math", "a shipped set"],
)
def test_whoever_needs_no_passages_gets_none(problem: Problem) -> None:
    assert LIBRARY.opened(problem) is problem


def test_another_passage_number_or_order_is_another_library() -> None:
    passages = LIBRARY.passages
    others = [Library(passages, 3), Library(passages[::-1], 2), Library(passages[:2], 2)]
    assert len({one.sha256 for one in [LIBRARY, *others]}) == 4
    assert LIBRARY.sha256 == Library(list(passages), 2).sha256


def test_fewer_passages_than_are_wanted_and_a_question_of_no_words_are_no_error() -> None:
    all_of_them = "\n\n".join(LIBRARY.passages)
    assert Library(LIBRARY.passages, 9).opened(QUESTION).context == all_of_them
    assert Library(LIBRARY.passages, 9).opened(replace(QUESTION, question="?")).context
