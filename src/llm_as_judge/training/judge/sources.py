"""Questions whose answers are made, not labeled: files of problems, and replies that programs gave in an evaluation.

A problem of multiple choice is shown without its options. The gold is then the text of its option, and the other options
are near misses. A question that names its options ("which of the following") is left out: nobody could answer it.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from llm_as_judge.audit.attacks import Case
from llm_as_judge.data.files import read_problems
from llm_as_judge.errors import DataError
from llm_as_judge.grading.choice import gold_options
from llm_as_judge.judge.cascade import EXACT_MATCH
from llm_as_judge.runs.table import RUNS, RunTable
from llm_as_judge.types import Problem, Verdict

LABELED, REPLY, BARE = "labeled", "reply", "bare"
"""Categories of cases: labeled by people, real and labeled by the rules, a question alone."""
_LONGEST_OPTION = 80
_NAMES_OPTIONS = re.compile(
    r"\b(?:following|follows|above|below|these|options?|choices?|statements?|except)\b|_{2,}",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(r"\b(?:all|none|both|neither|either|above|below|[A-D] and [A-D])\b|^I+\b")


def holds_problems(path: Path) -> bool:
    """Whether the first line of the file is a problem as ``data process`` writes it."""
    try:
        with path.open("rb") as file:
            first = json.loads(next((line for line in file if line.strip()), b"{}"))
    except (OSError, ValueError, RecursionError):
        return False  # the reader of labeled rows says what is wrong
    return isinstance(first, dict) and {"dataset", "answers"} <= first.keys()


def problems_of(path: Path) -> list[Case]:
    """Its questions but those of code, without a candidate.

    Raises:
        DataError: a line is no problem (``file:line``).
    """
    problems = (one for one in read_problems(path) if one.domain != "code")
    return [Case(problem, "", False, BARE, BARE) for problem in problems]


def replies_of(folder: Path) -> list[Case]:
    """Replies of an evaluation that the rules are sure of: right ones, and wrong values of mathematics.

    Raises:
        DataError: the folder holds no runs with their replies.
    """
    if not (folder / RUNS).is_file():
        raise DataError(
            f"{folder}: no {RUNS}; wanted JSONL of labeled rows, problems of `data process`, or the folder of an evaluation"
        )
    table = RunTable(folder)
    found: dict[tuple[str, str], Case] = {}
    for record in table.runs.values():
        problem, rollout = table.problems.get(record.problem), record.rollout
        if problem is None or rollout is None or not rollout.execution or not rollout.verdict:
            continue
        if problem.domain != "code" and not problem.options and _is_sure(problem, rollout.verdict):
            text = rollout.execution.answer
            correct = bool(rollout.verdict.correct)
            found[problem.id, text.strip()] = Case(problem, text, correct, REPLY, REPLY)
    if not found:
        raise DataError(
            f"{folder}: no reply that the rules are sure of; a bank keeps no replies, an evaluation does"
        )
    return list(found.values())


def _is_sure(problem: Problem, verdict: Verdict) -> bool:
    if verdict.stage in ("llm", "score") or verdict.rule == EXACT_MATCH:
        return False
    return verdict.correct is True or (problem.domain == "math" and verdict.correct is False)


def without_options(problem: Problem) -> tuple[Problem, tuple[str, ...]] | None:
    """The problem with the text of its option as gold, and the other options; None where they say nothing alone."""
    golds = gold_options(problem, problem.options)
    if len(golds) != 1 or _NAMES_OPTIONS.search(problem.question):
        return None
    (at,) = golds
    if any(len(one) > _LONGEST_OPTION or _OF_OTHERS.search(one) for one in problem.options):
        return None
    gold = problem.options[at].strip()
    others = [one.strip() for one in problem.options[:at] + problem.options[at + 1 :]]
    apart = tuple(one for one in dict.fromkeys(others) if one and one.casefold() != gold.casefold())
    if not gold or not apart:
        return None
    return replace(problem, answers=(gold,), options=()), apart
