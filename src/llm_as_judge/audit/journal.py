"""Journal of the answers that an audit has graded: a killed one goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from llm_as_judge.files import output_errors
from llm_as_judge.jsonl import Broken, JsonLines
from llm_as_judge.types import Verdict, from_json, to_json


class Journal:
    """One JSON line per verdict, written as it is given.

    Args:
        path: None = nothing is kept. A last line that a kill cut off is graded again.
    Raises:
        OutputError: its folder cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            with output_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
        self._file = JsonLines(path) if path is not None else None
        self._known = dict(_entries(self._file)) if self._file else {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: str) -> tuple[Verdict, float] | None:
        """(verdict, seconds it took) of an earlier part of this audit."""
        return self._known.get(key)

    def keep(self, key: str, verdict: Verdict, seconds: float) -> None:
        """Notes a verdict.

        Raises:
            OutputError: the file cannot be written.
        """
        if self._file is not None:
            self._file.append({"key": key, "verdict": to_json(verdict), "seconds": seconds})

    def remove(self) -> None:
        """The audit is done and its report written."""
        if self._file is not None:
            self._file.rewrite(())


def _entries(file: JsonLines) -> Iterator[tuple[str, tuple[Verdict, float]]]:
    for row in file.sound_rows(Broken()):  # a line that cannot be read is graded again
        try:
            yield row["key"], (from_json(Verdict, row["verdict"]), float(row["seconds"]))
        except (ValueError, TypeError, KeyError):
            continue
