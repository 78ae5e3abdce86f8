"""The table of verbs: what --help shows, and that functions and options agree."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import get_type_hints

import pytest
import typer
from typer.testing import CliRunner

import llm_as_judge.cli
from llm_as_judge.cli import app
from llm_as_judge.cli.table import PANELS, VERBS, Verb
from llm_as_judge.config import Config, iterate_fields

LONGEST = 60
"""Lines of a verb's function."""


def test_every_verb_stands_under_one_heading() -> None:
    listed = Counter(verb for verbs in PANELS.values() for verb in verbs)
    assert listed == Counter(list(typer.main.get_command(app).commands))  # type: ignore[attr-defined]
    assert {verb.split()[0] for verb in VERBS} == set(listed)


def test_help_shows_the_groups_with_their_verbs_in_order() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "100"}).output
    lines = [line.strip("│╭─╮ ") for line in shown.splitlines()]
    wanted = [word for name, verbs in PANELS.items() for word in (name, *verbs)]
    found = [
        word for line in lines for word in wanted if line == word or line.startswith(f"{word}  ")
    ]
    assert found == wanted


def test_the_version_is_said_and_is_that_of_the_package() -> None:
    said = CliRunner().invoke(app, ["--version"])
    assert (said.exit_code, said.output) == (0, f"llm-as-judge {version('llm-as-judge')}\n")


def test_help_loads_neither_a_verb_nor_the_configuration() -> None:
    code = (
        "import sys; from llm_as_judge.cli import app; app(['train', '--help'], standalone_mode=False); "
        "print([m for m in sys.modules if m.startswith(('llm_as_judge.config', 'llm_as_judge.cli.training', 'torch'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("verb", VERBS.values(), ids=lambda verb: verb.name)
def test_a_verbs_function_takes_what_its_options_are(verb: Verb) -> None:
    function = verb.load()
    parameters = dict(inspect.signature(function).parameters)
    if any(one.key for one in verb.options):
        assert next(iter(parameters)) == "asked"
        del parameters["asked"]
    own = {one.name: one.annotation for one in verb.options if not one.key}
    hints = get_type_hints(function)
    assert {name: hints[name] for name in parameters} == own


def test_a_key_that_an_option_sets_is_one_of_the_configuration() -> None:
    known = {name for name, _ in iterate_fields(Config)} | {"config", "model", "overrides"}
    assert {one.key for verb in VERBS.values() for one in verb.options if one.key} <= known


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train --steps three", "'--steps': found 'three', wanted a whole number"),
        ("headroom x --draws 0", "'--draws': found '0', wanted a whole number from 1 on"),
        ("monitor --every nan", "'--every': found 'nan', wanted a number from 0.1 on"),
        ("judge calibrate --precision 2", "found '2', wanted a number from 0.5 to 0.999"),
    ],
)
def test_a_number_that_an_option_cannot_be_is_named_beside_what_was_wanted(
    words: str, said: str
) -> None:
    done = CliRunner().invoke(app, words.split(), env={"COLUMNS": "160"})
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_no_function_of_the_command_line_is_long() -> None:
    functions = [
        f"{file.name}: {one.name}"
        for file in Path(llm_as_judge.cli.__file__).parent.glob("*.py")
        for one in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        and (one.end_lineno or 0) - one.lineno >= LONGEST
    ]
    assert functions == []
