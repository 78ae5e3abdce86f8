"""The smallest real model, for tests that want a real embedded server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from llm_as_judge.config import load_models
from llm_as_judge.errors import ModelError
from llm_as_judge.llm.weights import fetch, installed

CACHE = Path(os.environ.get("LLM_AS_JUDGE_CACHE", "~/.cache/llm-as-judge")).expanduser()


def small_weights() -> Path:
    """SmolLM2-135M from the cache, or fetched (98 MB); skipped where nothing gives it."""
    entry = load_models()["smollm2-135m"]
    found = installed(entry, CACHE)
    if found is not None:
        return found
    try:
        return fetch(entry, CACHE)
    except ModelError as error:
        pytest.skip(str(error))
