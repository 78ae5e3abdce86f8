"""Every recipe says what it does, and what a person can mend is one line and status 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted(p.stem for p in (ROOT / "recipes").glob("*.py") if p.stem != "recipe")


def started(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "recipes" / f"{name}.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_help_shows_how_it_is_started(name: str) -> None:
    done = started(name, "--help")
    assert done.returncode == 0
    assert f"python recipes/{name}.py" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in RECIPES if name not in ("agreement_programs", "levers")]
)
def test_files_that_are_not_there_are_one_line(name: str) -> None:
    more = {"break_even": ["results.json"], "pool_without_prompts": ["out"]}
    more |= {"learned_stop": ["held"], "hopeless": ["rows"]}
    done = started(name, "nowhere", *more.get(name, []))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.removeprefix("error: ").removeprefix("BANK: ").startswith("nowhere")


def test_the_readme_lists_every_recipe() -> None:
    listed = (ROOT / "recipes" / "README.md").read_text(encoding="utf-8")
    assert [name for name in RECIPES if f"[{name}.py]({name}.py)" not in listed] == []
