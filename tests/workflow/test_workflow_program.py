"""Extraction, hostile input, repairs, the bound on calls."""

from __future__ import annotations

import random
import time
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workflow_texts import BODY, CLASS, body

from llm_as_judge.operators import OperatorEntry, registry
from llm_as_judge.types import Json
from llm_as_judge.workflow import ProgramForm, extract, form_of, parse_program
from llm_as_judge.workflow.findings import RULES


# ------------------------------------------------------------------------------------ extraction
@pytest.mark.parametrize(
    ("reply", "source"),
    [
        ("return 1", "return 1"),
        ("\n\n  return 1\n", "  return 1"),
        ("Text\n```python\nreturn 1\n```\nMore", "return 1"),
        ("```Python \nreturn 1\n```", "return 1"),
        ("```python\nreturn 1", "return 1"),
        ("```python\nfirst\n```\n```python\nsecond\n```", "first"),
        ("```\nreturn 1\n```", "```\nreturn 1\n```"),
        ("```python\r\nreturn 1\r\n```", "return 1\r"),
        ("  ```python\n  return 1\n  ```", "  return 1"),
        ("", ""),
    ],
)
def test_one_rule_extracts_the_program(reply: str, source: str) -> None:
    assert extract(reply) == source


# ---------------------------------------------------------------------------------- hostile input
HOSTILE = {
    "5 MB": "x = 1\n" * 900_000,
    "5 MB of fences": "```\n" * 1_300_000,
    "binary": "".join(chr(random.Random(0).randrange(256)) for _ in range(5000)),
    "only comments": "# nothing\n" * 500,
    "10,000 brackets": "(" * 10_000 + ")" * 10_000,
    "prefix operators": "not " * 4500 + "1",
    "attributes": "a" + ".b" * 9000,
    "calls": "a" + "()" * 9000,
    "sum": "+".join(["1"] * 9000),
    "surrogate": 'x = "\ud800"',
    "null byte": "x = 1\x00",
    "power": f"x = 9**9**9**9\n{BODY}",
    "nested loops": "".join(" " * i + "for i in range(9):\n" for i in range(18))
    + " " * 18
    + "pass",
    "doubling functions": "".join(
        f"def f{i}():\n    " + (f"f{i - 1}(); f{i - 1}()" if i else "pass") + "\n"
        for i in range(30)
    )
    + "f29()",
    "doubling list": "x = [1]\n" + "x = x + x\n" * 1000 + BODY,
    "doubling tuple": "x = (1,)\n" + "x = (x, x)\n" * 1000 + BODY,
    "doubling dict": 'x = {"a": 1}\n' + 'x = {"a": x, "b": x}\n' * 800 + BODY,
    "huge numbers": "for i in range(10**4000):\n    x = i * 10**4000\n" + BODY,
    "huge loops": "".join(" " * i + "for i in range(10**11):\n" for i in range(30))
    + " " * 30
    + "await custom(input=problem, instruction='x')\n"
    + BODY,
    "many mistakes": "await answer_generate(inputt=problem)\n" * 500,
}


