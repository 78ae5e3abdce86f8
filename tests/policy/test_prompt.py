"""Prompts: one pass of filling, honest cuts, shipped examples that keep the rules they teach."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.config import config_dir
from llm_as_judge.errors import ConfigError
from llm_as_judge.policy.prompt import PolicyPrompt, fill, shorten
from llm_as_judge.types import Domain, Problem
from llm_as_judge.workflow.program import parse_program

SHIPPED = config_dir() / "prompts" / "policy"
DOMAINS: tuple[Domain, ...] = ("math", "qa", "code")
DOCS: dict[Domain, str] = {domain: f"operators of {domain}" for domain in DOMAINS}
TEMPLATE = """
system: "S <<operators>>"
user: "U <<domain>>: <<problem>>"
examples:
  math:
    - {problem: "1 + 1?", program: "return {x}"}
"""


def test_filling_leaves_braces_and_placeholders_inside_values_alone() -> None:
    values = {"domain": "<<problem>>", "problem": "{0} {x!r} %s <<domain>> <<nobody>> \\1"}
    assert fill("<<domain>> | <<problem>> | {kept}", values) == (
        "<<problem>> | {0} {x!r} %s <<domain>> <<nobody>> \\1 | {kept}"
    )


@given(st.text())
def test_any_value_arrives_unchanged(value: str) -> None:
    assert fill("a <<problem>> b", {"problem": value}) == f"a {value} b"


def test_an_unknown_placeholder_is_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"<<probelm>> \(known: domain, problem\)"):
        fill("<<probelm>>", {"problem": "p", "domain": "d"})


def test_a_short_text_is_not_cut() -> None:
    assert shorten("x" * 9, 9) == "x" * 9


def test_a_cut_is_marked_and_keeps_beginning_and_end() -> None:
    # 9 of 20 kept: a third in front, the rest behind
    assert shorten("abc" + "-" * 11 + "uvwxyz", 9) == "abc [... 11 characters left out ...] uvwxyz"


@given(st.text(), st.integers(3, 50))
def test_a_cut_text_is_limit_characters_and_the_mark(text: str, limit: int) -> None:
    found = shorten(text, limit)
    if len(text) <= limit:
        assert found == text
    else:
        mark = f" [... {len(text) - limit} characters left out ...] "
        assert len(found) == limit + len(mark)
        assert mark in found


def test_messages_are_rules_then_examples_then_the_problem(tmp_path: Path) -> None:
    (tmp_path / "body.yaml").write_text(TEMPLATE)
    prompt = PolicyPrompt(tmp_path, "body", DOCS, problem_chars=600)
    found = prompt.messages(Problem("g/1", "g", "math", "what is {x} in <<operators>>?"))
    assert [(m.role, m.content) for m in found] == [
        ("system", "S operators of math"),
        ("user", "U math: 1 + 1?"),
        ("assistant", "```python\nreturn {x}\n```"),
        ("user", "U math: what is {x} in <<operators>>?"),
    ]


def test_only_the_problem_differs_between_prompts_of_a_domain(tmp_path: Path) -> None:
    (tmp_path / "body.yaml").write_text(TEMPLATE)
    prompt = PolicyPrompt(tmp_path, "body", DOCS)
    one, two = (prompt.messages(Problem("g/1", "g", "math", text)) for text in ("a", "b"))
    assert one[:-1] == two[:-1]
    assert one[-1] != two[-1]


def test_a_long_problem_is_cut_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / "body.yaml").write_text(TEMPLATE)
    prompt = PolicyPrompt(tmp_path, "body", DOCS, problem_chars=100)
    last = prompt.messages(Problem("g/1", "g", "qa", "q" * 250))[-1].content
    assert "[... 150 characters left out ...]" in last


def test_a_missing_template_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"body\.yaml: no such prompt template"):
        PolicyPrompt(tmp_path, "body", DOCS)


@pytest.mark.parametrize("text", ["system: s", "system: [", "system: s\nuser: u\nusr: u"], ids=repr)
def test_a_broken_template_is_a_config_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "body.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"body\.yaml: "):
        PolicyPrompt(tmp_path, "body", DOCS)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("form", ["class", "body"])
def test_every_shipped_example_is_strictly_valid(
    form: Literal["class", "body"], domain: Domain
) -> None:
    turns = PolicyPrompt(SHIPPED, form, DOCS).messages(Problem("g/1", "g", domain, "?"))
    shown = [turn.content for turn in turns if turn.role == "assistant"]
    assert shown
    for text in shown:
        program = parse_program(text, domain, form)
        assert program.strictly_valid, (text, program.diagnostics, program.repairs)
