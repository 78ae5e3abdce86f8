"""A documented script is a door to a verb: it calls it, or says how to enter the environment."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def open_door(*verb: str) -> None:
    """Run ``llm-as-judge VERB`` with this process's arguments; exit status 2 if that is not
    installed for the Python that runs."""
    try:
        from llm_as_judge.cli import main
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
    main([*verb, *sys.argv[1:]])
