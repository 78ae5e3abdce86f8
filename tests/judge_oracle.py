"""A judge model that knows the label of every answer an audit asks about, and reads no others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from llm_as_judge.audit.attacks import Case, make_attacks, make_controls
from llm_as_judge.audit.drift import canaries
from llm_as_judge.audit.labeled import shipped_labeled
from llm_as_judge.grading.extract import clean, declared_answer
from llm_as_judge.judge.llm_judge import _capped

Says = Callable[[bool], bool]
"""Label -> what is said of it."""


def audited_cases() -> list[Case]:
    """Everything that `llm-as-judge judge audit` asks about, with the shipped rows."""
    return [*shipped_labeled(), *make_attacks(), *make_controls(), *canaries()]


class Oracle:
    """Replies to requests of :class:`llm_as_judge.judge.llm_judge.LlmJudge`.

    Args:
        cases: whose labels it knows. Any other candidate is correct if it is a reference.
        says: what it makes of a label.
    """

    def __init__(self, cases: Iterable[Case], says: Says = bool) -> None:
        self._says = says
        self._labels = {_key(case): case.correct for case in cases}

    def reply(self, asked: str) -> str:
        """The opinion, as JSON, on the object {question, reference, candidate} of ``asked``."""
        row = json.loads(asked)
        key = (row["question"], row["candidate"])
        correct = self._says(self._labels.get(key, row["candidate"] in row["reference"]))
        return json.dumps(
            {
                "candidate_final_answer": row["candidate"][:120] if correct else "",
                "reference_answer": row["reference"][0],
                "differences": "none",
                "verdict": "correct" if correct else "incorrect",
            }
        )


def _key(case: Case) -> tuple[str, str]:
    declared = declared_answer(clean(case.candidate), one_sentence=case.problem.domain == "math")
    return clean(case.problem.question), _capped(declared.text)


def asks_a_judge(body: Mapping[str, Any]) -> bool:
    """Is a request to an endpoint one of the judge's?"""
    try:
        row = json.loads(body["messages"][-1]["content"])
    except ValueError:
        return False
    return isinstance(row, dict) and row.keys() == {"question", "reference", "candidate"}