@pytest.mark.parametrize("form", ["body", "class"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_gets_a_verdict_quickly(text: str, form: ProgramForm) -> None:
    started = time.process_time()  # of this process: others on the machine do not count
    program = parse_program(text, "math", form)
    assert time.process_time() - started < 10
    assert program.strictly_valid or program.diagnostics
    assert len(program.diagnostics) <= 20
    assert len(program.source) <= 100_000
    assert program.hash


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_no_text_makes_the_parser_raise(text: str) -> None:
    for form in ("class", "body"):
        parse_program(text, "qa", form)


STATEMENTS = st.lists(
    st.sampled_from(
        [
            "draft = await answer_generate(input=problem)",
            "answer = draft['answer']",
            "check = review(problem=problem, solution=answer)",
            "if check['review_result']:\n    answer = 1",
            "for i in range(3):\n    xs = [i]",
            "xs.append(answer)",
            "while True:\n    break",
            "try:\n    y = 1\nexcept Exception as e:\n    z = e\nfinally:\n    w = 1",
            "best = await sc_ensemble(solutions=xs, problem=problem)",
            "return best['response']",
            "del answer",
            "import asyncio",
            "a, *b = xs",
            "f = lambda q: q + answer",
            "xs = [f(x) for x in xs if x]",
            "with open('x') as g:\n    pass",
            "match answer:\n    case [1, x]:\n        pass",
            "global answer",
            "async def g():\n    return await custom(input=problem, instruction='i')",
            "await g()",
            "xs = {k: v for k, v in zip(xs, xs)}",
        ]
    ),
    max_size=8,
)


@given(STATEMENTS)
@settings(max_examples=300)
def test_no_mixture_of_statements_makes_the_check_raise(lines: list[str]) -> None:
    program = body("\n".join(lines))
    assert program.strictly_valid or program.diagnostics
    assert {d.code for d in program.diagnostics} <= RULES.keys()


# ---------------------------------------------------------------------------------------- repairs
def test_a_repair_changes_only_the_copy_that_runs() -> None:
    text = BODY.replace("await ", "")
    program = body(text)
    assert program.source == text.strip("\n")
    assert "await self.answer_generate" in program.runnable
    assert program.repairs == ("await",)
    assert not program.strictly_valid


def test_a_program_that_needs_no_repair_runs_as_it_is_written() -> None:
    program = parse_program(CLASS, "math")
    assert program.runnable == program.source == CLASS.strip("\n")


def test_a_repaired_program_is_clean_and_its_repair_is_stable() -> None:
    program = body(
        'draft = answer_generate(input=problem)\nif problem:\n    a = draft["answer"]\nreturn a'
    )
    again = parse_program(program.runnable, "math")
    assert set(program.repairs) == {"await", "variable_scope"}
    assert again.strictly_valid
    assert again.hash == program.hash


def test_the_scope_repair_gives_a_result_all_its_keys() -> None:
    program = body(
        'if len(problem) > 3:\n    r = await answer_generate(input=problem)\nreturn r["answer"]'
    )
    assert "r = {'thought': '', 'answer': ''}" in program.runnable


def test_diagnostics_carry_line_message_and_hint() -> None:
    (finding,) = body('d = await answer_generate(input=problem)\nreturn d["solution"]').diagnostics
    assert (finding.code, finding.line) == ("W208", 2)
    assert "'solution': AnswerGenerate returns 'thought' or 'answer'" in finding.message
    assert finding.hint


def test_lines_count_from_the_extracted_program() -> None:
    wrong = CLASS.replace('"answer"', '"x"')
    (finding,) = parse_program(f"Here:\n```python\n{wrong}```", "math").diagnostics
    assert finding.line == 8


# ------------------------------------------------------------------------------------- body form
def test_the_body_form_becomes_the_class_form() -> None:
    program = body(BODY)
    assert parse_program(program.runnable, "math").strictly_valid
    assert "return (draft['answer'], 0.0)" in program.runnable
    assert program.source == BODY.strip("\n")
    assert program.hash == parse_program(CLASS, "math").hash


def test_an_operator_name_may_be_reused_for_its_result() -> None:
    program = body(
        'custom = await custom(input=problem, instruction="x")\nreturn custom["response"]'
    )
    assert program.strictly_valid
    assert "custom = self.custom" in program.runnable


# ------------------------------------------------------------------------------- worst-case calls
@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (BODY, 1),
        ("r = await programmer(problem=problem)\nreturn r['output']", 3),
        ("xs = [await answer_generate(input=problem) for _ in range(4)]\nreturn xs[0]['answer']", 4),
        (
            ("xs = []\nfor i in range(3):\n    for j in range(2):\n"
            "        xs.append((await answer_generate(input=problem))['answer'])\n"
            "b = await md_ensemble(solutions=xs, problem=problem)\nreturn b['solution']"),
            11,
        ),
        (
            ("r = await answer_generate(input=problem)\nif r['answer']:\n    return r['answer']\n"
            "s = await custom(input=problem, instruction='x')\nreturn s['response']"),
            2,
        ),
        (
            ("r = await answer_generate(input=problem)\nif r['answer']:\n"
            "    s = await programmer(problem=problem)\n    return s['output']\n"
            "return r['answer']"),
            4,
        ),
        (
            ("r = await answer_generate(input=problem)\nfor _ in range(3):\n"
            "    c = await review(problem=problem, solution=r['answer'])\n"
            "    if c['review_result']:\n        break\n"
            "    r = {'answer': (await revise(problem=problem, solution=r['answer'],"
            " feedback=c['feedback']))['solution']}\nreturn r['answer']"),
            7,
        ),
        (
            ("async def f(n):\n    return (await custom(input=problem, instruction=str(n)))['response']\n"
            "xs = [await f(i) for i in range(5)]\nreturn xs[0]"),
            5,
        ),
        (
            ("count = 2 if len(problem) > 40 else 3\nxs = []\nfor _ in range(count):\n"
            "    xs.append((await answer_generate(input=problem))['answer'])\nreturn xs[0]"),
            3,
        ),
        (
            ("xs = []\nasync def fill():\n    for _ in range(4):\n"
            "        xs.append((await answer_generate(input=problem))['answer'])\nawait fill()\n"
            "for x in xs:\n    c = await review(problem=problem, solution=x)\nreturn xs[0]"),
            8,
        ),
        (
            ("found = {}\nfor way in ('a', 'b'):\n"
            "    found[way] = (await custom(input=problem, instruction=way))['response']\n"
            "for way in found:\n    c = await review(problem=problem, solution=found[way])\n"
            "return found['a']"),
            4,
        ),
    ],
)  # fmt: skip
def test_worst_case_calls_by_hand(text: str, calls: int) -> None:
    program = body(text)
    assert program.strictly_valid, program.diagnostics
    assert program.worst_case_calls == calls


