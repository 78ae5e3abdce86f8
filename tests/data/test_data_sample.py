"""The built-in sample is right: every number is computed again, every reference is run."""

import json
import math
import re
from importlib import resources
from pathlib import Path

import pytest

from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.types import Problem

SAMPLE = Path(str(resources.files("llm_as_judge.data") / "sample"))


def problems(name: str) -> list[Problem]:
    dataset = CATALOG[name]
    return [dataset.convert(row, dataset.split) for row in dataset.rows(dataset.find(SAMPLE))]


@pytest.mark.parametrize("name", ["gsm8k", "math", "squad2", "hotpotqa", "mbpp"])
def test_every_set_has_forty_different_rows(name: str) -> None:
    found = problems(name)
    assert len(found) >= 40
    assert len({problem.id for problem in found}) == len(found)
    assert len({(problem.context, problem.question) for problem in found}) == len(found)


def test_every_calculation_of_a_word_problem_is_right() -> None:
    for problem in problems("gsm8k"):
        steps = re.findall(r"<<([0-9+\-*/.]+)=([0-9.]+)>>([0-9.]*[0-9])", problem.meta["solution"])
        assert steps
        for expression, value, shown in steps:
            assert math.isclose(eval(expression), float(value))
            assert value == shown
        assert math.isclose(float(problem.answers[0]), float(steps[-1][1]))


def test_mathematics_covers_seven_subjects_with_one_box_each() -> None:
    found = problems("math")
    assert len({problem.meta["subject"] for problem in found}) == 7
    assert all(problem.meta["solution"].count(r"\boxed") == 1 for problem in found)


def test_every_alias_stands_where_it_says() -> None:
    found = problems("squad2")
    for problem in found:
        aliases = json.loads(problem.meta["answers"])
        starts = json.loads(problem.meta["answer_starts"])
        for alias, start in zip(aliases, starts, strict=True):
            assert problem.context[start : start + len(alias)] == alias
        assert 60 <= len(problem.context.split()) <= 120
    unanswerable = sum(not problem.answers for problem in found)
    assert 0.25 <= unanswerable / len(found) <= 0.4


def test_supporting_facts_exist_and_hold_the_answer() -> None:
    for problem in problems("hotpotqa"):
        lengths = dict(json.loads(problem.meta["paragraphs"]))
        texts = dict(part.split(": ", 1) for part in problem.context.split("\n\n"))
        support = ""
        for title, sentence in json.loads(problem.meta["supporting_facts"]):
            start = sum(lengths[title][:sentence])
            support += f"{title} {texts[title][start : start + lengths[title][sentence]]} "
        answer = re.sub(r"^(the|a|an) ", "", problem.answers[0])
        assert answer in ("yes", "no") or answer.lower() in support.lower()
        assert len(texts) == 5


def test_references_pass_their_tests_and_constants_do_not() -> None:
    for problem in problems("mbpp"):
        tests = "\n".join([*problem.visible_tests, *problem.hidden_tests])
        assert len(problem.hidden_tests) >= 2
        scope: dict[str, object] = {}
        exec(f"{problem.setup_code}\n{problem.meta['reference']}\n{tests}", scope)
        constants: tuple[object, ...] = (None, 0, "", [], True, False)
        for constant in constants:
            scope[problem.entry_point] = lambda *_, value=constant: value
            with pytest.raises((AssertionError, TypeError)):
                exec("\n".join(problem.hidden_tests), scope)
