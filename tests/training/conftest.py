"""Fixtures of the tests that train in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from killable_runs import Endpoint, prepared, serving


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving(Endpoint()) as found:
        yield found


@pytest.fixture
def place(tmp_path: Path, tiny_weights: Path, endpoint: Endpoint, audited: None) -> Path:
    return prepared(tmp_path, tiny_weights, endpoint.url)
