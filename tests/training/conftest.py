"""Fixtures of whole runs, in this process and in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from killable_runs import Endpoint, prepared, serving
from tiny_runs import tiny_place


@pytest.fixture
def place(
    tmp_path: Path, tiny_weights: Path, audits: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder for runs of the tiny policy."""
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(tmp_path / "config"))
    return tiny_place(tmp_path, tiny_weights, audits)


@pytest.fixture(scope="module")
def shared_place(
    tmp_path_factory: pytest.TempPathFactory, tiny_weights: Path, audits: Path
) -> Iterator[Path]:
    """A folder for runs that several tests read."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLM_AS_JUDGE_CONFIG", str(folder / "config"))
        yield tiny_place(folder, tiny_weights, audits)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(Endpoint()) as found:
        yield found


@pytest.fixture
def served_place(tmp_path: Path, tiny_weights: Path, audits: Path, endpoint: Endpoint) -> Path:
    """A folder for runs of the tiny policy in processes of their own, which ask ``endpoint``."""
    return prepared(tiny_place(tmp_path, tiny_weights, audits), endpoint.url)
