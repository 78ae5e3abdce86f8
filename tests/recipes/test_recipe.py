"""Every recipe says what it does, and what a person can mend is one line and status 2."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from documented import ROOT

RECIPES = sorted(p.stem for p in (ROOT / "recipes").glob("*.py") if p.stem != "recipe")
Start = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("name", RECIPES)
def test_help_shows_how_it_is_started(start: Start, name: str) -> None:
    status, out, _ = start(f"recipes/{name}.py", "--help")
    assert (status, f"python recipes/{name}.py" in out) == (0, True)


@pytest.mark.slow
def test_a_recipe_finds_what_recipes_share_wherever_it_is_started(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "recipes" / "training_seeds.py"), "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name", [name for name in RECIPES if name not in ("agreement_programs", "levers")]
)
def test_files_that_are_not_there_are_one_line(start: Start, name: str) -> None:
    more = {"break_even": ["results.json"], "pool_without_prompts": ["out"]}
    more |= {"learned_stop": ["held"], "hopeless": ["rows"]}
    status, _, err = start(f"recipes/{name}.py", "nowhere", *more.get(name, []))
    assert status == 2
    (line,) = err.splitlines()
    assert line.removeprefix("error: ").removeprefix("BANK: ").startswith("nowhere")


def test_the_readme_lists_every_recipe() -> None:
    listed = (ROOT / "recipes" / "README.md").read_text(encoding="utf-8")
    assert [name for name in RECIPES if f"[{name}.py]({name}.py)" not in listed] == []
