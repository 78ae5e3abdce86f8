"""docs/python.md is run from top to bottom; blocks marked `no-run` are compiled. README's is a script."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from documented import ROOT, blocks
from llm_as_judge import GRPOTrainer
from llm_as_judge.reward import REWARD_PARTS
from restored import restored
from typed_place import ended

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


def test_the_script_of_the_readme_comes_with_its_reward_to_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (script,) = (
        b.text for b in blocks(ROOT / "README.md") if (b.kind, b.words) == ("python", "no-run")
    )
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ended(["init", str(ROOT / "examples" / "own_task.jsonl"), "--executor", "scripted"])
    begun: list[tuple[GRPOTrainer, int]] = []

    async def begin(trainer: GRPOTrainer, num_steps: int) -> None:
        begun.append((trainer, num_steps))

    monkeypatch.setattr(GRPOTrainer, "train", begin)
    with restored(REWARD_PARTS):
        scored = runpy.run_path("script.py", run_name="__main__")["brevity"]
    ((trainer, steps),) = begun
    assert trainer.config.reward.weights["brevity"] == 0.05
    assert steps == 60
    rollouts = [
        SimpleNamespace(
            program=SimpleNamespace(source="x" * n), verdict=SimpleNamespace(correct=right)
        )
        for n, right in ((199, True), (200, True), (199, False))
    ]
    assert [scored(rollout, []) for rollout in rollouts] == [10.0, -10.0, -10.0]
