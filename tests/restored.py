"""Registries as they were: what a test adds to one is gone when its block ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from llm_as_judge import plugins
from llm_as_judge.plugins import Registry


@contextmanager
def restored(registry: Registry[Any]) -> Iterator[None]:
    before = dict(registry._held)
    try:
        yield
    finally:
        registry._held = before


@contextmanager
def plugins_restored() -> Iterator[None]:
    """All registries, and which plugins are loaded: for commands whose configuration names some."""
    loaded = dict(plugins._loaded)
    with ExitStack() as stack:
        for registry in plugins._registries:
            stack.enter_context(restored(registry))
        try:
            yield
        finally:
            plugins._loaded = loaded
