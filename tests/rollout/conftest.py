"""A prompt of two lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_as_judge.policy.prompt import PolicyPrompt


@pytest.fixture
def prompt(tmp_path: Path) -> PolicyPrompt:
    (tmp_path / "body.yaml").write_text("system: <<operators>>\nuser: <<problem>>\n")
    return PolicyPrompt(tmp_path, "body", {"math": "m", "qa": "q", "code": "c"})
