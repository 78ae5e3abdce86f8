"""docs/python.md is run from top to bottom; blocks marked `no-run` are compiled."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python( no-run)?\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
AWAITS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


@pytest.mark.slow
async def test_the_python_page_runs_as_a_notebook_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for unrun, source in BLOCKS:
        code = compile(source, "docs/python.md", "exec", flags=AWAITS)
        if not unrun and (waiting := eval(code, names)) is not None:
            await waiting
    said = capsys.readouterr().out
    assert "True ('AnswerGenerate', 'ScEnsemble')" in said
    assert "ok " in said
    assert "'correctness'" in said


def test_imports_of_blocks_that_are_not_run_exist() -> None:
    for _, source in BLOCKS:
        for node in ast.walk(ast.parse(source)):  # 3.10: top-level await parses
            if isinstance(node, ast.ImportFrom):
                module = __import__(str(node.module), fromlist=[a.name for a in node.names])
                assert all(hasattr(module, alias.name) for alias in node.names)
