"""An operator of a plugin is an operator: checked, in the prompt, allowed and run in the sandbox."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_as_judge import plugins
from llm_as_judge.errors import ConfigError
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators import operator_docs, operator_facts, registry
from llm_as_judge.operators.registry import OWN_OPERATORS
from llm_as_judge.plugins import load_plugins, plugin_facts
from llm_as_judge.types import Problem, RunLimits
from llm_as_judge.workers import RunSettings, open_local_work
from llm_as_judge.workflow import parse_program
from restored import restored

EXAMPLE = Path(__file__).parents[2] / "examples" / "add_an_operator.md"
BLOCKS = re.findall(r"```(?:python|yaml)\n(.*?)```", EXAMPLE.read_text(), re.DOTALL)
SOURCE, DESCRIPTION, PROGRAM = BLOCKS


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the example, word for word: the plugin ``my_operators``, not yet loaded."""
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_operators.py").write_text(SOURCE)
    (tmp_path / "Decompose.yaml").write_text(DESCRIPTION)
    with restored(OWN_OPERATORS):
        yield tmp_path
    sys.modules.pop("my_operators", None)


@pytest.mark.slow
async def test_a_program_with_an_operator_of_a_plugin_is_checked_and_run(plugin: Path) -> None:
    before = parse_program(PROGRAM, "math")
    assert not before.strictly_valid
    load_plugins(["my_operators"])
    program = parse_program(PROGRAM, "math")
    assert program.strictly_valid, program.diagnostics
    assert program.operators == ("Decompose", "Custom")
    assert program.worst_case_calls == 4

    work = await open_local_work("subprocess", 1, None)
    chat = ScriptedChat({"Split this into 2": "- What is 2?\n- What is 3?", "What is": "six"})
    try:
        execution = await work.run(
            program,
            Problem("t/t/1", "gsm8k", "math", "What is 2 * 3?", ("6",)),
            chat,
            RunSettings(RunLimits(wall_s=20)),
        )
    finally:
        await work.aclose()
    assert (execution.status, execution.answer) == ("ok", "six")
    assert [call.operator for call in execution.calls] == ["Decompose"] + ["Custom"] * 3


def test_the_prompt_names_it_where_its_description_says(plugin: Path) -> None:
    load_plugins(["my_operators"])
    assert 'decompose(problem, parts="3") -> {"questions"}' in operator_docs("math", "short")
    assert "decompose" not in operator_docs("code", "short")


def test_without_the_plugin_it_is_gone(plugin: Path) -> None:
    with restored(OWN_OPERATORS):
        load_plugins(["my_operators"])
        assert "Decompose" in registry()
    assert "Decompose" not in registry()


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (
            "Decompose.yaml",
            None,
            r"Decompose\.yaml: no such file; it describes the operator Decompose: write it \(docs/extending",
        ),
        ("Decompose.yaml", ("worst_case_calls: 1", "worst_case_calls: 2"), "the class says 1"),
        ("my_operators.py", ("class Decompose", "class Review"), "'Review' is a shipped one"),
    ],
)
def test_what_is_wrong_with_it_is_one_line(
    plugin: Path, name: str, change: tuple[str, str] | None, said: str
) -> None:
    file = plugin / name
    if change is None:
        file.unlink()
    else:
        file.write_text(file.read_text().replace(*change))
    with pytest.raises(ConfigError, match=said) as refused:
        load_plugins(["my_operators"])
    assert str(refused.value).startswith("plugins: my_operators: ")
    assert "\n" not in str(refused.value)


def test_a_record_of_it_follows_class_and_description(plugin: Path) -> None:
    load_plugins(["my_operators"])
    module, described = plugin_facts(), operator_facts()
    assert list(module) == ["my_operators"]
    assert list(described) == ["Decompose"]
    (plugin / "Decompose.yaml").write_text(DESCRIPTION.replace("sub-questions", "questions"))
    assert operator_facts() != described
    assert plugin_facts() == module
