"""--dry-run of every verb that has it: it says what would be asked, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from called_verbs import Verbs

from llm_as_judge.cli.table import VERBS

RUNS = {
    "train": ("--steps", "2"),
    "evaluate": ("--policy", "direct"),
    "headroom": ("mine.jsonl", "--limit", "6"),
}
"""Verb -> its other words."""


def _files(folder: Path) -> dict[Path, tuple[int, bytes]]:
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"folder")
        for path in folder.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }


def test_every_verb_with_a_dry_run_is_tried() -> None:
    has = {name for name, verb in VERBS.items() for one in verb.options if one.name == "dry_run"}
    assert has == set(RUNS)


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("name", RUNS)
def test_a_dry_run_writes_nothing(verb: Verbs, folder: Path, name: str) -> None:
    before = _files(folder)
    code, out, err = verb(name, *RUNS[name], "--dry-run")
    assert "estimate: " in out + err
    assert code in (0, 2), err  # 2: there is no policy on this machine
    assert _files(folder) == before
