"""Every test of a verb has a folder of its own and calls verbs in this process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from called_verbs import Verbs
from held_out import ROWS

from llm_as_judge.data.files import write_problems


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder, away from the person's own environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LLM_AS_JUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    for name in ("LLM_AS_JUDGE_CONFIG", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    before = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)}
    yield tmp_path
    for number, handler in before.items():  # a stopped verb leaves them ignored
        signal.signal(number, handler)


@pytest.fixture
def verb(capsys: pytest.CaptureFixture[str]) -> Verbs:
    return Verbs(capsys)


@pytest.fixture
def held_out_rows(folder: Path) -> None:
    """The test files of ``ROWS``."""
    for name, rows in ROWS.items():
        write_problems(folder / "data" / "test" / f"{name}_test.jsonl", rows)