def test_a_list_of_the_workflow_grows_in_a_loop() -> None:
    text = CLASS.replace(
        "        draft =",
        "        self.kept = []\n        for _ in range(5):\n            self.kept.append(problem)\n"
        "        for text in self.kept:\n            await self.answer_generate(input=text)\n"
        "        draft =",
    )
    program = parse_program(text, "math")
    assert program.strictly_valid, program.diagnostics
    assert program.worst_case_calls == 6


def test_the_bound_on_calls_is_an_argument() -> None:
    text = "xs = [await answer_generate(input=problem) for _ in range(4)]\nreturn xs[0]['answer']"
    assert body(text, max_calls=4).strictly_valid
    (finding,) = body(text, max_calls=3).diagnostics
    assert finding.code == "W603"
    assert "4 in the worst case, at most 3" in finding.message


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (
            'n = 50\nfor _ in range(n):\n    x = await custom(input=problem, instruction="a")\nreturn x["response"]',
            "W603",
            2,
        ),
        ("x = 1\nwhile x:\n    x = 0", "W501", 3),
    ],
    ids=["calls", "end"],
)
def test_a_finding_on_the_whole_stands_on_a_line_that_was_written(
    text: str, code: str, line: int
) -> None:
    assert (code, line) in [(found.code, found.line) for found in body(text).diagnostics]


def test_operators_are_named_in_order_of_appearance() -> None:
    text = (
        "a = await programmer(problem=problem)\n"
        'b = await format(problem=problem, solution=a["output"])\nreturn b["solution"]'
    )
    assert body(text).operators == ("Programmer", "Format")


@pytest.mark.parametrize(
    ("form", "call", "said"),
    [
        ("body", "answer_generat(input=problem)", "answer_generate"),
        ("body", "sc_ensembel(solutions=[problem], problem=problem)", "sc_ensemble"),
        ("body", "custom(input=problm)", "problem"),
        ("class", "custon(input=problem)", "self.custom"),
    ],
)
def test_a_misspelled_operator_or_variable_is_answered_with_the_nearest(
    form: ProgramForm, call: str, said: str
) -> None:
    text = f'reply = await {call}\nreturn reply["response"]'
    if form == "class":
        text = CLASS.replace("self.answer_generate(input=problem)", call)
    found = [d.message for d in parse_program(text, "math", form).diagnostics if d.code == "W302"]
    assert [message.rpartition(", did you mean ")[2] for message in found] == [f"{said}?"]


def test_other_operators_can_be_given() -> None:
    only = {"Custom": registry()["Custom"]}
    program = parse_program(BODY, "math", "body", operators=only)
    assert {d.code for d in program.diagnostics} == {"W302"}


class Poll(registry()["Custom"].operator):  # type: ignore[misc]
    """An operator that is not among the shipped ones."""

    empty: ClassVar[dict[str, Json]] = {"winner": "", "share": 0.0, "votes": []}
    worst_case_calls = 5


@pytest.mark.parametrize(
    ("ending", "codes"),
    [
        ('if r["share"] > 0.5:\n    return r["winner"]\nreturn r["votes"][0]', set()),
        ('best = await sc_ensemble(solutions=r["votes"], problem=problem)\nreturn best["response"]', set()),
        ('return r["share"]["winner"]', {"W306"}),
        ('return r["response"]', {"W208"}),
        ('for vote in r["votes"]:\n    c = await custom(vote, "?")\nreturn r["winner"]', {"W601"}),
    ],
    ids=["read", "ensemble", "item of a number", "no such key", "calls for each"],
)  # fmt: skip
def test_a_new_operator_is_checked_by_its_class_alone(ending: str, codes: set[str]) -> None:
    custom = registry()["Custom"]
    operators = {**registry(), "Poll": OperatorEntry(Poll, custom.description, custom.arguments)}
    text = f'r = await poll(input=problem, instruction="Answer.")\n{ending}'
    program = parse_program(text, "math", "body", operators=operators)
    assert {finding.code for finding in program.diagnostics} == codes
    assert program.operators[0] == "Poll"
    assert program.worst_case_calls >= 5


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("class Workflow:\n    pass", "class"),
        ("import x\n\nclass Worflow(object):\n    pass", "class"),
        ("```python\nclass Workflow:\n    pass\n```", "class"),
        ("class Workflow:\n    def (", "class"),
        ('return "a\\nclass Workflow:"', "body"),
        ("r = await custom(input=problem)\nreturn r['response']", "body"),
        ("    indented = 1", "body"),
        ("I cannot do that.", "body"),
        ("", "body"),
    ],
    ids=repr,
)
def test_the_form_of_a_program_is_seen_in_its_text(text: str, form: str) -> None:
    assert form_of(text) == form
