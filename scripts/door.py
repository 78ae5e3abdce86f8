"""A documented script is a door to a verb or a recipe: it calls it, or says how to enter the environment."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def open_door(*verb: str) -> None:
    """Run ``llm-as-judge VERB`` with this process's arguments; exit status 2 if that is not
    installed for the Python that runs."""
    _require_package()
    from llm_as_judge.cli import main

    main([*verb, *sys.argv[1:]])


def open_recipe(name: str) -> None:
    """Run ``recipes/NAME.py`` with this process's arguments; see :func:`open_door`."""
    _require_package()
    sys.path.insert(0, str(ROOT / "recipes"))
    runpy.run_path(str(ROOT / "recipes" / f"{name}.py"), run_name="__main__")


def _require_package() -> None:
    try:
        import llm_as_judge.cli  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("llm_as_judge."):
            raise  # a broken installation of ours is a bug, not the person's mistake
        there = (ROOT / ".venv" / "bin" / "python").is_file()
        remedy = "source .venv/bin/activate" if there else "pip install -r requirements.txt"
        where = f"in {ROOT}, then start this again" if there else f"in {ROOT}, or: make setup"
        print(
            f"error: {sys.executable} has no {error.name}; run: {remedy} {where}", file=sys.stderr
        )
        sys.exit(2)
