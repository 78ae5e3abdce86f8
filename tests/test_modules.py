"""Every module's first line names a thing."""

from __future__ import annotations

import ast
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
    words = (ast.get_docstring(ast.parse(source)) or "").split(maxsplit=1)
    return bool(words) and words[0].strip(",.:").lower() in ASKING


@pytest.mark.parametrize("first", ["What a run leaves.", "Which, of all", "this: a module"])
def test_a_question_word_at_the_start_is_seen(first: str) -> None:
    assert asks(f'"""{first}"""')
    assert not asks(f'"""Files of a run: {first}"""')


def test_no_modules_first_line_begins_with_a_question_word() -> None:
    assert len(MODULES) > 300
    assert [str(one.relative_to(ROOT)) for one in MODULES if asks(one.read_text("utf-8"))] == []
