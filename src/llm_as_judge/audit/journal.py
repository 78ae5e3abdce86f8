"""What an audit has graded so far: a killed one goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llm_as_judge.errors import OutputError
from llm_as_judge.files import append_line
from llm_as_judge.types import Verdict, from_json, to_json

__all__ = ["Journal"]


class Journal:
    """One JSON line per verdict, written as it is given.

    Args:
        path: None = nothing is kept. A last line that a kill cut off is graded again.
    Raises:
        OutputError: the file cannot be read or written.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, tuple[Verdict, float]] = {}
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._known = dict(_entries(path))
        except OSError as error:
            raise OutputError(f"{path}: cannot be read ({error.strerror})") from None

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: str) -> tuple[Verdict, float] | None:
        """(verdict, seconds it took) of an earlier part of this audit."""
        return self._known.get(key)

    def keep(self, key: str, verdict: Verdict, seconds: float) -> None:
        """Notes a verdict."""
        if self._path is None:
            return
        line = {"key": key, "verdict": to_json(verdict), "seconds": seconds}
        append_line(self._path, json.dumps(line, ensure_ascii=False))

    def remove(self) -> None:
        """The audit is done and its report written."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _entries(path: Path) -> Iterator[tuple[str, tuple[Verdict, float]]]:
    if not path.exists():
        return
    text = path.read_text("utf-8", errors="replace")
    for line in text.split("\n")[:-1]:  # the last has no end: a kill cut it off
        try:
            row: Any = json.loads(line)
            yield row["key"], (from_json(Verdict, row["verdict"]), float(row["seconds"]))
        except (ValueError, TypeError, KeyError):
            continue  # graded again
