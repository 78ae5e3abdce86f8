"""Prompts: one pass of filling, honest cuts, shipped examples that keep the rules they teach."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.config import shipped_dir
from llm_as_judge.errors import ConfigError
from llm_as_judge.operators import operator_docs, registry
from llm_as_judge.policy.prompt import Example, PolicyPrompt, fill, shorten
from llm_as_judge.types import BUDGETS, DOMAINS, Domain, Message, Problem, PromptFacts
from llm_as_judge.workflow.program import extract, parse_program

SHIPPED = shipped_dir() / "prompts" / "policy"
DOCS: dict[Domain, str] = {domain: f"operators of {domain}" for domain in DOMAINS}
TEMPLATE = """
system: "S <<operators>>"
user: "U <<domain>>: <<problem>>"
examples:
  math:
    - {problem: "1 + 1?", program: "return {x}"}
"""


def templated(folder: Path, text: str = TEMPLATE, **options: Any) -> PolicyPrompt:
    """The prompt of a template of our own."""
    (folder / "body.yaml").write_text(text)
    return PolicyPrompt(folder, "body", DOCS, **options)


def messages(prompt: PolicyPrompt, problem: Problem) -> Sequence[Message]:
    (one,) = prompt.write([problem])
    return one.messages


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
    found = messages(
        templated(tmp_path), Problem("g/1", "g", "math", "what is {x} in <<operators>>?")
    )
    assert [(m.role, m.content) for m in found] == [
        ("system", "S operators of math"),
        ("user", "U math: 1 + 1?"),
        ("assistant", "```python\nreturn {x}\n```"),
        ("user", "U math: what is {x} in <<operators>>?"),
    ]


def test_each_domain_has_rules_of_its_own(tmp_path: Path) -> None:
    prompt = templated(
        tmp_path, "system: 'rules: <<rules>>'\nuser: u\nrules: {math: count, qa: <<operators>>}"
    )
    told = [messages(prompt, Problem("g/1", "g", domain, "?"))[0].content for domain in DOMAINS]
    assert told == ["rules: count", "rules: <<operators>>", "rules: "]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("form", ["class", "body"])
def test_shipped_rules_speak_of_operators_that_the_domain_has(
    form: Literal["class", "body"], domain: Domain
) -> None:
    prompt = PolicyPrompt(SHIPPED, form, DOCS)
    told = messages(prompt, Problem("g/1", "g", domain, "?"))[0].content
    known = {entry.call_name for entry in registry().values()}
    named = set(re.findall(r"`(\w+)`", told)) & known
    shown = operator_docs(domain, "short")
    assert named
    assert all(f"{name}(" in shown for name in named)


def test_only_the_problem_differs_between_prompts_of_a_domain(tmp_path: Path) -> None:
    prompt = templated(tmp_path)
    one, two = (messages(prompt, Problem("g/1", "g", "math", text)) for text in ("a", "b"))
    assert one[:-1] == two[:-1]
    assert one[-1] != two[-1]


def test_a_long_problem_is_cut_with_a_mark(tmp_path: Path) -> None:
    prompt = templated(tmp_path, problem_chars=100)
    last = messages(prompt, Problem("g/1", "g", "qa", "q" * 250))[-1].content
    assert "[... 150 characters left out ...]" in last


# ----------------------------------------------------------- retrieved examples, and what must fit
class Source:
    """Gives every problem the same examples."""

    def __init__(self, *programs: str, top_k: int = 2) -> None:
        self.top_k = top_k
        self.shown = tuple(Example(problem=f"as {p}", program=p, problem_id=p) for p in programs)

    def examples(self, problems_P: Sequence[Problem]) -> list[tuple[Example, ...]]:
        return [self.shown] * len(problems_P)


def shown_programs(messages: Sequence[Message]) -> list[str]:
    return [m.content.split("\n")[1] for m in messages if m.role == "assistant"]


@pytest.mark.parametrize(
    ("retrieved", "shown"),
    [
        ((), ["shipped 1", "shipped 2"]),
        (("x",), ["shipped 1", "x"]),
        (("x", "y"), ["x", "y"]),
    ],
    ids=["none", "one", "all"],
)
def test_retrieved_examples_take_places_from_the_back(
    tmp_path: Path, retrieved: tuple[str, ...], shown: list[str]
) -> None:
    prompt = templated(
        tmp_path,
        "system: s\nuser: <<problem>>\nexamples: {math: [{problem: p, program: shipped 1}, "
        "{problem: q, program: shipped 2}]}",
        memory=Source(*retrieved),
    )
    written = prompt.write([Problem("g/1", "g", "math", "p?")])[0]
    assert shown_programs(written.messages) == shown
    assert written.facts == PromptFacts(2, retrieved)


def test_the_shipped_examples_can_be_left_out(tmp_path: Path) -> None:
    found = messages(templated(tmp_path, examples=False), Problem("g/1", "g", "math", "p"))
    assert [m.role for m in found] == ["system", "user"]


def characters(messages: Sequence[Message]) -> int:
    return sum(len(m.content) for m in messages)


def limited(tmp_path: Path, most: int) -> PolicyPrompt:
    text, memory = "system: system\nuser: <<problem>>\n", Source("far", "near")
    return templated(tmp_path, text, memory=memory, count_tokens=characters, max_tokens=most)


# system 6, "as far" 6, far's program 17, "as near" 7, near's 18 characters
@pytest.mark.parametrize(
    ("most", "facts"),
    [
        (154, PromptFacts(2, ("far", "near"))),
        (153, PromptFacts(1, ("near",), 1)),
        (131, PromptFacts(1, ("near",), 1)),
        (130, PromptFacts(0, (), 2)),
        (106, PromptFacts(0, (), 2)),
        # 34 characters of mark, 60 of the problem
        (100, PromptFacts(0, (), 2, cut_characters=40)),
    ],
)
def test_examples_leave_from_the_front_and_the_problem_is_cut_last(
    tmp_path: Path, most: int, facts: PromptFacts
) -> None:
    written = limited(tmp_path, most).write([Problem("g/1", "g", "math", "q" * 100)])[0]
    assert written.facts == facts
    assert characters(written.messages) <= most
    assert ("characters left out" in written.messages[-1].content) == bool(facts.cut_characters)


@pytest.mark.parametrize(
    ("most", "problem", "said"),
    [
        (60, "q" * 100, r"longer than 60 tokens; raise sampling\.max_prompt"),
        (8, "2 + 2?", "longer than 8 tokens"),  # a short problem is never cut
    ],
)
def test_rules_that_leave_no_room_for_the_problem_are_an_error(
    tmp_path: Path, most: int, problem: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        messages(limited(tmp_path, most), Problem("g/1", "g", "math", problem))


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (
            "system: s\nuser: u\nrules: {math: count}",
            {},
            "there are rules by domain, but no <<rules",
        ),
        (None, {}, "no such prompt template"),
        ("system: s", {}, ""),
        ("system: [", {}, ""),
        ("system: s\nuser: u\nusr: u", {}, ""),
        ("system: s\nuser: u", {"brief": True}, r"no text `brief`, which sampling\.prompt"),
    ],
    ids=["no place for rules", "missing", "half", "no YAML", "unknown key", "no brief text"],
)
def test_a_template_that_cannot_be_used_is_a_config_error_that_names_the_file(
    tmp_path: Path, text: str | None, options: dict[str, Any], said: str
) -> None:
    if text is not None:
        (tmp_path / "body.yaml").write_text(text)
    with pytest.raises(ConfigError, match=rf"body\.yaml: {said}"):
        PolicyPrompt(tmp_path, "body", DOCS, **options)


def test_what_stands_before_the_problem_is_equal_at_all_budgets(tmp_path: Path) -> None:
    prompt = PolicyPrompt(SHIPPED, "body", DOCS, budget="middle")
    same = [Problem("g/1", "g", "math", "?")] * 3
    found = prompt.write(same, BUDGETS)
    assert [one.facts.budget for one in found] == list(BUDGETS)
    assert len({tuple(one.messages[:-1]) for one in found}) == 1
    for word, one in zip(BUDGETS, found, strict=True):
        assert one.messages[-1].content.startswith(f"The budget for calls is {word}: ")
    assert prompt.write(same) == [found[1]] * 3
    assert prompt.write(same[:1], [None]) == PolicyPrompt(SHIPPED, "body", DOCS).write(same[:1])


def test_the_brief_text_stands_alone_but_for_what_was_retrieved(tmp_path: Path) -> None:
    text = (
        "system: long\nbrief: short <<operators>>\nuser: <<problem>>\n"
        "examples: {math: [{problem: p, program: shown}]}\n"
    )
    asked = Problem("g/1", "g", "math", "?")
    brief = messages(templated(tmp_path, text, brief=True), asked)
    assert [turn.content for turn in brief] == [f"short {DOCS['math']}", "?"]
    kept = messages(templated(tmp_path, text, brief=True, memory=Source("kept")), asked)
    assert [turn.content for turn in kept][1:] == ["as kept", "```python\nkept\n```", "?"]


# --------------------------------------------------------------------------- examples that rotate
ROTATING = """
system: s
user: <<problem>>
examples:
  math: [{problem: p, program: one}, {problem: q, program: two}, {problem: r, program: last}]
