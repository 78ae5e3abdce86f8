"""Registries as they were: what a test adds to one is gone when its block ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llm_as_judge.plugins import Registry


@contextmanager
def restored(registry: Registry[Any]) -> Iterator[None]:
    before = dict(registry._held)
    try:
        yield
    finally:
        registry._held = before
