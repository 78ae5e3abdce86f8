"""Judges that rewarded a policy, and whether one of them was never shown to be fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_as_judge.files import read_json

_FILES = ("run.json", "state.json")


def judges_of(folder: Path) -> list[dict[str, Any]]:
    """``judges`` of a run (run.json) or a checkpoint (state.json); empty where none is noted."""
    for name in _FILES:
        try:
            document = read_json(folder / name)
        except (OSError, ValueError):
            continue
        noted = document.get("judges") if isinstance(document, dict) else None
        if isinstance(noted, list):
            return [one for one in noted if isinstance(one, dict)]
    return []


def grading_version_of(checkpoint: Path) -> int:
    """Of the rules that rewarded a checkpoint (state.json); 1 where it does not say."""
    try:
        version = read_json(checkpoint / "state.json")["grading_version"]
    except (OSError, ValueError, TypeError, KeyError):
        return 1
    return version if isinstance(version, int) else 1


def unaudited_warning(judges: Sequence[Mapping[str, Any]]) -> str | None:
    """One line for people; None if every judge had passed its audit."""
    forced = [one for one in judges if one.get("audit") != "passed"]
    if not forced:
        return None
    first = forced[0]
    return (
        f"unaudited judge: {first.get('judge')} rewarded from step {first.get('from_step')} on "
        f"though {first.get('reason')} (--force-unaudited-judge)"
    )