rotating:
  math:
    branch: [{problem: b, program: vote(1)}, {problem: c, program: if 2}]
    loop: [{problem: l, program: vote(3)}, {problem: m, program: for 4}]
"""


def rotated(
    tmp_path: Path, count: int, seed: int = 0, hidden: Sequence[str] = ()
) -> list[list[str]]:
    prompt = templated(tmp_path, ROTATING, seed=seed, hidden=hidden)
    problems = [Problem(f"g/{n}", "g", "math", "p?") for n in range(count)]
    return [shown_programs(written.messages) for written in prompt.write(problems)]


def test_a_problem_is_shown_one_branch_and_one_loop_and_the_last_example(tmp_path: Path) -> None:
    shown = rotated(tmp_path, 40)
    for branch, loop, *fixed in shown:
        assert branch in ("vote(1)", "if 2")
        assert loop in ("vote(3)", "for 4")
        assert fixed == ["last"]
    assert len({tuple(programs) for programs in shown}) == 4


def test_which_ones_depends_on_the_problem_and_the_seed_alone(tmp_path: Path) -> None:
    shown = rotated(tmp_path, 40)
    assert rotated(tmp_path, 40) == shown
    assert rotated(tmp_path, 1) == shown[:1]
    assert rotated(tmp_path, 40, seed=1) != shown


def test_no_example_calls_an_operator_that_is_not_shown(tmp_path: Path) -> None:
    assert rotated(tmp_path, 9, hidden=["vote"]) == [["if 2", "for 4", "last"]] * 9
    assert rotated(tmp_path, 2, hidden=["vote", "Vo"]) == [["if 2", "for 4", "last"]] * 2


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("form", ["class", "body"])
def test_shipped_examples_are_strictly_valid_branch_and_loop_with_the_operators_of_the_host(
    form: Literal["class", "body"], domain: Domain
) -> None:
    prompt = PolicyPrompt(SHIPPED, form, DOCS)
    seen: set[str] = set()
    for n in range(60):
        turns = messages(prompt, Problem(f"g/{n}", "g", domain, "?"))
        programs = [turn.content for turn in turns if turn.role == "assistant"]
        assert len(programs) == 3
        seen.update(programs)
    for text in seen:
        parsed, program = parse_program(text, domain, form), extract(text)
        assert parsed.strictly_valid, (text, parsed.diagnostics, parsed.repairs)
        assert len(program) < (1300 if form == "class" else 520)
    body = "\n".join(seen)
    assert "    return" in body
    assert "for _ in range" in body
    assert ("until_passed(" if domain == "code" else "until_agree(") in body


def test_without_the_operators_of_the_host_the_shipped_examples_are_those_of_the_ten() -> None:
    hidden = ["vote", "until_agree", "until_passed", "Vote", "UntilAgree", "UntilPassed"]
    for domain in DOMAINS:
        prompt = PolicyPrompt(SHIPPED, "body", DOCS, hidden=hidden)
        one, two = (prompt.write([Problem(f"g/{n}", "g", domain, "?")])[0] for n in (0, 1))
        assert one.messages == two.messages
        assert len(shown_programs(one.messages)) == 3
