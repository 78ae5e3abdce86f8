"""--help shows the verbs by what a person is about to do."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version

import typer
from typer.testing import CliRunner

from llm_as_judge.cli import VERBS, app


def test_every_verb_stands_in_one_group() -> None:
    listed = Counter(verb for verbs in VERBS.values() for verb in verbs)
    assert listed == Counter(list(typer.main.get_command(app).commands))  # type: ignore[attr-defined]


def test_help_shows_the_groups_with_their_verbs_in_order() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "100"}).output
    lines = [line.strip("│╭─╮ ") for line in shown.splitlines()]
    wanted = [word for name, verbs in VERBS.items() for word in (name, *verbs)]
    found = [
        word for line in lines for word in wanted if line == word or line.startswith(f"{word}  ")
    ]
    assert found == wanted


def test_the_version_is_said_and_is_that_of_the_package() -> None:
    said = CliRunner().invoke(app, ["--version"])
    assert (said.exit_code, said.output) == (0, f"llm-as-judge {version('llm-as-judge')}\n")
