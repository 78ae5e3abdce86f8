"""examples/add_an_operator.md does what it says."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

from llm_as_judge.config import shipped_dir
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators import load_registry, operator_docs, registry
from llm_as_judge.operators.registry import operator_classes
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import Problem, RunLimits
from llm_as_judge.workflow import parse_program, run_program

EXAMPLE = Path(__file__).parents[2] / "examples" / "add_an_operator.md"


@pytest.mark.slow
async def test_the_example_adds_an_operator(tmp_path: Path) -> None:
    blocks = re.findall(r"```(python|yaml)\n(.*?)```", EXAMPLE.read_text(), re.DOTALL)
    (_, source), (_, description), (_, program_text) = blocks
    (tmp_path / "decompose.py").write_text(source)
    spec = importlib.util.spec_from_file_location("decompose", tmp_path / "decompose.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path / "descriptions"
    shutil.copytree(shipped_dir() / "operator_descriptions", folder)
    (folder / "Decompose.yaml").write_text(description)

    shipped = [entry.operator for entry in registry().values()]
    operators = load_registry([*shipped, *operator_classes([module])], folder)
    assert 'decompose(problem, parts="3") -> {"questions"}' in operator_docs(
        "math", "short", operators
    )
    program = parse_program(program_text, "math", operators=operators)
    assert program.strictly_valid, program.diagnostics
    assert program.operators == ("Decompose", "Custom")
    assert program.worst_case_calls == 4

    sandbox = await open_sandbox("subprocess", list(operators))
    chat = ScriptedChat({"Split this into 2": "- What is 2?\n- What is 3?", "What is": "six"})
    try:
        execution = await run_program(
            program,
            Problem("t/t/1", "gsm8k", "math", "What is 2 * 3?", ("6",)),
            executor=chat,
            sandbox=sandbox,
            limits=RunLimits(wall_s=20),
            operators=operators,
        )
    finally:
        await sandbox.aclose()
    assert (execution.status, execution.answer) == ("ok", "six")
    assert [call.operator for call in execution.calls] == ["Decompose"] + ["Custom"] * 3
