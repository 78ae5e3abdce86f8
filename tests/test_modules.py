"""Every module's first line names a thing; few functions take the whole configuration."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ASKING = frozenset({"what", "which", "who", "whose", "where", "how", "this"})
MODULES = sorted(
    file
    for folder in ("src", "tests", "benchmarks", "scripts", "recipes", "examples")
    for file in (ROOT / folder).rglob("*.py")
)


def asks(source: str) -> bool:
    """Whether the first line of the module's docstring points to a thing and does not name it."""
    found = re.match(r'(?:#.*\n|\s)*r?"""\s*(\w+)', source)
    return found is not None and found[1].lower() in ASKING


@pytest.mark.parametrize("first", ["What a run leaves.", "Which, of all", "this: a module"])
def test_a_question_word_at_the_start_is_seen(first: str) -> None:
    assert asks(f'"""{first}"""')
    assert not asks(f'"""Files of a run: {first}"""')


def test_no_modules_first_line_begins_with_a_question_word() -> None:
    assert len(MODULES) > 300
    assert [str(one.relative_to(ROOT)) for one in MODULES if asks(one.read_text("utf-8"))] == []


MOST_WITH_CONFIG = 24
"""Functions outside of assembly, cli and config that may name ``Config``: fewer, never more."""


def functions_with_config() -> list[str]:
    """``file.py:name`` of each whose signature names the class."""
    package, found = ROOT / "src" / "llm_as_judge", []
    for file in sorted(package.rglob("*.py")):
        if file.relative_to(package).parts[0] in ("assembly", "cli", "config"):
            continue
        source = file.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if "Config" in source else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                returned = ast.unparse(node.returns) if node.returns else ""
                if re.search(r"\bConfig\b", ast.unparse(node.args) + " " + returned):
                    found.append(f"{file.relative_to(package)}:{node.name}")
    return found


def test_few_functions_take_the_whole_configuration() -> None:
    found = functions_with_config()
    assert len(found) <= MOST_WITH_CONFIG, "\n".join(found)
    own = ("training/", "policy/", "workers/", "rollout/")
    assert not [one for one in found if one.startswith(own)]
