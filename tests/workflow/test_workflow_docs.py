"""docs/programs.md says what the code says; its programs are valid."""

from __future__ import annotations

import re
from pathlib import Path

from program_corpus import corpus

from llm_as_judge.operators.syntax import MAX_SOURCE_CHARACTERS
from llm_as_judge.workflow import ProgramForm, parse_program
from llm_as_judge.workflow.findings import RULES
from llm_as_judge.workflow.vocabulary import ALLOWED_MODULES, FORBIDDEN_NAMES

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
    assert len(blocks) == 2
    for body, text in blocks:
        form: ProgramForm = "body" if body else "class"
        assert parse_program(text, "math", form).strictly_valid


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
