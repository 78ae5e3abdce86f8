"""docs/programs.md says what the code says; its programs are valid."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

from program_corpus import corpus

from llm_as_judge.operators.syntax import MAX_SOURCE_CHARACTERS
from llm_as_judge.workflow import ProgramForm, extract, parse_program
from llm_as_judge.workflow.findings import ALLOWED_MODULES, FORBIDDEN_NAMES, RULES

ANSWER = 'draft = await answer_generate(input=problem)\nreturn draft["answer"]'
DEPRECATED = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis"}
"""Kinds that the parser no longer makes."""
DOCS = Path(__file__).parents[2] / "docs" / "programs.md"


def rules_table() -> str:
    rows = [f"| {code} | {rule.title} | {rule.hint} |" for code, rule in sorted(RULES.items())]
    return "\n".join(["| code | found | hint |", "|---|---|---|", *rows])


def names(words: frozenset[str]) -> str:
    return ", ".join(f"`{word}`" for word in sorted(words))


def test_every_finding_module_and_name_is_documented() -> None:
    text = DOCS.read_text()
    assert rules_table() in text
    assert f"Allowed modules: {names(ALLOWED_MODULES)}." in text
    assert f"Not available: {names(FORBIDDEN_NAMES)}, names" in text
    assert f"{MAX_SOURCE_CHARACTERS:,} characters" in text


def test_the_programs_in_the_documentation_are_valid() -> None:
    blocks = re.findall(r"\n```python( body)?\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert len(blocks) == 7
    for body, text in blocks:
        form: ProgramForm = "body" if body else "class"
        assert parse_program(text, "math", form, executors=("small",)).strictly_valid


def test_every_finding_and_every_repair_occurs_in_the_corpus() -> None:
    entries = corpus()
    expected = {code for entry in entries for code in entry.expect}
    assert RULES.keys() - expected == {"W109"}  # hostile programs: test_workflow_program.py
    repairs = {repair for entry in entries for repair in entry.repairs}
    documented = re.findall(
        r"^\| `(\w+)` \| (?=.*)",
        DOCS.read_text().split("### Repairs")[1].split("###")[0],
        re.MULTILINE,
    )
    assert repairs == set(documented)


OUTSIDE = {
    "AsyncFor": "async for d in answer_generate(input=problem):\n    pass",
    "TryStar": "try:\n    pass\nexcept* ValueError:\n    pass",
    "TypeAlias": "type Answer = str",
    "TemplateStr": 'x = t"{problem}"',
}
"""Kinds of statement and expression that the language leaves out, each with a program."""


def kinds_of(base: type[ast.AST]) -> set[str]:
    return {kind.__name__ for kind in base.__subclasses__() if not kind.__subclasses__()}


def test_each_kind_of_syntax_is_understood_or_refused() -> None:
    understood = set[str]()
    for entry in corpus():
        if entry.valid:
            tree = ast.parse(textwrap.dedent(extract(entry.text)))
            understood |= {type(node).__name__ for node in ast.walk(tree)}
    every = (kinds_of(ast.stmt) | kinds_of(ast.expr)) - DEPRECATED
    assert every - understood - {"Interpolation"} <= OUTSIDE.keys()
    for kind in every & OUTSIDE.keys():
        program = parse_program(f"{OUTSIDE[kind]}\n{ANSWER}", "math", "body")
        assert {finding.code for finding in program.diagnostics} == {"W111"}, kind
